/** `/v1/session/passkeys`: sign-in and invitations where there is no identity provider. */
import type { Context } from "koa";
import { z } from "zod";
import { requireRight } from "../../http/auth.js";
import { originOf } from "../../http/cookies.js";
import { forbidden, malformed, notFound, unauthenticated } from "../../schemas/http/errors.js";
import { recordActivity } from "../../workspaces/members/activity.js";
import { findInvitation, isFor, spendInvitation } from "../../workspaces/members/invitations.js";
import { spendOnce } from "../../workspaces/members/one-time-tokens.js";
import {
  type Passkey,
  addPasskey,
  deletePasskey,
  findPasskey,
  listPasskeys,
  notePasskeyUse,
} from "../../workspaces/members/passkeys.js";
import { createUser, drawUserId, mayEnter } from "../../workspaces/members/users.js";
import type { Service } from "../../service.js";
import {
  newPasskey,
  passkey as passkeyShape,
  passkeyOptionsRequest,
  passkeySignIn,
  session,
} from "../../schemas/http/session.js";
import { newSession, refuseForeignPage, sessionOf } from "./answers.js";
import { type SignIn, type SignInCall, call } from "./calls.js";
import { SealedCookie, sealedCookieMsMax } from "./sealed-cookie.js";

const begun = z.object({
  challenge: z.string(),
  /** Null: at sign-in, the passkey shows who it is. */
  member: z.string().nullable(),
  invitation: z.string().nullable(),
  name: z.string(),
});

type Begun = z.infer<typeof begun>;

const path = "/passkeys";
const options = z.looseObject({}).describe("For `navigator.credentials`, as WebAuthn has it");

/** Loaded on use: it would take a tenth of a start's processor time. */
const loadWebAuthn = () => import("@simplewebauthn/server");

const cookieOf = ({ vault }: SignIn) => new SealedCookie("passkey", begun, vault);

export const passkeyRoutes = [
  call("get", path, "One's own passkeys", {
    right: "self",
    answer: z.array(passkeyShape),
    run: async ({ postgres, ctx }) =>
      (await listPasskeys(postgres, sessionOf(ctx).user.id)).map(passkeyView),
  }),
  call("post", `${path}/options`, "Begin to make a passkey", {
    description: "Of who is signed in, or of somebody who joins by an invitation.",
    right: null,
    body: passkeyOptionsRequest,
    answer: options,
    async run({ body: given, ...api }) {
      const { ctx, postgres } = api;
      if (given.invitation === undefined) await requireSelf(api);
      else await usableInvitation(api, ctx, given.invitation);
      const user = given.invitation === undefined ? sessionOf(ctx).user : null;
      const name = user?.name ?? given.name ?? "Member";
      const member = user?.id ?? drawUserId();
      const known = user === null ? [] : await listPasskeys(postgres, user.id);
      const webAuthn = await loadWebAuthn();
      const made = await webAuthn.generateRegistrationOptions({
        rpName: "Revenue",
        rpID: hostOf(ctx),
        userName: name,
        userDisplayName: name,
        userID: new Uint8Array(Buffer.from(member)),
        attestationType: "none",
        excludeCredentials: known.map(({ credential }) => ({ id: credential })),
        authenticatorSelection: { residentKey: "required", userVerification: "required" },
      });
      const { challenge } = made;
      const invitation = given.invitation ?? null;
      cookieOf(api).write(ctx, { challenge, member, invitation, name }, new Date());
      return made;
    },
  }),
  call("post", path, "Register the passkey that was made", {
    description: "By an invitation it joins and signs in: then the answer is the session.",
    right: null,
    body: newPasskey,
    answer: z.union([passkeyShape, session]),
    status: 201,
    async run({ body: { response, name: label = null }, ...api }) {
      const { ctx, postgres, sessions, vault } = api;
      const now = new Date();
      const held = cookieOf(api).take(ctx, now);
      if (held === null || held.member === null) throw challengeInvalid();
      const { member, invitation } = held;
      if (invitation === null) await requireSelf(api);
      else refuseForeignPage(ctx);
      if (invitation === null && sessionOf(ctx).user.id !== member) throw challengeInvalid();
      await spend(api, held, now);
      const webAuthn = await loadWebAuthn();
      const { registrationInfo: made } = await verified(() =>
        webAuthn.verifyRegistrationResponse({ response, ...expectedOf(ctx, held) }),
      );
      if (made === undefined) throw refused();
      const { requestId } = ctx.state;
      const done = await postgres.transaction(async (sql) => {
        const record = (workspace: string | null, action: string, object: string) =>
          recordActivity(sql, { workspace, actor: member, action, object, requestId }, now);
        if (invitation !== null) {
          const found = await findInvitation(sql, vault, invitation, now);
          await createUser(sql, vault, { name: held.name }, now, member);
          await spendInvitation(sql, found, member, now);
          await record(found.workspace, "invitation.accepted", found.id);
        }
        const { id: credential, publicKey, counter, transports = [] } = made.credential;
        const given = {
          member,
          credential,
          public_key: Buffer.from(publicKey),
          counter: BigInt(counter),
          transports,
          name: label,
        };
        const passkey = await addPasskey(sql, given, now);
        if (passkey === null) {
          throw malformed("passkey_known", "This passkey is registered already.");
        }
        await record(null, "passkey.added", passkey.id);
        if (invitation === null) return passkey;
        return sessions.begin(sql, { user: member, by: "passkey" });
      });
      return typeof done === "string" ? newSession(api, done) : passkeyView(done);
    },
  }),
  call("delete", `${path}/{passkey}`, "Delete a passkey", {
    right: "self",
    answer: passkeyShape,
    async run({ postgres, ctx }) {
      const { id: actor } = sessionOf(ctx).user;
      const { requestId } = ctx.state;
      const deleted = await postgres.transaction(async (sql) => {
        const found = await deletePasskey(sql, actor, String(ctx.params.passkey));
        if (found === null) return null;
        const done = { workspace: null, actor, action: "passkey.deleted", object: found.id };
        await recordActivity(sql, { ...done, requestId }, new Date());
        return found;
      });
      if (deleted === null) throw notFound("passkey_unknown", "There is no such passkey.");
      return passkeyView(deleted);
    },
  }),
  call("post", `${path}/sign-in/options`, "Begin to sign in by a passkey", {
    right: null,
    ownPage: true,
    answer: options,
    async run(api) {
      const webAuthn = await loadWebAuthn();
      const made = await webAuthn.generateAuthenticationOptions({
        rpID: hostOf(api.ctx),
        userVerification: "required",
      });
      const { challenge } = made;
      const state = { challenge, member: null, invitation: null, name: "" };
      cookieOf(api).write(api.ctx, state, new Date());
      return made;
    },
  }),
  call("post", `${path}/sign-in`, "Sign in by a passkey", {
    right: null,
    ownPage: true,
    body: passkeySignIn,
    answer: session,
    status: 201,
    async run({ body: { response }, ...api }) {
      const { ctx, postgres, sessions } = api;
      const now = new Date();
      const held = cookieOf(api).take(ctx, now);
      if (held === null || held.member !== null) throw challengeInvalid();
      await spend(api, held, now);
      const passkey = await findPasskey(postgres, response.id);
      if (passkey === null) throw refused();
      const webAuthn = await loadWebAuthn();
      const { verified: isGood, authenticationInfo: used } = await verified(() =>
        webAuthn.verifyAuthenticationResponse({
          response,
          ...expectedOf(ctx, held),
          credential: {
            id: passkey.credential,
            publicKey: new Uint8Array(passkey.public_key),
            counter: Number(passkey.counter),
          },
        }),
      );
      if (!isGood) throw refused();
      const { member } = passkey;
      const { requestId } = ctx.state;
      const token = await postgres.transaction(async (sql) => {
        if (!(await mayEnter(sql, member))) {
          throw forbidden("not_a_member", "You are no longer a member.");
        }
        await notePasskeyUse(sql, passkey.id, BigInt(used.newCounter), now);
        const done = { workspace: null, actor: member, action: "session.started" };
        await recordActivity(sql, { ...done, object: "passkey", requestId }, now);
        return sessions.begin(sql, { user: member, by: "passkey" });
      });
      return newSession(api, token);
    },
  }),
];

/** For calls that need a session only with some bodies. */
async function requireSelf(api: SignInCall): Promise<void> {
  await requireRight(api, "self")(api.ctx, async () => {});
}

/** A challenge can be answered once. @throws ApiError 400 the second time */
async function spend({ postgres }: SignIn, { challenge }: Begun, now: Date): Promise<void> {
  const isFresh = await spendOnce(postgres, `passkey:${challenge}`, now, sealedCookieMsMax);
  if (!isFresh) throw challengeInvalid();
}

/** @throws ApiError 401, or 403 for one that only an identity provider can open */
async function usableInvitation(
  { postgres, vault }: Pick<Service, "postgres" | "vault">,
  ctx: Context,
  token: string,
): Promise<void> {
  refuseForeignPage(ctx);
  const found = await findInvitation(postgres, vault, token, new Date());
  if (isFor(found, null)) return;
  const message =
    "This invitation is for an e-mail address; sign in with a provider that knows it.";
  throw forbidden("invitation_for_another", message);
}

/** The library throws for any invalid input of a browser. */
async function verified<T>(verify: () => Promise<T>): Promise<T> {
  try {
    return await verify();
  } catch {
    throw refused();
  }
}

function refused() {
  return unauthenticated("passkey_refused", "This passkey was not accepted.");
}

function challengeInvalid() {
  const message = "This was already used, is too old, or was not started here; start again.";
  return malformed("challenge_invalid", message);
}

function expectedOf(ctx: Context, { challenge }: Begun) {
  return {
    expectedChallenge: challenge,
    expectedOrigin: originOf(ctx.req),
    expectedRPID: hostOf(ctx),
  };
}

/** Passkeys belong to a host, independent of the port. */
function hostOf(ctx: Context): string {
  return new URL(originOf(ctx.req)).hostname;
}

function passkeyView({ id, name, created_at, last_used_at }: Passkey) {
  return { id, name, created_at, last_used_at };
}
