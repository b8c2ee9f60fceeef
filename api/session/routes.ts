/** `/v1/session`: who is signed in, the first link, and the sessions somebody has. */
import Router from "@koa/router";
import type { Context } from "koa";
import { mayCreateWorkspaces, requireRight, setSession } from "../../http/auth.js";
import { jsonBody, readJson } from "../../http/body.js";
import { isFromForeignPage } from "../../backends/http/cookies.js";
import { forbidden, notFound, unauthenticated } from "../../http/errors.js";
import { refuseParameters } from "../../http/query.js";
import { callerOf } from "../../http/state.js";
import { recordActivity } from "../../backends/members/activity.js";
import { openLink } from "../../backends/members/first-run.js";
import { endSession, listSessions } from "../../backends/members/session-records.js";
import type { Session } from "../../backends/members/sessions.js";
import type { Service } from "../../runtime/service.js";
import { baseCurrency } from "../../schemas/http/manage.js";
import { type SessionView, setup } from "../../schemas/http-session.js";

export function sessionRoutes(service: Service): Router {
  const { config, postgres, sessions, vault } = service;
  const router = new Router({ prefix: "/v1/session", sensitive: true });
  const self = requireRight(service, "self");

  router.get("/", self, (ctx) => {
    refuseParameters(ctx);
    ctx.body = { status: "success", data: sessionView(config, sessionOf(ctx)) };
  });

  router.post("/setup", jsonBody(), async (ctx) => {
    refuseForeignPage(ctx);
    refuseParameters(ctx);
    const { token, name = "Owner" } = readJson(ctx, setup);
    const { requestId } = ctx.state;
    const opened = await openLink(service, { token, name, requestId }, new Date());
    if (opened === null) {
      const message = "This link was used already, is too old, or never was one.";
      throw unauthenticated("link_invalid", message);
    }
    await answerNewSession(ctx, service, opened.token);
  });

  router.get("/sessions", self, async (ctx) => {
    refuseParameters(ctx);
    const { id, user } = sessionOf(ctx);
    const rows = await listSessions(postgres, user.id, new Date());
    const data = rows.map((row) => ({
      id: row.id,
      current: row.id === id,
      began_by: row.began_by,
      created_at: row.created_at.toISOString(),
      last_seen_at: row.last_seen_at.toISOString(),
      expires_at: row.expires_at.toISOString(),
    }));
    ctx.body = { status: "success", data };
  });

  router.delete("/sessions/:session", self, async (ctx) => {
    refuseParameters(ctx);
    const { user } = sessionOf(ctx);
    const ended = await postgres.transaction(async (sql) => {
      const found = await endSession(sql, vault, user.id, String(ctx.params.session));
      if (found === null) return null;
      const { requestId } = ctx.state;
      await recordActivity(
        sql,
        { workspace: null, actor: user.id, action: "session.ended", object: found.id, requestId },
        new Date(),
      );
      return found;
    });
    if (ended === null) throw notFound("session_unknown", "There is no such session.");
    sessions.forget();
    ctx.body = { status: "success", data: { id: ended.id } };
  });
  return router;
}

/** Sets the cookie and answers 201 as `GET /v1/session` would now. */
export async function answerNewSession(
  ctx: Context,
  { config, sessions }: Pick<Service, "config" | "sessions">,
  token: string,
): Promise<void> {
  const begun = await sessions.look(token);
  if (begun === null) throw new Error("a session is not there right after it began");
  setSession(ctx, token);
  ctx.status = 201;
  ctx.body = { status: "success", data: sessionView(config, begun) };
}

/** Whose session it is, on a route behind the right `self`. */
export function sessionOf(ctx: Context): Session {
  const caller = callerOf(ctx);
  if (caller.kind !== "member") throw new Error("a route for sessions let another caller in");
  return caller.session;
}

/**
 * For calls that begin a session: programs without one may make them, pages of others may not, or
 * they could sign somebody in as somebody else.
 */
export function refuseForeignPage(ctx: Context): void {
  if (!isFromForeignPage(ctx.req)) return;
  throw forbidden("origin_foreign", "Only pages of the dashboard may do this.");
}

function sessionView(config: Service["config"], session: Session): SessionView {
  const { id, user, memberships } = session;
  return {
    user: {
      id: user.id,
      name: user.name,
      owns_installation: user.ownsInstallation,
      creates_workspaces: mayCreateWorkspaces(config, session),
    },
    session_id: id,
    workspaces: [...memberships].map(([workspace, { name, baseCurrency: currency, role }]) => ({
      id: workspace,
      name,
      base_currency: baseCurrency.parse(currency),
      role,
    })),
  };
}
