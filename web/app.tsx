/** Every screen of the dashboard, by its path. Each is a file of its own, loaded when opened. */
import { useEffect } from "preact/hooks";
import { ErrorBoundary, LocationProvider, Route, Router, lazy, useLocation } from "preact-iso";
import { Failure } from "./parts/states.js";
import { Shell } from "./shell/shell.js";
import { loadSession, session } from "./state/session.js";
import { useView } from "./state/view.js";

const screens = [
  { path: "/overview", screen: lazy(() => import("./screens/overview/overview.js")) },
  { path: "/mrr", screen: lazy(() => import("./screens/mrr/mrr.js")) },
  { path: "/mrr/movements", screen: lazy(() => import("./screens/mrr/movements.js")) },
  { path: "/revenue", screen: lazy(() => import("./screens/revenue/revenue.js")) },
  { path: "/retention", screen: lazy(() => import("./screens/retention/retention.js")) },
  { path: "/products", screen: lazy(() => import("./screens/products/products.js")) },
  { path: "/transactions", screen: lazy(() => import("./screens/transactions/transactions.js")) },
  { path: "/accounts", screen: lazy(() => import("./screens/account/accounts.js")) },
  { path: "/accounts/:id", screen: lazy(() => import("./screens/account/account.js")) },
  { path: "/live", screen: lazy(() => import("./screens/live/live.js")) },
  { path: "/why", screen: lazy(() => import("./screens/why/why.js")) },
  { path: "/events/:id", screen: lazy(() => import("./screens/event/event.js")) },
  { path: "/settings/:rest*", screen: lazy(() => import("./screens/settings/settings.js")) },
  { path: "/installation/:rest*", screen: lazy(() => import("./screens/settings/settings.js")) },
] as const;

/** Screens for those who are not signed in. */
const welcome = lazy(() => import("./screens/welcome/welcome.js"));
const welcomePaths = ["/sign-in", "/setup", "/invite", "/welcome"];

/** What the service answers by itself; a link there leaves the dashboard. */
const inDashboard = /^\/(?!docs|auth|v1|openapi\.json)/;

export function App() {
  useEffect(() => void loadSession(), []);
  // While the session is asked for.
  useEffect(
    () => void screens.find(({ path }) => path === location.pathname)?.screen.preload(),
    [],
  );
  return (
    <LocationProvider scope={inDashboard}>
      <Page />
    </LocationProvider>
  );
}

function Page() {
  const { path, url, route } = useLocation();
  const view = useView();
  const now = session.value;
  const isWelcome = welcomePaths.includes(path);
  const first = now.is === "in" ? now.session.workspaces[0]?.id : undefined;
  const target =
    isWelcome || now.is === "loading" || now.is === "failed"
      ? null
      : now.is === "out"
        ? `/sign-in?return_to=${encodeURIComponent(url)}`
        : first === undefined
          ? "/welcome"
          : path === "/"
            ? view.to("/overview", { workspace: view.workspace ?? first })
            : view.workspace === null
              ? view.with({ workspace: first })
              : null;
  useEffect(() => {
    if (target !== null) route(target, true);
  }, [target]);

  const Welcome = welcome;
  if (isWelcome) {
    return (
      <ErrorBoundary>
        <Welcome />
      </ErrorBoundary>
    );
  }
  if (now.is === "failed") {
    return (
      <main class="page alone">
        <Failure error={now.error} />
      </main>
    );
  }
  if (now.is !== "in" || target !== null) return null;
  return (
    <Shell>
      <Router>
        {screens.map(({ path: pattern, screen }) => (
          <Route key={pattern} path={pattern} component={screen} />
        ))}
        <Route default component={NotFound} />
      </Router>
    </Shell>
  );
}

function NotFound() {
  const view = useView();
  return (
    <section>
      <h1>There is no such page</h1>
      <p>
        <a href={view.to("/overview")}>Back to the overview</a>
      </p>
    </section>
  );
}
