/** `/v1/session`: who is signed in, the first link, and the sessions somebody has. */
import type Router from "@koa/router";
import { requireRight } from "../../http/auth.js";
import { jsonBody, readJson } from "../../http/body.js";
import { notFound, unauthenticated } from "../../schemas/http/errors.js";
import { refuseParameters } from "../../http/query.js";
import { recordActivity } from "../../workspaces/members/activity.js";
import { openLink } from "../../workspaces/members/first-run.js";
import { describeInvitation } from "../../workspaces/members/invitations.js";
import { endSession, listSessions } from "../../workspaces/members/session-records.js";
import type { Service } from "../../service.js";
import { answerNewSession, refuseForeignPage, sessionOf, sessionView } from "./answers.js";
import { passkeyRoutes } from "./passkeys.js";
import { identityProviders } from "./providers.js";
import { signInRoutes } from "./sign-in.js";
import { signOutRoutes } from "./sign-out.js";
import { subjectHasher } from "../../workspaces/members/personal.js";
import { openedInvitation, setup } from "../../schemas/http/session.js";

const path = "/v1/session";

export async function sessionRoutes(router: Router, service: Service): Promise<void> {
  const { config, postgres, sessions, vault } = service;
  const providers = identityProviders(config);
  const hashSubject = await subjectHasher(postgres, vault);
  const self = requireRight(service, "self");
  // Before the sign-in by the name of a provider, none of which has these names.
  signOutRoutes(router, service, providers, hashSubject);
  signInRoutes(router, service, providers, hashSubject);
  passkeyRoutes(router, service);

  router.get(`${path}/providers`, (ctx) => {
    refuseParameters(ctx);
    const data = [...providers.values()].map(({ name, label }) => ({ name, label }));
    ctx.body = { status: "success", data };
  });

  router.get(path, self, (ctx) => {
    refuseParameters(ctx);
    ctx.body = { status: "success", data: sessionView(config, sessionOf(ctx)) };
  });

  router.post(`${path}/setup`, jsonBody(), async (ctx) => {
    refuseForeignPage(ctx);
    refuseParameters(ctx);
    const { token, name = "Owner" } = readJson(ctx, setup);
    const { requestId } = ctx.state;
    const opened = await openLink(service, { token, name, requestId }, new Date());
    if (opened === null) {
      const message = "This link was already used, has expired, or is invalid.";
      throw unauthenticated("link_invalid", message);
    }
    await answerNewSession(ctx, service, opened.token);
  });

  // A POST, although it changes nothing: a token in an address would get into logs.
  router.post(`${path}/invitation`, jsonBody(), async (ctx) => {
    refuseForeignPage(ctx);
    refuseParameters(ctx);
    const { token } = readJson(ctx, openedInvitation);
    const found = await describeInvitation(postgres, vault, token, new Date());
    ctx.body = { status: "success", data: found };
  });

  router.get(`${path}/sessions`, self, async (ctx) => {
    refuseParameters(ctx);
    const { id, user } = sessionOf(ctx);
    const rows = await listSessions(postgres, user.id, new Date());
    ctx.body = { status: "success", data: rows.map((row) => ({ ...row, current: row.id === id })) };
  });

  router.delete(`${path}/sessions/:session`, self, async (ctx) => {
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
}
