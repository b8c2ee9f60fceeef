/** The operations of sign-in (`definitions.md`, Dashboard and sign-in). */
import { z } from "zod";
import { dataAnswer } from "../../schemas/http/manage.js";
import * as assistants from "../../schemas/http/assistants.js";
import * as session from "../../schemas/http/session.js";
import type { Operation } from "./operation.js";

const options = z.looseObject({}).describe("For `navigator.credentials`, as WebAuthn has it");

/** What a browser is sent to shows people a page, of errors too. */
const page = z.string().meta({ id: "Page", description: "HTML, for the person to read" });

export const sessionOperations: readonly Operation[] = [
  call("get", "", "session", "Who is signed in", { answer: session.session }),
  call("get", "/providers", null, "Ways to sign in, at /auth/<name>", {
    answer: z.array(session.signInProvider),
  }),
  call("post", "/setup", null, "Sign in by the first link", {
    body: session.setup,
    answer: session.session,
    status: 201,
  }),
  call("post", "/invitation", null, "What an invitation is for", {
    description: "Reads it; it still counts afterwards.",
    body: session.openedInvitation,
    answer: session.invited,
  }),
  call("get", "/sessions", "session", "One's own sessions", {
    answer: z.array(session.listedSession),
  }),
  call("delete", "/sessions/{session}", "session", "End one of them", {
    answer: z.object({ id: z.string() }),
  }),
  call("get", "/identities", "session", "Providers one signs in with", {
    answer: z.array(session.identity),
  }),
  call("post", "/identities", "session", "Add another provider", {
    body: session.newIdentity,
    answer: session.begunIdentity,
    status: 201,
  }),
  call("get", "/passkeys", "session", "One's own passkeys", { answer: z.array(session.passkey) }),
  call("post", "/passkeys/options", null, "Begin to make a passkey", {
    description: "Of who is signed in, or of somebody who joins by an invitation.",
    body: session.passkeyOptionsRequest,
    answer: options,
  }),
  call("post", "/passkeys", null, "Register the passkey that was made", {
    description: "By an invitation it joins and signs in: then the answer is the session.",
    body: session.newPasskey,
    answer: z.union([session.passkey, session.session]),
    status: 201,
  }),
  call("delete", "/passkeys/{passkey}", "session", "Delete a passkey", { answer: session.passkey }),
  call("post", "/passkeys/sign-in/options", null, "Begin to sign in by a passkey", {
    answer: options,
  }),
  call("post", "/passkeys/sign-in", null, "Sign in by a passkey", {
    body: session.passkeySignIn,
    answer: session.session,
    status: 201,
  }),
  call("post", "/assistants/request", "session", "What a program asks for", {
    description: "Reads it; nothing is connected yet.",
    body: assistants.readRequest,
    answer: assistants.connectRequest,
  }),
  call("post", "/assistants", "session", "Connect it to a workspace, for /mcp", {
    body: assistants.newAssistant,
    answer: assistants.connected,
    status: 201,
    errors: [409],
  }),
  call("get", "/assistants", "session", "One's own assistants", {
    answer: z.array(assistants.assistant),
  }),
  call("delete", "/assistants/{assistant}", "session", "Disconnect one of them", {
    answer: assistants.assistant,
  }),
  {
    ...call("post", "", "session", "Sign out", { answer: session.signOut }),
    path: "/auth/sign-out",
  },
  redirect("/auth/{provider}", "Begin to sign in", {
    description: "Opened in a browser: goes on to the provider of that name, with PKCE.",
    query: session.beginQuery,
    errors: [400, 401, 404, 503],
  }),
  redirect("/auth/{provider}/callback", "End a sign-in", {
    description:
      "Where the provider sends the browser back, with what its protocol adds to the URL. " +
      "Begins the session and goes on to `return_to`.",
    errors: [400, 401, 403, 404, 409, 503],
  }),
  {
    ...call("post", "", null, "Sign-out at the provider", { answer: z.null() }),
    path: "/auth/{provider}/backchannel-logout",
    description: "OpenID Connect Back-Channel Logout: the provider itself calls.",
    body: z.object({ logout_token: z.string().describe("A signed JWT with `sid` or `sub`") }),
    bodyTypes: ["application/x-www-form-urlencoded"],
    answer: z.object({ status: z.literal("success") }),
    errors: [400, 404, 413, 415],
  },
];

function redirect(
  path: string,
  summary: string,
  more: Pick<Operation, "description" | "query" | "errors">,
): Operation {
  return {
    method: "get",
    path,
    tag: "Sign-in",
    security: null,
    summary,
    status: 302,
    mediaType: "text/html",
    answer: page,
    errorAnswer: page,
    ...more,
  };
}

function call(
  method: Operation["method"],
  path: string,
  security: Operation["security"],
  summary: string,
  more: {
    readonly answer: z.ZodType;
    readonly body?: z.ZodType;
    readonly status?: number;
    readonly description?: string;
    readonly errors?: readonly number[];
  },
): Operation {
  const { answer, status = 200, errors = [], ...rest } = more;
  return {
    method,
    path: `/v1/session${path}`,
    tag: "Sign-in",
    security,
    summary,
    status,
    answer: dataAnswer(answer),
    errors: [400, 401, 403, 404, ...errors, ...(more.body === undefined ? [] : [413, 415, 422])],
    ...rest,
  };
}
