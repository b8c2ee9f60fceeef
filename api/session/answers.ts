/** What calls about sessions share: the caller, and the answer that begins a session. */
import type { Context } from "koa";
import { mayCreateWorkspaces, setSession } from "../../http/auth.js";
import { isFromForeignPage } from "../../http/cookies.js";
import { forbidden } from "../../schemas/http/errors.js";
import { callerOf } from "../../http/state.js";
import type { Session } from "../../workspaces/members/sessions.js";
import type { Service } from "../../service.js";
import { baseCurrency } from "../../schemas/http/manage.js";
import type { SessionView } from "../../schemas/http/session.js";

/** Sets the cookie. @returns what `GET /v1/session` would answer now */
export async function newSession(
  { ctx, config, sessions }: Pick<Service, "config" | "sessions"> & { readonly ctx: Context },
  token: string,
): Promise<SessionView> {
  const begun = await sessions.look(token);
  if (begun === null) throw new Error("a session is not there right after it began");
  setSession(ctx, token);
  return sessionView(config, begun);
}

/** On a route behind the right `self`. */
export function sessionOf(ctx: Context): Session {
  const caller = callerOf(ctx);
  if (caller.kind !== "member") throw new Error("a route for sessions let another caller in");
  return caller.session;
}

/**
 * For calls that begin a session. Programs without one may make them, but pages of other sites may
 * not, or they could sign somebody in as somebody else.
 */
export function refuseForeignPage(ctx: Context): void {
  if (!isFromForeignPage(ctx.req)) return;
  throw forbidden("origin_foreign", "Only pages of the dashboard may do this.");
}

export function sessionView(config: Service["config"], session: Session): SessionView {
  const { id, user, memberships } = session;
  return {
    user: {
      id: user.id,
      name: user.name,
      owns_installation: user.ownsInstallation,
      creates_workspaces: mayCreateWorkspaces(config, session),
    },
    session_id: id,
    workspaces: [...memberships].map(([workspace, membership]) => ({
      id: workspace,
      name: membership.name,
      base_currency: baseCurrency.parse(membership.baseCurrency),
      role: membership.role,
    })),
  };
}
