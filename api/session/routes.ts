/** `/v1/session`: who is signed in, the first link, and the sessions somebody has. */
import { z } from "zod";
import type { Config } from "../../config.js";
import { notFound, unauthenticated } from "../../schemas/http/errors.js";
import {
  invited,
  listedSession,
  openedInvitation,
  session,
  setup,
  signInProvider,
} from "../../schemas/http/session.js";
import type { Service } from "../../service.js";
import { clientDocuments } from "../../workspaces/assistants/clients.js";
import { recordActivity } from "../../workspaces/members/activity.js";
import { openLink } from "../../workspaces/members/first-run.js";
import { describeInvitation } from "../../workspaces/members/invitations.js";
import { subjectHasher } from "../../workspaces/members/personal.js";
import { endSession, listSessions } from "../../workspaces/members/session-records.js";
import { connectRoutes } from "../oauth/connect.js";
import { newSession, sessionOf, sessionView } from "./answers.js";
import { type SignIn, call } from "./calls.js";
import { passkeyRoutes } from "./passkeys.js";
import { identityRoutes, signInRoutes } from "./sign-in.js";
import { backchannelRoutes, signOutRoutes } from "./sign-out.js";

/** In the order of the OpenAPI document. */
export const sessionRoutes = [
  call("get", "", "Who is signed in", {
    right: "self",
    answer: session,
    run: ({ config, ctx }) => sessionView(config, sessionOf(ctx)),
  }),
  call("get", "/providers", "Ways to sign in, at /auth/<name>", {
    right: null,
    answer: z.array(signInProvider),
    run: ({ identityProviders: ways }) =>
      [...ways.values()].map(({ name, label }) => ({ name, label })),
  }),
  call("post", "/setup", "Sign in by the first link", {
    right: null,
    ownPage: true,
    body: setup,
    answer: session,
    status: 201,
    async run({ body: { token, name = "Owner" }, ...api }) {
      const { requestId } = api.ctx.state;
      const opened = await openLink(api, { token, name, requestId }, new Date());
      if (opened === null) {
        const message = "This link was already used, has expired, or is invalid.";
        throw unauthenticated("link_invalid", message);
      }
      return newSession(api, opened.token);
    },
  }),
  // A POST, although it changes nothing: a token in an address would get into logs.
  call("post", "/invitation", "What an invitation is for", {
    description: "Reads it; it still counts afterwards.",
    right: null,
    ownPage: true,
    body: openedInvitation,
    answer: invited,
    run: ({ postgres, vault, body }) => describeInvitation(postgres, vault, body.token, new Date()),
  }),
  call("get", "/sessions", "One's own sessions", {
    right: "self",
    answer: z.array(listedSession),
    async run({ postgres, ctx }) {
      const { id, user } = sessionOf(ctx);
      const rows = await listSessions(postgres, user.id, new Date());
      return rows.map((row) => ({ ...row, current: row.id === id }));
    },
  }),
  call("delete", "/sessions/{session}", "End one of them", {
    right: "self",
    answer: z.object({ id: z.string() }),
    async run({ postgres, vault, sessions, ctx }) {
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
      return { id: ended.id };
    },
  }),
  ...identityRoutes,
  ...passkeyRoutes,
  ...connectRoutes,
  ...signOutRoutes,
  ...signInRoutes,
  ...backchannelRoutes,
];

export async function openSignIn(service: Service): Promise<SignIn> {
  const { config, postgres, vault } = service;
  const hashSubject = await subjectHasher(postgres, vault);
  const described = clientDocuments(config);
  return {
    ...service,
    identityProviders: await identityProvidersOf(config),
    hashSubject,
    described,
  };
}

/** What asks them is loaded only where one is set. */
async function identityProvidersOf(config: Config): Promise<SignIn["identityProviders"]> {
  const { GOOGLE_CLIENT_ID: google, GITHUB_CLIENT_ID: github, OIDC_CLIENT_ID: oidc } = config;
  if ((google ?? github ?? oidc) === undefined) return new Map();
  return (await import("./providers.js")).identityProviders(config);
}
