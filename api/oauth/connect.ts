/**
 * `/v1/session/assistants`: what a program asks for, the member's answer, and the assistants that
 * are connected. What is wrong with a request is said on the page: only who was asked sends a
 * browser on, so a link to /connect leads nowhere by itself.
 */
import type Router from "@koa/router";
import type { Context } from "koa";
import { requireRight } from "../../http/auth.js";
import { jsonBody, readJson } from "../../http/body.js";
import { refuseParameters } from "../../http/query.js";
import { authorizationRequest, newAssistant, readRequest } from "../../schemas/http/assistants.js";
import { forbidden, notFound } from "../../schemas/http/errors.js";
import type { Service } from "../../service.js";
import {
  disconnect,
  listAssistants,
  listOwnAssistants,
  requireRoomForAssistant,
} from "../../workspaces/assistants/assistants.js";
import { findClient, keepClient, mayRedirectTo } from "../../workspaces/assistants/clients.js";
import { clientDocuments, isDocumentAddress } from "../../workspaces/assistants/documents.js";
import { grant } from "../../workspaces/assistants/tokens.js";
import { CallFailed } from "../../workspaces/channels/outbound.js";
import { recordActivity } from "../../workspaces/members/activity.js";
import { includesRole } from "../../workspaces/members/roles.js";
import type { Workspace } from "../../workspaces/workspaces.js";
import type { Calls } from "../manage/calls.js";
import { sessionOf } from "../session/answers.js";
import { baseOf, checkResource, clientsFull, fieldsOf, refused } from "./protocol.js";

const path = "/v1/session/assistants";

export function connectRoutes(router: Router, service: Service): void {
  const { config, postgres } = service;
  const self = requireRight(service, "self");
  const described = clientDocuments(config);

  // A POST, though it changes nothing: the address would get into logs.
  router.post(`${path}/request`, self, jsonBody(), async (ctx) => {
    refuseParameters(ctx);
    const asked = await requestIn(ctx, readJson(ctx, readRequest).request);
    const { hostname, host, protocol } = new URL(asked.redirect_uri);
    const { id, name } = asked.client;
    ctx.body = {
      status: "success",
      data: {
        client: name,
        client_host: isDocumentAddress(id) ? new URL(id).host : null,
        redirect_host: protocol === "http:" ? hostname : host,
        on_this_computer: protocol !== "https:",
        asks_to_write: asked.asksToWrite,
        denied_to: answerTo(ctx, asked, { error: "access_denied" }),
      },
    };
  });

  router.post(path, self, jsonBody(), async (ctx) => {
    refuseParameters(ctx);
    const { request, workspace, environment, may_write } = readJson(ctx, newAssistant);
    const asked = await requestIn(ctx, request);
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
    ctx.status = 201;
    ctx.body = { status: "success", data: { id, redirect_to: answerTo(ctx, asked, { code }) } };
  });

  router.get(path, self, async (ctx) => {
    refuseParameters(ctx);
    const data = await listOwnAssistants(postgres, sessionOf(ctx).user.id);
    ctx.body = { status: "success", data };
  });

  router.delete(`${path}/:assistant`, self, async (ctx) => {
    refuseParameters(ctx);
    const { id: actor } = sessionOf(ctx).user;
    const ended = await postgres.transaction(async (sql) => {
      const found = await disconnect(sql, { member: actor }, String(ctx.params.assistant));
      if (found === null) throw assistantUnknown();
      const { workspace, id: object } = found;
      const done = { workspace, actor, action: "assistant.disconnected", object };
      await recordActivity(sql, { ...done, requestId: ctx.state.requestId }, new Date());
      return found;
    });
    ctx.body = { status: "success", data: ended };
  });

  /** @throws ApiError 400: people read it, and programs that try are told what to change */
  async function requestIn(ctx: Context, query: string) {
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
    ctx: Context,
    { redirect_uri, state }: { readonly redirect_uri: string; readonly state?: string | undefined },
    answer: Readonly<Record<string, string>>,
  ): string {
    const url = new URL(redirect_uri);
    const all = { ...answer, iss: baseOf(config, ctx), ...(state === undefined ? {} : { state }) };
    for (const [name, value] of Object.entries(all)) url.searchParams.set(name, value);
    return url.href;
  }
}

function undescribed(error: unknown): never {
  if (!(error instanceof CallFailed)) throw error;
  const what = "The document that says who the program is cannot be read";
  throw refused("invalid_client", `${what}: ${error.message}`);
}

/** Those of a workspace, for who decides about its members. */
export function assistantRoutes({ postgres }: Service, calls: Calls<Workspace>): void {
  calls.list("/assistants", "manage", ({ id }, page) => listAssistants(postgres, id, page));
  const ended = { right: "manage", action: "assistant.disconnected" } as const;
  calls.write("DELETE", "/assistants/:assistant", ended, (ctx, { id: workspace }) =>
    postgres.transaction(async (sql) => {
      const found = await disconnect(sql, { workspace }, String(ctx.params.assistant));
      if (found === null) throw assistantUnknown();
      return found;
    }),
  );
}

function assistantUnknown() {
  return notFound("assistant_unknown", "There is no such assistant.");
}
