/**
 * OAuth 2.1 for `POST /mcp`, as the Model Context Protocol asks: metadata (RFC 9728, RFC 8414),
 * programs that register themselves (RFC 7591) or have a document that says who they are, tokens,
 * and their revocation (RFC 7009). The consent page is the dashboard's /connect (connect.ts).
 */
import type Router from "@koa/router";
import type { Context } from "koa";
import { limits } from "../../config.js";
import { jsonIn, readBytes, requireContentType } from "../../http/body.js";
import { newClient, revokeRequest, tokenRequest } from "../../schemas/http/assistants.js";
import {
  isRedirectUri,
  keepClient,
  newClientId,
  plainName,
} from "../../workspaces/assistants/clients.js";
import {
  type Tokens,
  accessMsMax,
  redeemCode,
  refresh,
  revoke,
} from "../../workspaces/assistants/tokens.js";
import type { Service } from "../../service.js";
import {
  baseOf,
  checkResource,
  clientsFull,
  oauthErrors,
  readForm,
  refused,
  resourceMetadataPath,
  resourceOf,
  scopeOf,
  scopes,
  sentenceOf,
} from "./protocol.js";

const grantTypes = ["authorization_code", "refresh_token"] as const;

export function oauthRoutes(router: Router, service: Service): void {
  const { config, postgres } = service;
  const errors = oauthErrors(service);

  const resource = (ctx: Context): void => {
    ctx.body = {
      resource: resourceOf(config, ctx),
      authorization_servers: [baseOf(config, ctx)],
      scopes_supported: scopes,
      bearer_methods_supported: ["header"],
      resource_name: "Revenue",
      resource_documentation: `${baseOf(config, ctx)}/docs/mcp.md`,
    };
  };
  router.get(resourceMetadataPath, resource);
  router.get(`${resourceMetadataPath}/mcp`, resource);

  router.get("/.well-known/oauth-authorization-server", (ctx) => {
    const base = baseOf(config, ctx);
    ctx.body = {
      issuer: base,
      authorization_endpoint: `${base}/connect`,
      token_endpoint: `${base}/oauth/token`,
      registration_endpoint: `${base}/oauth/register`,
      client_id_metadata_document_supported: true,
      revocation_endpoint: `${base}/oauth/revoke`,
      response_types_supported: ["code"],
      response_modes_supported: ["query"],
      grant_types_supported: grantTypes,
      code_challenge_methods_supported: ["S256"],
      token_endpoint_auth_methods_supported: ["none"],
      revocation_endpoint_auth_methods_supported: ["none"],
      scopes_supported: scopes,
      authorization_response_iss_parameter_supported: true,
    };
  });

  router.post("/oauth/register", errors, async (ctx) => {
    await service.limits.countRegistration(ctx);
    requireContentType(ctx, "application/json");
    const body = jsonIn(await readBytes(ctx, limits.oauthBodyBytesMax));
    const given = newClient.safeParse(body);
    if (!given.success) throw refused("invalid_client_metadata", sentenceOf(given.error));
    const { redirect_uris: uris, client_name: name = "" } = given.data;
    if (uris.length > limits.oauthRedirectUrisMax) {
      const most = `Up to ${limits.oauthRedirectUrisMax} redirect URIs are kept.`;
      throw refused("invalid_redirect_uri", most);
    }
    if (!uris.every(isRedirectUri)) {
      const message =
        "A redirect URI is https, http on this computer, or of an app, without a fragment.";
      throw refused("invalid_redirect_uri", message);
    }
    const shown = plainName(name) || "A program without a name";
    const client = { id: newClientId(), name: shown, redirect_uris: uris };
    const now = new Date();
    if (!(await keepClient(postgres, client, now))) throw clientsFull();
    ctx.status = 201;
    ctx.body = {
      client_id: client.id,
      client_id_issued_at: Math.floor(now.getTime() / 1000),
      client_name: client.name,
      redirect_uris: client.redirect_uris,
      grant_types: grantTypes,
      response_types: ["code"],
      // Public clients only: PKCE proves more than a secret that anybody is handed.
      token_endpoint_auth_method: "none",
    };
  });

  router.post("/oauth/token", errors, async (ctx) => {
    const given = await readForm(ctx, tokenRequest);
    checkResource(config, ctx, given.resource);
    const { requestId } = ctx.state;
    const { client_id: client } = given;
    const tokens =
      given.grant_type === "authorization_code"
        ? await redeemCode(
            postgres,
            {
              client,
              code: given.code,
              redirectUri: given.redirect_uri,
              verifier: given.code_verifier,
            },
            requestId,
            new Date(),
          )
        : await refresh(postgres, { client, token: given.refresh_token }, requestId, new Date());
    if (tokens === null) {
      throw refused("invalid_grant", "This was used before, has expired, or is not yours.");
    }
    ctx.body = tokenView(tokens);
  });

  router.post("/oauth/revoke", errors, async (ctx) => {
    const { client_id: client, token } = await readForm(ctx, revokeRequest);
    // Also for a token that never was: who asks wanted it to count no more.
    await revoke(postgres, { client, token }, ctx.state.requestId, new Date());
    ctx.body = {};
  });
}

function tokenView({ access, refresh: next, may_write }: Tokens) {
  return {
    access_token: access,
    token_type: "Bearer",
    expires_in: accessMsMax / 1000,
    refresh_token: next,
    scope: scopeOf(may_write),
  };
}
