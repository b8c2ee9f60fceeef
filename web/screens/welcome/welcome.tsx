/** Pages of those who come in: sign-in, the first link, an invitation, a program to connect. */
import "../../styles/settings.css";
import { useLocation } from "preact-iso";
import { useEffect } from "preact/hooks";
import { screenOf } from "../../shell/screens.js";
import { session } from "../../state/session.js";
import { Invite } from "./invite.js";
import { NewWorkspace } from "./new-workspace.js";
import { Setup } from "./setup.js";
import { SignIn } from "./sign-in.js";

const Connect = screenOf(() => import("../connect/connect.js"));

export default function Welcome() {
  const { path, query, route, url } = useLocation();
  const { is } = session.value;
  const isIn = is === "in";
  const isReturning = path === "/sign-in" && isIn;
  useEffect(() => {
    document.title = titles[path] ?? "Revenue";
    if (isReturning) route(ownPath(query.return_to), true);
  }, [isReturning, path]);
  useEffect(() => {
    // Another link opened in the same tab is a change of the fragment only.
    const reload = (): void => {
      if (location.hash.length > 1) location.reload();
    };
    addEventListener("hashchange", reload);
    return () => removeEventListener("hashchange", reload);
  }, []);
  return (
    <main class="page alone">
      <p class="brand">
        <img src="/icon.svg" alt="" width="24" height="24" />
        Revenue
      </p>
      {path === "/setup" ? <Setup /> : null}
      {path === "/invite" ? <Invite /> : null}
      {path === "/welcome" ? <NewWorkspace /> : null}
      {path === "/connect" && is === "out" ? <SignIn returnTo={url} /> : null}
      {path === "/connect" && isIn ? <Connect /> : null}
      {path === "/sign-in" && !isIn ? <SignIn returnTo={ownPath(query.return_to)} /> : null}
    </main>
  );
}

const titles: Readonly<Record<string, string>> = {
  "/sign-in": "Sign in",
  "/setup": "Welcome",
  "/invite": "Invitation",
  "/welcome": "New workspace",
  "/connect": "Connect a program",
};

/** A link may name a page of the dashboard, and nothing else. */
function ownPath(text: string | undefined): string {
  return text !== undefined && /^\/(?![/\\])/.test(text) ? text : "/";
}
