/**
 * `POST /mcp`: the Model Context Protocol, over HTTP without sessions (docs/mcp.md). A tool calls
 * this service's own interface with the caller's key, so figures, limits and errors are those of
 * the interface.
 */
import type Router from "@koa/router";
import type { Context } from "koa";
import { limits } from "../../config.js";
import { requireKey } from "../../http/auth.js";
import { jsonIn, readBytes, requireContentType } from "../../http/body.js";
import { accessOf, callerOf } from "../../http/state.js";
import { forbidden } from "../../schemas/http/errors.js";
import type { Service } from "../../service.js";
import { askTool } from "./ask.js";
import { toolList } from "./tools.js";

const instructions =
  "Revenue of one workspace, exact and in its base currency. Every answer has `proof`, a link to " +
  "the same figures, frozen, and `definition`, what they mean: cite both with a number. For why " +
  "MRR changed ask what_changed, then account or event for what is behind a row.";

export function mcpRoute(router: Router, service: Service): void {
  let list: ReturnType<typeof toolList> | undefined;
  router.post("/mcp", requireKey(service, { scope: "read" }), async (ctx) => {
    if (callerOf(ctx).kind !== "key") {
      throw forbidden("session_insufficient", "This call needs an API key.");
    }
    requireContentType(ctx, "application/json");
    const message = jsonIn(await readBytes(ctx, limits.bodyBytesMax));
    const caller = callerFor(ctx, service);
    // Loaded by the first call: most installations never need it.
    const { McpServer } = await import("@modelcontextprotocol/sdk/server/mcp.js");
    const { WebStandardStreamableHTTPServerTransport: Transport } =
      await import("@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js");
    const { CallToolRequestSchema, ListToolsRequestSchema } =
      await import("@modelcontextprotocol/sdk/types.js");
    const { server } = new McpServer(
      { name: "revenue-aggregation-service", version: "1" },
      { capabilities: { tools: {} }, instructions },
    );
    server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: (list ??= toolList()) }));
    server.setRequestHandler(CallToolRequestSchema, ({ params }, { signal }) =>
      askTool(caller, params.name, params.arguments ?? {}, signal),
    );
    const transport = new Transport({ enableJsonResponse: true });
    await server.connect(transport);
    try {
      const headers = new Headers({ accept: ctx.get("Accept"), "content-type": ctx.request.type });
      const version = ctx.get("Mcp-Protocol-Version");
      if (version !== "") headers.set("mcp-protocol-version", version);
      const request = new Request(`${caller.own}/mcp`, { method: "POST", headers });
      const answer = await transport.handleRequest(request, { parsedBody: message });
      ctx.status = answer.status;
      ctx.type = answer.headers.get("content-type") ?? "application/json";
      ctx.body = await answer.text();
    } finally {
      await server.close();
    }
  });
}

/** The caller's key, and where its questions and links go. */
function callerFor(ctx: Context, { config }: Pick<Service, "config">) {
  const { localAddress = "127.0.0.1", localPort, localFamily } = ctx.req.socket;
  const host = localFamily === "IPv6" ? `[${localAddress}]` : localAddress;
  const { workspace, environment } = accessOf(ctx);
  return {
    own: `http://${host}:${localPort}`,
    shown: config.PUBLIC_URL ?? `${ctx.protocol}://${ctx.host}`,
    authorization: ctx.get("Authorization"),
    workspace,
    environment,
  };
}
