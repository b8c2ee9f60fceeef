/**
 * Bodies. The ingest endpoints read raw bytes, because signatures are over bytes; the management
 * interface reads JSON by koa-body.
 */
import { once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import { koaBody } from "koa-body";
import type { Context, Middleware, Next } from "koa";
import getRawBody from "raw-body";
import type { ZodType, z } from "zod";
import { limits } from "../config.js";
import { issueText } from "../schemas/issues.js";
import {
  isDeeperThan,
  type JsonProblem,
  jsonProblemOf,
  parseJson,
  problem,
} from "../schemas/parse.js";
import { hasOnlyCharacters } from "../schemas/bounds.js";
import {
  type ApiError,
  malformed,
  tooLarge,
  unprocessable,
  wrongContentType,
} from "../schemas/http/errors.js";

/**
 * The untouched bytes of the body, whatever the length header.
 * @throws ApiError 413 over `bytesMax`; 400 when the caller gave up or sent less than announced
 */
export async function readBytes(ctx: Context, bytesMax: number): Promise<Buffer> {
  try {
    return await getRawBody(ctx.req, {
      limit: bytesMax,
      length: ctx.req.headers["content-length"] ?? null,
    });
  } catch (error) {
    throw await bodyError(ctx, error, bytesMax);
  }
}

/**
 * Which of `types` the body is. A charset other than UTF-8 and a compressed body are refused: no
 * provider compresses webhooks, and a small body may unpack to gigabytes.
 * @throws ApiError 415
 */
export function requireContentType<T extends string>(ctx: Context, ...types: readonly T[]): T {
  const encoding = ctx.get("Content-Encoding");
  if (encoding !== "" && encoding.toLowerCase() !== "identity") {
    throw wrongContentType("content_encoding_unsupported", "Send the body uncompressed.");
  }
  const given = ctx.request.type.toLowerCase();
  const type = types.find((known) => known === given);
  if (type === undefined) {
    throw wrongContentType("content_type_unsupported", `Send ${types.join(" or ")}.`);
  }
  const charset = ctx.request.charset.toLowerCase();
  if (charset !== "" && charset !== "utf-8" && charset !== "utf8") {
    throw wrongContentType("charset_unsupported", "Send the body in UTF-8.");
  }
  return type;
}

/** @throws ApiError 400 */
export function jsonIn(bytes: Uint8Array): unknown {
  const parsed = parseJson(bytes);
  if (!parsed.ok) throw malformed(parsed.code, parsed.message);
  return parsed.value;
}

/** Management calls: the body is on `ctx.request.body` for `readJson`. */
export function jsonBody(): Middleware {
  const read = koaBody({
    jsonTypes: ["application/json"],
    jsonLimit: limits.bodyBytesMax,
    urlencoded: false,
    multipart: false,
    text: false,
    includeUnparsed: true,
  });
  return async (ctx: Context, next: Next) => {
    if (hasBody(ctx)) requireContentType(ctx, "application/json");
    // What `next` throws is not about the body, so it must not pass through this catch.
    try {
      await read(ctx, async () => {});
    } catch (error) {
      if (error instanceof SyntaxError) throw malformedJson(jsonProblemOf(error));
      throw await bodyError(ctx, error, limits.bodyBytesMax);
    }
    await next();
  };
}

/** @throws ApiError 415 without a body, 400 for broken JSON, 422 naming the first wrong field */
export function readJson<T>(ctx: Context, schema: ZodType<T>): T {
  const { body, rawBody } = ctx.request;
  if (rawBody === undefined || rawBody === "") requireContentType(ctx, "application/json");
  // The parser writes this in place of bytes that are no UTF-8.
  if (rawBody?.includes("\ufffd")) throw malformedJson("json_not_utf8");
  if (isDeeperThan(body)) throw malformedJson("json_too_deep");
  const odd = unstorablePath(body);
  if (odd !== null) {
    const message = `${odd} has a NUL or half a surrogate pair.`;
    throw unprocessable("field_invalid", message, odd);
  }
  const result = schema.safeParse(body);
  if (result.success) return result.data;
  throw fieldError(result.error);
}

/** The path of a text that no store can keep. */
function unstorablePath(value: unknown, path = "body"): string | null {
  if (typeof value === "string") return hasOnlyCharacters(value) ? null : path;
  if (typeof value !== "object" || value === null) return null;
  for (const [key, part] of Object.entries(value)) {
    const inside = path === "body" ? key : `${path}.${key}`;
    const odd = hasOnlyCharacters(key) ? unstorablePath(part, inside) : path;
    if (odd !== null) return odd;
  }
  return null;
}

function malformedJson(code: JsonProblem): ApiError {
  return malformed(code, problem(code).message);
}

/** The first problem of a body, as 422 with the field's path. */
export function fieldError(error: z.ZodError): ApiError {
  const issue = error.issues[0];
  const unknown = issue?.code === "unrecognized_keys" ? issue.keys.slice(0, 1) : [];
  const param = [...(issue?.path ?? []), ...unknown].join(".") || "body";
  const code = unknown.length > 0 ? "field_unknown" : "field_invalid";
  const message = issue === undefined ? "This is not valid." : messageOf(param, issue);
  return unprocessable(code, message, param);
}

function messageOf(param: string, issue: z.core.$ZodIssue): string {
  if (issue.code === "unrecognized_keys") return `There is no field ${param}.`;
  return `${issueText(param, issue)}.`;
}

function hasBody(ctx: Context): boolean {
  const { headers } = ctx.req;
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
}

/** An error of raw-body (which koa-body passes on), as an answer. */
async function bodyError(ctx: Context, error: unknown, bytesMax: number): Promise<unknown> {
  const type = error instanceof Error && "type" in error ? error.type : undefined;
  if (type === "entity.too.large") {
    await discardBody(ctx);
    return tooLarge(`The body has more than ${bytesMax} bytes.`);
  }
  // The caller may be gone before anybody asked for the body.
  const isGone = type === "stream.not.readable" && ctx.req.destroyed;
  if (isGone || type === "request.aborted" || type === "request.size.invalid") {
    return malformed("body_incomplete", "The body ended before it was complete.");
  }
  return error;
}

const discardMsMax = 1_000;
const discardBytesMax = 4 * limits.batchBytesMax;

/**
 * Closing a connection with unread bytes resets it, and a client that still writes never reads its
 * 413. So the rest is read and thrown away first, within limits.
 */
async function discardBody(ctx: Context): Promise<void> {
  const { req } = ctx;
  let bytes = 0;
  req.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > discardBytesMax) req.destroy();
  });
  req.resume();
  if (req.readableEnded || req.destroyed) return;
  const stop = new AbortController();
  await Promise.race([
    once(req, "close", { signal: stop.signal }).catch(() => undefined),
    once(req, "end", { signal: stop.signal }).catch(() => undefined),
    pause(discardMsMax, undefined, { signal: stop.signal }).catch(() => undefined),
  ]);
  stop.abort();
}
