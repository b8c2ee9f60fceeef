/** Ends of sessions: here, at the identity provider, and on the provider's request. */
import type { Context } from "koa";
import { z } from "zod";
import { readBytes, requireContentType } from "../../http/body.js";
import { originOf, sessionCookie, setCookie } from "../../http/cookies.js";
import { malformed, notFound } from "../../schemas/http/errors.js";
import { recordActivity } from "../../workspaces/members/activity.js";
import { spendOnce } from "../../workspaces/members/one-time-tokens.js";
import {
  type EndedSession,
  endProviderSessions,
  endSession,
} from "../../workspaces/members/session-records.js";
import { signOut } from "../../schemas/http/session.js";
import type { Route } from "../route.js";
import { type SignIn, call } from "./calls.js";
import type { LogoutToken } from "./providers.js";
import { sessionOf } from "./answers.js";
import { providerOf } from "./sign-in.js";

const form = "application/x-www-form-urlencoded";
const formBytesMax = 64 * 1024;
/** Longer than a logout token is valid, so that none is accepted twice. */
const tokenIdKeptMs = 60 * 60 * 1000;

export const signOutRoutes = [
  call("post", "/auth/sign-out", "Sign out", {
    right: "self",
    answer: signOut,
    async run(api) {
      const { ctx, postgres, sessions, vault } = api;
      const { id, user } = sessionOf(ctx);
      const { requestId } = ctx.state;
      const ended = await postgres.transaction(async (sql) => {
        const done = { workspace: null, actor: user.id, action: "session.ended", object: id };
        await recordActivity(sql, { ...done, requestId }, new Date());
        return endSession(sql, vault, user.id, id);
      });
      sessions.forget();
      setCookie(ctx, sessionCookie, null, 0);
      const url = ended === null ? null : await signOutUrl(api, ended, `${originOf(ctx.req)}/`);
      return { redirect_to: url };
    },
  }),
];

export const backchannelRoutes: readonly Route<SignIn>[] = [
  {
    method: "post",
    path: "/auth/{provider}/backchannel-logout",
    tag: "Sign-in",
    summary: "Sign-out at the provider",
    description: "OpenID Connect Back-Channel Logout: the provider itself calls.",
    right: null,
    body: z.object({ logout_token: z.string().describe("A signed JWT with `sid` or `sub`") }),
    bodyTypes: [form],
    status: 200,
    answer: z.object({ status: z.literal("success") }),
    errors: [400, 404, 413, 415],
    handlers: (api) => [
      async (ctx: Context) => {
        const provider = providerOf(api.identityProviders, ctx);
        const { readLogoutToken: read } = provider;
        if (read === null) throw notFound("path_unknown", "There is nothing at this path.");
        requireContentType(ctx, form);
        const fields = new URLSearchParams((await readBytes(ctx, formBytesMax)).toString());
        const token = await read(fields.get("logout_token") ?? "").catch((error: unknown) => {
          api.logger.warn({ err: error, provider: provider.name }, "a sign-out was refused");
          throw malformed("logout_token_invalid", "This is no logout token of the provider.");
        });
        await endAll(api, token, provider.name, ctx.state.requestId);
        api.sessions.forget();
        ctx.body = { status: "success" };
      },
    ],
  },
];

/** The session has ended here, even if it continues at the provider. */
async function signOutUrl(
  { identityProviders, logger }: SignIn,
  { began_by: name, idToken }: EndedSession,
  returnTo: string,
): Promise<string | null> {
  const provider = identityProviders.get(name);
  if (provider === undefined || idToken === null) return null;
  try {
    return (await provider.signOutUrl(idToken, returnTo))?.href ?? null;
  } catch (error) {
    logger.warn({ err: error, provider: name }, "signed out here only");
    return null;
  }
}

async function endAll(
  { postgres, hashSubject }: SignIn,
  { id: tokenId, issuer, subject, sid }: LogoutToken,
  actor: string,
  requestId: string,
): Promise<void> {
  const now = new Date();
  await postgres.transaction(async (sql) => {
    if (!(await spendOnce(sql, `logout:${issuer}:${tokenId}`, now, tokenIdKeptMs))) {
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
