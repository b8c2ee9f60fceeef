/** Who is signed in, and which workspaces they see. */
import { signal } from "@preact/signals";
import { CallError, call } from "../api/client.js";
import type { SessionView } from "../../schemas/http/session.js";

type Session = SessionView;
export type Workspace = Session["workspaces"][number];

export type SessionState =
  | { readonly is: "loading" }
  | { readonly is: "out" }
  | { readonly is: "failed"; readonly error: CallError }
  | { readonly is: "in"; readonly session: Session };

export const session = signal<SessionState>({ is: "loading" });

const retryMs = 5_000;

/** A page that was sent to a browser without a session says so; asking would only be refused. */
export function beginSession(): () => void {
  if (document.documentElement.dataset.session === "none") session.value = { is: "out" };
  else void loadSession();
  const retry = (): void => {
    if (session.peek().is === "failed") void loadSession();
  };
  const timer = setInterval(retry, retryMs);
  addEventListener("online", retry);
  return () => {
    clearInterval(timer);
    removeEventListener("online", retry);
  };
}

export async function loadSession(): Promise<void> {
  try {
    const { data } = await call<{ data: Session }>("GET", "/v1/session");
    session.value = { is: "in", session: data };
  } catch (error) {
    const known = CallError.of(error);
    session.value = known.status === 401 ? { is: "out" } : { is: "failed", error: known };
  }
}

export function workspaceOf(id: string | null): Workspace | null {
  const now = session.value;
  if (now.is !== "in") return null;
  return now.session.workspaces.find((workspace) => workspace.id === id) ?? null;
}

/** `admin` may change what the workspace shows; `owner` may also change the workspace. */
export function mayManage(workspace: Workspace | null): boolean {
  return workspace?.role === "owner" || workspace?.role === "admin";
}

/** What there is one of, whatever its workspaces: audits, rates, backups, the demo. */
export function ownsInstallation(): boolean {
  const now = session.value;
  return now.is === "in" && now.session.user.owns_installation;
}
