/** `/auth/<name>`: sign-in by an identity provider, from the first redirect to the session. */
import { randomBytes, timingSafeEqual } from "node:crypto";
import type { Context } from "koa";
import { z } from "zod";
import { setSession } from "../../http/auth.js";
import { originOf, readCookie, sessionCookie } from "../../http/cookies.js";
import { ApiError, malformed, notFound } from "../../schemas/http/errors.js";
import { readQuery } from "../../http/query.js";
import { knownError } from "../../http/app.js";
import { findInvitation } from "../../workspaces/members/invitations.js";
import { spendOnce } from "../../workspaces/members/one-time-tokens.js";
import type { HashSubject } from "../../workspaces/members/personal.js";
import { enter } from "../../workspaces/members/sign-in.js";
import { listIdentities } from "../../workspaces/members/users.js";
import type { Service } from "../../service.js";
import { beginQuery, begunIdentity, identity, newIdentity } from "../../schemas/http/session.js";
import { plainPage } from "../plain-page.js";
import type { IdentityProvider, Person } from "./providers.js";
import { sessionOf } from "./answers.js";
import { type SignIn, type SignInCall, call, redirect } from "./calls.js";
import { SealedCookie, sealedCookieMsMax } from "./sealed-cookie.js";

const begun = z.object({
  provider: z.string(),
  state: z.string(),
  nonce: z.string(),
  verifier: z.string(),
  returnTo: z.string(),
  invitation: z.string().nullable(),
  /** The member who adds this way of signing in to their others. */
  member: z.string().nullable(),
});
type Begun = z.infer<typeof begun>;

const cookieOf = ({ vault }: SignIn) => new SealedCookie("sign-in", begun, vault);

export const identityRoutes = [
  call("get", "/identities", "Providers one signs in with", {
    right: "self",
    answer: z.array(identity),
    run: ({ postgres, ctx }) => listIdentities(postgres, sessionOf(ctx).user.id),
  }),
  call("post", "/identities", "Add another provider", {
    right: "self",
    body: newIdentity,
    answer: begunIdentity,
    status: 201,
    async run({ body: { provider: name, return_to: returnTo = "/" }, ...api }) {
      const provider = api.identityProviders.get(name);
      if (provider === undefined) throw providerUnknown();
      const member = sessionOf(api.ctx).user.id;
      const given = { returnTo: ownPath(returnTo), invitation: null, member };
      return { url: await begin(api, provider, given) };
    },
  }),
];

export const signInRoutes = [
  redirect("/auth/{provider}", "Begin to sign in", {
    description: "Opened in a browser: goes on to the provider of that name, with PKCE.",
    query: beginQuery,
    errors: [400, 401, 404, 503],
    run: (api) =>
      asPage(api, api.ctx, async () => {
        const { ctx, identityProviders, postgres, vault } = api;
        const provider = providerOf(identityProviders, ctx);
        const { return_to: returnTo = "/", invitation = null } = readQuery(ctx, beginQuery);
        if (invitation !== null) await findInvitation(postgres, vault, invitation, new Date());
        const given = { returnTo: ownPath(returnTo), invitation, member: null };
        ctx.redirect(await begin(api, provider, given));
      }),
  }),
  redirect("/auth/{provider}/callback", "End a sign-in", {
    description:
      "Where the provider sends the browser back, with what its protocol adds to the URL. " +
      "Begins the session and goes on to `return_to`.",
    errors: [400, 401, 403, 404, 409, 503],
    run: (api) =>
      asPage(api, api.ctx, async () => {
        const { ctx, hashSubject, identityProviders, postgres, sessions } = api;
        const provider = providerOf(identityProviders, ctx);
        const now = new Date();
        const held = cookieOf(api).take(ctx, now);
        if (held === null || held.provider !== provider.name || !isState(ctx, held.state)) {
          throw stateInvalid();
        }
        const isFresh = await spendOnce(postgres, `state:${held.state}`, now, sealedCookieMsMax);
        if (!isFresh) throw stateInvalid();
        const url = new URL(redirectUri(ctx, provider));
        url.search = ctx.querystring;
        const person = await finished(provider, url, held);
        const token = await enter(api, identityOf(provider, person, hashSubject), {
          invitation: held.invitation,
          member: await memberStill(api, ctx, held.member),
          requestId: ctx.state.requestId,
          replaces: readCookie(ctx.req, sessionCookie) ?? null,
        });
        if (token !== null) setSession(ctx, token);
        sessions.forget();
        ctx.redirect(held.returnTo);
      }),
  }),
];

async function begin(
  api: SignInCall,
  provider: IdentityProvider,
  given: Pick<Begun, "returnTo" | "invitation" | "member">,
): Promise<string> {
  const checks = { state: drawText(), nonce: drawText(), verifier: drawText() };
  const url = await provider.begin(redirectUri(api.ctx, provider), checks);
  cookieOf(api).write(api.ctx, { provider: provider.name, ...checks, ...given }, new Date());
  return url.href;
}

/** People see a page, not JSON. */
async function asPage(service: Service, ctx: Context, run: () => Promise<void>): Promise<void> {
  try {
    await run();
  } catch (thrown) {
    const error = await service.limits.refuse(ctx, knownError(thrown));
    if (!(thrown instanceof ApiError)) {
      const { requestId } = ctx.state;
      service.logger.error({ err: thrown, requestId }, "a sign-in failed");
    }
    plainPage(ctx, error.status, "Not signed in", [
      error.message,
      `If you ask for help, name this request: ${ctx.state.requestId}`,
    ]);
  }
}

/** @throws ApiError 404 */
export function providerOf(
  providers: ReadonlyMap<string, IdentityProvider>,
  ctx: Context,
): IdentityProvider {
  const provider = providers.get(String(ctx.params.provider));
  if (provider === undefined) throw providerUnknown();
  return provider;
}

function providerUnknown(): ApiError {
  return notFound("provider_unknown", "There is no such provider.");
}

function redirectUri(ctx: Context, { name }: IdentityProvider): string {
  return `${originOf(ctx.req)}/auth/${name}/callback`;
}

/** @throws ApiError 400 unless it leads into the dashboard */
function ownPath(text: string): string {
  const base = "http://own.invalid";
  // Parsed as a browser would, because backslashes and line breaks could lead to other sites.
  const url = text.startsWith("/") && URL.canParse(text, base) ? new URL(text, base) : null;
  if (url === null || url.origin !== base) {
    throw malformed("return_to_foreign", "return_to must be a path of the dashboard.", "return_to");
  }
  return `${url.pathname}${url.search}${url.hash}`;
}

function isState(ctx: Context, expected: string): boolean {
  const given = new URLSearchParams(ctx.querystring).getAll("state");
  const [one = ""] = given;
  const [mine, theirs] = [Buffer.from(expected), Buffer.from(one)];
  return given.length === 1 && mine.length === theirs.length && timingSafeEqual(mine, theirs);
}

/**
 * @throws ApiError 400 for a mistake of the provider or the browser, 503 when the provider is
 *   unavailable
 */
async function finished(provider: IdentityProvider, url: URL, held: Begun): Promise<Person> {
  try {
    return await provider.finish(url, held);
  } catch (error) {
    const isAway = error instanceof TypeError || (error instanceof Error && isNetwork(error));
    if (isAway) {
      const message = `${provider.label} cannot be reached now; try again.`;
      throw new ApiError(503, "unavailable", "provider_unavailable", message);
    }
    const message = `${provider.label} did not confirm this sign-in; start again.`;
    throw malformed("sign_in_refused", message);
  }
}

function isNetwork({ name, cause }: Error): boolean {
  return name === "TimeoutError" || (cause instanceof Error && "errno" in cause);
}

/** The member who adds a way to sign in must still be the one who started. */
async function memberStill(
  { sessions }: Pick<Service, "sessions">,
  ctx: Context,
  member: string | null,
): Promise<string | null> {
  if (member === null) return null;
  const session = await sessions.look(readCookie(ctx.req, sessionCookie) ?? "");
  if (session?.user.id !== member) throw stateInvalid();
  return member;
}

function identityOf(provider: IdentityProvider, person: Person, hashSubject: HashSubject) {
  const { issuer, subject, sid } = person;
  return {
    provider: provider.name,
    label: provider.label,
    issuer,
    subjectHash: hashSubject(issuer, subject),
    sidHash: sid === null ? null : hashSubject(issuer, `sid:${sid}`),
    idToken: person.idToken,
    name: person.name,
    email: person.email,
  };
}

function stateInvalid(): ApiError {
  const message =
    "This sign-in was already used, is too old, or was not started here; start again.";
  return malformed("state_invalid", message, "state");
}

function drawText(): string {
  return randomBytes(32).toString("base64url");
}
