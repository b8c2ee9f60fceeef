/** Every screen of the dashboard, by its path. Each is a file of its own, loaded when opened. */
import { useEffect, useState } from "preact/hooks";
import { ErrorBoundary, LocationProvider, Route, Router, useLocation } from "preact-iso";
import { Failure, Slow } from "./parts/states.js";
import { Boundary, screenOf } from "./shell/screens.js";
import { Shell } from "./shell/shell.js";
import { beginSession, loadSession, session } from "./state/session.js";
import { useView } from "./state/view.js";

const screens = [
  { path: "/overview", screen: screenOf(() => import("./screens/overview/overview.js")) },
  { path: "/mrr", screen: screenOf(() => import("./screens/mrr/mrr.js")) },
  { path: "/mrr/movements", screen: screenOf(() => import("./screens/mrr/movements.js")) },
  { path: "/mrr/definitions", screen: screenOf(() => import("./screens/compare/compare.js")) },
  { path: "/what-changed", screen: screenOf(() => import("./screens/changed/changed.js")) },
  { path: "/revenue", screen: screenOf(() => import("./screens/revenue/revenue.js")) },
  { path: "/rates", screen: screenOf(() => import("./screens/rates/rates.js")) },
  { path: "/retention", screen: screenOf(() => import("./screens/retention/retention.js")) },
  { path: "/products", screen: screenOf(() => import("./screens/products/products.js")) },
  {
    path: "/transactions",
    screen: screenOf(() => import("./screens/transactions/transactions.js")),
  },
  { path: "/accounts", screen: screenOf(() => import("./screens/account/accounts.js")) },
  { path: "/accounts/:id", screen: screenOf(() => import("./screens/account/account.js")) },
  { path: "/live", screen: screenOf(() => import("./screens/live/live.js")) },
  { path: "/why", screen: screenOf(() => import("./screens/why/why.js")) },
  { path: "/events/:id", screen: screenOf(() => import("./screens/event/event.js")) },
  { path: "/settings/:rest*", screen: screenOf(() => import("./screens/settings/settings.js")) },
  {
    path: "/installation/:rest*",
    screen: screenOf(() => import("./screens/settings/settings.js")),
  },
] as const;

/** Screens for those who are not signed in. */
const welcome = screenOf(() => import("./screens/welcome/welcome.js"));
const welcomePaths = ["/sign-in", "/setup", "/invite", "/welcome", "/connect"];

/** What the service answers by itself; a link there leaves the dashboard. */
const inDashboard = /^\/(?!docs|auth|v1|openapi\.json)/;

export function App() {
  useEffect(beginSession, []);
  // While the session is asked for.
  useEffect(
    () => void screens.find(({ path }) => path === location.pathname)?.screen.preload(),
    [],
  );
  return (
    <LocationProvider scope={inDashboard}>
      <Guarded />
    </LocationProvider>
  );
}

function Guarded() {
  return (
    <Boundary url={useLocation().url}>
      <Page />
    </Boundary>
  );
}

function Page() {
  const { path, url, route } = useLocation();
  const [isOpening, setOpening] = useState(false);
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

  if (now.is === "failed") {
    return (
      <main class="page alone">
        <Failure error={now.error} retry={() => void loadSession()} />
      </main>
    );
  }
  const Welcome = welcome;
  if (isWelcome) {
    return (
      <ErrorBoundary>
        <Welcome />
      </ErrorBoundary>
    );
  }
  if (now.is === "loading") return <Slow />;
  if (now.is !== "in" || target !== null) return null;
  return (
    <Shell isOpening={isOpening}>
      <Boundary url={url}>
        <Router onLoadStart={() => setOpening(true)} onLoadEnd={() => setOpening(false)}>
          {screens.map(({ path: pattern, screen }) => (
            <Route key={pattern} path={pattern} component={screen} />
          ))}
          <Route default component={NotFound} />
        </Router>
      </Boundary>
    </Shell>
  );
}

function NotFound() {
  const view = useView();
  return (
    <section class="empty">
      <h1>There is no such page</h1>
      <a class="button" href={view.to("/overview")}>
        Back to the overview
      </a>
    </section>
  );
}
