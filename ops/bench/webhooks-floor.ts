/**
 * What an endpoint costs without the service: a bare handler that reads the same body, checks the
 * HMAC and parses the JSON. `koa` is the floor of the target; `http` is the same without Koa, and
 * `ndjson` reads a batch of lines.
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import { type IncomingMessage, type ServerResponse, createServer } from "node:http";
import Koa from "koa";
import { z } from "zod";
import { signature } from "../../providers/stripe/signature.js";
import { report } from "./processes.js";
import { signingSecret } from "./tenant.js";

/** Runs as a child: reports its port, and serves until it is ended. */
export async function run([kind]: readonly string[]): Promise<void> {
  const handle = kind === "http" ? answer : koaHandler(kind === "ndjson" ? linesOf : typeOf);
  const server = createServer((request, response) => void handle(request, response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  report(portMessage.parse(server.address()));
  process.once("disconnect", () => process.exit(0));
}

export const portMessage = z.object({ port: z.int() });

function koaHandler(answerTo: (request: IncomingMessage) => Promise<object | string>) {
  const app = new Koa();
  app.use(async (ctx) => {
    ctx.body = await answerTo(ctx.req);
  });
  return app.callback();
}

async function typeOf(request: IncomingMessage): Promise<{ type: string }> {
  return { type: typed.parse(await checkedEvent(request)).type };
}

/** As the endpoint answers a batch: a line of JSON for each. */
async function linesOf(request: IncomingMessage): Promise<string> {
  const lines = (await bodyOf(request)).toString().split("\n");
  const answers = lines.map((text, line) => ({
    line,
    id: identified.parse(JSON.parse(text)).event_id,
  }));
  return answers.map((each) => JSON.stringify(each)).join("\n");
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  response.end(JSON.stringify(await typeOf(request)));
}

const identified = z.object({ event_id: z.string() });
const typed = z.object({ type: z.string() });

/** The parsed body. @throws when the signature is not that of the body */
export async function checkedEvent(request: IncomingMessage): Promise<unknown> {
  const body = await bodyOf(request);
  const header = String(request.headers[signature.header]);
  const [, time = "", hex = ""] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(header) ?? [];
  const digest = createHmac("sha256", signingSecret).update(`${time}.`).update(body).digest();
  if (!timingSafeEqual(digest, Buffer.from(hex, "hex"))) throw new Error("a wrong signature");
  return JSON.parse(body.toString());
}

function bodyOf(request: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => resolve(Buffer.concat(chunks)));
    request.on("error", reject);
  });
}
