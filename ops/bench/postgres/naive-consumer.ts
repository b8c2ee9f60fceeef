/**
 * What a person writes in an afternoon: it checks a webhook's signature, parses it, and inserts
 * one row into Postgres before it answers. It converts, joins and explains nothing.
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { buffer } from "node:stream/consumers";
import Koa from "koa";
import { z } from "zod";
import { openServer } from "../../../stores/postgres/server.js";
import { createLogger } from "../../../runtime/logger.js";
import { signature } from "../../../providers/stripe/signature.js";
import { portMessage, report } from "../processes.js";
import { signingSecret } from "../tenant.js";

const event = z.object({
  id: z.string(),
  type: z.string(),
  created: z.number(),
  data: z.object({
    object: z.object({
      id: z.string(),
      amount: z.int().optional(),
      currency: z.string().optional(),
    }),
  }),
});

/** Runs as a child: reports its port, and serves until it is ended. */
export async function run([url = ""]: readonly string[]): Promise<void> {
  const postgres = await openServer({ url }, createLogger("warn"));
  await postgres.query(
    `CREATE TABLE naive_events (id text PRIMARY KEY, type text, created timestamptz, object text,
       amount bigint, currency text)`,
  );
  const app = new Koa();
  app.use(async (ctx) => {
    const { id, type, created, data } = event.parse(await checkedEvent(ctx.req));
    const { id: object, amount, currency } = data.object;
    await postgres.query(
      `INSERT INTO naive_events VALUES ($1, $2, to_timestamp($3), $4, $5, $6)
       ON CONFLICT DO NOTHING`,
      [id, type, created, object, amount, currency],
    );
    ctx.body = { id };
  });
  const server = app.listen(0, "127.0.0.1");
  await once(server, "listening");
  report(portMessage.parse(server.address()));
  process.once("disconnect", () => process.exit(0));
}

/** The parsed body. @throws when the signature is not that of the body */
async function checkedEvent(request: IncomingMessage): Promise<unknown> {
  const body = await buffer(request);
  const header = String(request.headers[signature.header]);
  const [, time = "", hex = ""] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(header) ?? [];
  const digest = createHmac("sha256", signingSecret).update(`${time}.`).update(body).digest();
  if (!timingSafeEqual(digest, Buffer.from(hex, "hex"))) throw new Error("a wrong signature");
  return JSON.parse(body.toString());
}
