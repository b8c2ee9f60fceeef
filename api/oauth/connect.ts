/**
 * `/v1/session/assistants`: what a program asks for, the member's answer, and the assistants that
 * are connected. What is wrong with a request is said on the page: only who was asked sends a
 * browser on, so a link to /connect leads nowhere by itself.
 */
import { z } from "zod";
import {
  assistant,
  authorizationRequest,
  connectRequest,
  connected,
  newAssistant,
  readRequest,
} from "../../schemas/http/assistants.js";
import { forbidden, notFound } from "../../schemas/http/errors.js";
import { type SignInCall, call } from "../session/calls.js";
import {
  disconnect,
  listAssistants,
  listOwnAssistants,
  requireRoomForAssistant,
} from "../../workspaces/assistants/assistants.js";
import {
  findClient,
  keepClient,
  mayRedirectTo,
  isDocumentAddress,
} from "../../workspaces/assistants/clients.js";
import { grant } from "../../workspaces/assistants/tokens.js";
import { CallFailed } from "../../workspaces/channels/outbound.js";
import { recordActivity } from "../../workspaces/members/activity.js";
import { includesRole } from "../../workspaces/members/roles.js";
import { ofWorkspace } from "../manage/calls.js";
import { sessionOf } from "../session/answers.js";
import { baseOf, checkResource, clientsFull, fieldsOf, refused } from "./protocol.js";

const path = "/assistants";

export const connectRoutes = [
  // A POST, though it changes nothing: the address would get into logs.
  call("post", `${path}/request`, "What a program asks for", {
    description: "Reads it; nothing is connected yet.",
    right: "self",
    body: readRequest,
    answer: connectRequest,
    async run({ body, ...api }) {
      const asked = await requestIn(api, body.request);
      const { hostname, host, protocol } = new URL(asked.redirect_uri);
      const { id, name } = asked.client;
      return {
        client: name,
        client_host: isDocumentAddress(id) ? new URL(id).host : null,
        redirect_host: protocol === "http:" ? hostname : host,
        on_this_computer: protocol !== "https:",
        asks_to_write: asked.asksToWrite,
        denied_to: answerTo(api, asked, { error: "access_denied" }),
      };
    },
  }),
  call("post", path, "Connect it to a workspace, for /mcp", {
    right: "self",
    body: newAssistant,
    answer: connected,
    status: 201,
    errors: [409],
    async run({ body: { request, workspace, environment, may_write }, ...api }) {
      const { ctx, postgres } = api;
      const asked = await requestIn(api, request);
      const { user, memberships } = sessionOf(ctx);
      const role = memberships.get(workspace)?.role;
      if (role === undefined) throw notFound("workspace_unknown", "There is no such workspace.");
      if (may_write && !(asked.asksToWrite && includesRole(role, "admin"))) {
        const message = "It may write only if it asks to, for a member with the role admin.";
        throw forbidden("role_insufficient", message);
      }
      const now = new Date();
      if (isDocumentAddress(asked.client.id) && !(await keepClient(postgres, asked.client, now))) {
        throw clientsFull();
      }
      const { id, code } = await postgres.transaction(async (sql) => {
        await requireRoomForAssistant(sql, user.id);
        const consent = {
          client: asked.client.id,
          workspace,
          member: user.id,
          environment,
          may_write,
          code_challenge: asked.code_challenge,
          redirect_uri: asked.redirect_uri,
        };
        const made = await grant(sql, consent, now);
        const done = { workspace, actor: user.id, action: "assistant.connected", object: made.id };
        await recordActivity(sql, { ...done, requestId: ctx.state.requestId }, now);
        return made;
      });
      return { id, redirect_to: answerTo(api, asked, { code }) };
    },
  }),
  call("get", path, "One's own assistants", {
    right: "self",
    answer: z.array(assistant),
    run: ({ postgres, ctx }) => listOwnAssistants(postgres, sessionOf(ctx).user.id),
  }),
  call("delete", `${path}/{assistant}`, "Disconnect one of them", {
    right: "self",
    answer: assistant,
    run({ postgres, ctx }) {
      const { id: actor } = sessionOf(ctx).user;
      return postgres.transaction(async (sql) => {
        const found = await disconnect(sql, { member: actor }, String(ctx.params.assistant));
        if (found === null) throw assistantUnknown();
        const { workspace, id: object } = found;
        const done = { workspace, actor, action: "assistant.disconnected", object };
        await recordActivity(sql, { ...done, requestId: ctx.state.requestId }, new Date());
        return found;
      });
    },
  }),
];

/** @throws ApiError 400: people read it, and programs that try are told what to change */
async function requestIn({ config, ctx, described, postgres }: SignInCall, query: string) {
  const given = fieldsOf(new URLSearchParams(query), authorizationRequest);
  const client = isDocumentAddress(given.client_id)
    ? await described(given.client_id).catch(undescribed)
    : await findClient(postgres, given.client_id);
  if (client === null) {
    const message = "This service does not know the program any more: connect it anew there.";
    throw refused("invalid_client", message);
  }
  if (!mayRedirectTo(client, given.redirect_uri)) {
    throw refused("invalid_redirect_uri", "The program did not register this redirect URI.");
  }
  checkResource(config, ctx, given.resource);
  const scope = given.scope?.split(" ").filter((each) => each !== "") ?? [];
  return { ...given, client, asksToWrite: scope.length === 0 || scope.includes("write") };
}

function answerTo(
  { config, ctx }: SignInCall,
  { redirect_uri, state }: { readonly redirect_uri: string; readonly state?: string | undefined },
  answer: Readonly<Record<string, string>>,
): string {
  const url = new URL(redirect_uri);
  const all = { ...answer, iss: baseOf(config, ctx), ...(state === undefined ? {} : { state }) };
  for (const [name, value] of Object.entries(all)) url.searchParams.set(name, value);
  return url.href;
}

function undescribed(error: unknown): never {
  if (!(error instanceof CallFailed)) throw error;
  const what = "The document that says who the program is cannot be read";
  throw refused("invalid_client", `${what}: ${error.message}`);
}

/** Those of a workspace, for who decides about its members. */
export const assistantRoutes = [
  ofWorkspace.list("/assistants", "Programs that members connected over /mcp", {
    right: "manage",
    row: assistant,
    read: ({ postgres, of }, page) => listAssistants(postgres, of.id, page),
  }),
  ofWorkspace.delete("/assistants/{assistant}", "Disconnect one", {
    right: "manage",
    action: "assistant.disconnected",
    answer: assistant,
    run: ({ postgres, ctx, of }) =>
      postgres.transaction(async (sql) => {
        const found = await disconnect(sql, { workspace: of.id }, String(ctx.params.assistant));
        if (found === null) throw assistantUnknown();
        return found;
      }),
  }),
];

function assistantUnknown() {
  return notFound("assistant_unknown", "There is no such assistant.");
}
