/**
 * The read calls of the interface, asked by this process itself: what it sends to people has the
 * figures that the interface answers, by the same code.
 */
import { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import Koa, { type Context } from "koa";
import type { Access } from "../../workspaces/keys.js";
import type { Workspace } from "../../workspaces/workspaces.js";

/** Of each path what answers it, behind the check of who calls. */
export type Reads = Map<string, (ctx: Context) => Promise<void>>;

/** Of the service itself, for what it sends or shows to people. */
export function ownAccess(
  who: "alerts" | "digests" | "proofs",
  { id: workspace, base_currency: baseCurrency }: Workspace,
) {
  const keyId = `${who} of ${workspace}`;
  return { workspace, environment: "live", keyId, scope: "Read-only", baseCurrency } as const;
}

const app = new Koa();

/** @throws ApiError as the call does */
export async function askInProcess(
  reads: Reads,
  access: Access,
  path: string,
  query: Readonly<Record<string, string>>,
): Promise<unknown> {
  const read = reads.get(path);
  if (read === undefined) throw new Error(`there is no read call ${path}`);
  const request = new IncomingMessage(new Socket());
  request.url = `${path}?${new URLSearchParams(query).toString()}`;
  const ctx = app.createContext(request, new ServerResponse(request));
  ctx.state.access = access;
  // Like a key: no answer names customers.
  ctx.state.caller = { kind: "key", access };
  await read(ctx);
  const body: unknown = ctx.body;
  return Buffer.isBuffer(body) ? JSON.parse(body.toString()) : body;
}
