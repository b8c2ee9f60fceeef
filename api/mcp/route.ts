/**
 * `POST /mcp`: the Model Context Protocol, over HTTP without sessions (docs/mcp.md). A tool calls
 * this service's own interface with the caller's rights, so figures, limits and errors are those of
 * the interface.
 */
import type Router from "@koa/router";
import type { Context, Next } from "koa";
import { limits } from "../../config.js";
import { requireKey } from "../../http/auth.js";
import { jsonIn, readBytes, requireContentType } from "../../http/body.js";
import { lending } from "../../http/lent.js";
import { accessOf, callerOf, memberOf } from "../../http/state.js";
import { ApiError, forbidden } from "../../schemas/http/errors.js";
import { includesRole } from "../../workspaces/members/roles.js";
import { baseOf, resourceMetadataPath, scopes } from "../oauth/protocol.js";
import { version } from "../../runtime/version.js";
import type { Service } from "../../service.js";
import { askTool } from "./ask.js";
import { toolList } from "./tools.js";
import { writeByTool, writingToolList } from "./write.js";

const instructions =
  "Revenue of one workspace, exact and in its base currency. Every answer has `proof`, a link to " +
  "the same figures, frozen, and `definition`, what they mean: cite both with a number. For why " +
  "MRR changed ask what_changed, then account or event for what is behind a row.";

export function mcpRoute(router: Router, service: Service): void {
  let list: ReturnType<typeof toolList> | undefined;
  const { config } = service;
  const signIn = async (ctx: Context, next: Next): Promise<void> => {
    try {
      await next();
    } catch (error) {
      throw error instanceof ApiError && error.status === 401
        ? pointing(config, ctx, error)
        : error;
    }
  };
  router.post("/mcp", signIn, requireKey(service, { scope: "read" }), async (ctx) => {
    const calling = callerOf(ctx);
    if (calling.kind !== "key" && calling.kind !== "assistant") {
      throw forbidden("session_insufficient", "This call needs an API key, or OAuth.");
    }
    requireContentType(ctx, "application/json");
    const message = jsonIn(await readBytes(ctx, limits.bodyBytesMax));
    const asks = callerFor(ctx, service);
    const mayWrite =
      calling.kind === "assistant" && calling.mayWrite && includesRole(calling.role, "admin");
    // Loaded by the first call: most installations never need it.
    const { McpServer } = await import("@modelcontextprotocol/sdk/server/mcp.js");
    const { WebStandardStreamableHTTPServerTransport: Transport } =
      await import("@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js");
    const { CallToolRequestSchema, ListToolsRequestSchema } =
      await import("@modelcontextprotocol/sdk/types.js");
    const { server } = new McpServer(
      { name: "revenue-aggregation-service", version },
      { capabilities: { tools: {} }, instructions },
    );
    server.setRequestHandler(ListToolsRequestSchema, () => ({
      tools: [...(list ??= toolList()), ...(mayWrite ? writingToolList(asks.environment) : [])],
    }));
    server.setRequestHandler(CallToolRequestSchema, ({ params }, { signal }) => {
      const { name, arguments: given = {} } = params;
      const ask = async (authorization: string) => {
        const by = { ...asks, authorization };
        const written = calling.kind === "assistant" ? await writeByTool(by, name, given) : null;
        return written ?? askTool(by, name, given, signal);
      };
      return calling.kind === "assistant"
        ? lending(calling, (token) => ask(`Bearer ${token}`))
        : ask(ctx.get("Authorization"));
    });
    const transport = new Transport({ enableJsonResponse: true });
    await server.connect(transport);
    try {
      const headers = new Headers({ accept: ctx.get("Accept"), "content-type": ctx.request.type });
      const protocol = ctx.get("Mcp-Protocol-Version");
      if (protocol !== "") headers.set("mcp-protocol-version", protocol);
      const request = new Request(`${asks.own}/mcp`, { method: "POST", headers });
      const answer = await transport.handleRequest(request, { parsedBody: message });
      ctx.status = answer.status;
      ctx.type = answer.headers.get("content-type") ?? "application/json";
      ctx.body = await answer.text();
    } finally {
      await server.close();
    }
  });
}

/** Where somebody without a key, or with a token that ended, finds how to sign in (RFC 9728). */
function pointing(config: Service["config"], ctx: Context, error: ApiError): ApiError {
  const { status, type, code, message } = error;
  const isAnswered = ctx.get("Authorization") !== "";
  const parts = [
    ...(isAnswered ? [`error="invalid_token"`] : []),
    `resource_metadata="${baseOf(config, ctx)}${resourceMetadataPath}/mcp"`,
    `scope="${scopes.join(" ")}"`,
  ];
  const headers = { "WWW-Authenticate": `Bearer ${parts.join(", ")}` };
  return new ApiError(status, type, code, message, { headers });
}

/** Who asks, and where its questions and links go. */
function callerFor(ctx: Context, { config }: Pick<Service, "config">) {
  const { localAddress = "127.0.0.1", localPort, localFamily } = ctx.req.socket;
  const host = localFamily === "IPv6" ? `[${localAddress}]` : localAddress;
  const { workspace, environment } = accessOf(ctx);
  return {
    own: `http://${host}:${localPort}`,
    shown: config.PUBLIC_URL ?? `${ctx.protocol}://${ctx.host}`,
    host: ctx.get("Host"),
    workspace,
    environment,
    member: memberOf(ctx),
  };
}
