/** Ends of sessions: here, at the identity provider, and on the provider's request. */
import type Router from "@koa/router";
import { requireRight } from "../../http/auth.js";
import { readBytes, requireContentType } from "../../http/body.js";
import { originOf, sessionCookie, setCookie } from "../../http/cookies.js";
import { malformed, notFound } from "../../schemas/http/errors.js";
import { recordActivity } from "../../workspaces/members/activity.js";
import { spendOnce } from "../../workspaces/members/one-time-tokens.js";
import type { HashSubject } from "../../workspaces/members/personal.js";
import {
  type EndedSession,
  endProviderSessions,
  endSession,
} from "../../workspaces/members/session-records.js";
import type { Service } from "../../service.js";
import type { IdentityProvider, LogoutToken } from "./providers.js";
import { sessionOf } from "./answers.js";
import { providerOf } from "./sign-in.js";

const formBytesMax = 64 * 1024;
/** Longer than a logout token is valid, so that none is accepted twice. */
const tokenIdKeptMs = 60 * 60 * 1000;

export function signOutRoutes(
  router: Router,
  service: Service,
  providers: ReadonlyMap<string, IdentityProvider>,
  hashSubject: HashSubject,
): void {
  const { logger, postgres, sessions, vault } = service;

  router.post("/auth/sign-out", requireRight(service, "self"), async (ctx) => {
    const { id, user } = sessionOf(ctx);
    const { requestId } = ctx.state;
    const ended = await postgres.transaction(async (sql) => {
      const done = { workspace: null, actor: user.id, action: "session.ended", object: id };
      await recordActivity(sql, { ...done, requestId }, new Date());
      return endSession(sql, vault, user.id, id);
    });
    sessions.forget();
    setCookie(ctx, sessionCookie, null, 0);
    const url = ended === null ? null : await signOutUrl(ended, `${originOf(ctx.req)}/`);
    ctx.body = { status: "success", data: { redirect_to: url } };
  });

  router.post("/auth/:provider/backchannel-logout", async (ctx) => {
    const provider = providerOf(providers, ctx);
    const { readLogoutToken: read } = provider;
    if (read === null) throw notFound("path_unknown", "There is nothing at this path.");
    requireContentType(ctx, "application/x-www-form-urlencoded");
    const form = new URLSearchParams((await readBytes(ctx, formBytesMax)).toString());
    const token = await read(form.get("logout_token") ?? "").catch((error: unknown) => {
      logger.warn({ err: error, provider: provider.name }, "a sign-out was refused");
      throw malformed("logout_token_invalid", "This is no logout token of the provider.");
    });
    await endAll(token, provider.name, ctx.state.requestId);
    sessions.forget();
    ctx.body = { status: "success" };
  });

  /** The session has ended here, even if it continues at the provider. */
  async function signOutUrl(
    { began_by: name, idToken }: EndedSession,
    returnTo: string,
  ): Promise<string | null> {
    const provider = providers.get(name);
    if (provider === undefined || idToken === null) return null;
    try {
      return (await provider.signOutUrl(idToken, returnTo))?.href ?? null;
    } catch (error) {
      logger.warn({ err: error, provider: name }, "signed out here only");
      return null;
    }
  }

  async function endAll(token: LogoutToken, actor: string, requestId: string): Promise<void> {
    const { issuer, subject, sid } = token;
    const now = new Date();
    await postgres.transaction(async (sql) => {
      if (!(await spendOnce(sql, `logout:${issuer}:${token.id}`, now, tokenIdKeptMs))) {
        throw malformed("logout_token_invalid", "This logout token was used before.");
      }
      const ended = await endProviderSessions(sql, issuer, {
        subjectHash: subject === null ? null : hashSubject(issuer, subject),
        sidHash: sid === null ? null : hashSubject(issuer, `sid:${sid}`),
      });
      for (const { id } of ended) {
        const done = { workspace: null, actor, action: "session.ended", object: id, requestId };
        await recordActivity(sql, done, now);
      }
    });
  }
}
