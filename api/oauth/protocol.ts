/** What the calls of OAuth have in common: addresses, scopes, and how errors are answered. */
import type { Context, Next } from "koa";
import type { Config } from "../../config.js";
import { readBytes, requireContentType } from "../../http/body.js";
import { originOf } from "../../http/cookies.js";
import { limits } from "../../config.js";
import { issueText } from "../../schemas/issues.js";
import { ApiError, unavailable } from "../../schemas/http/errors.js";
import type { z } from "zod";
import type { Service } from "../../service.js";

type Settings = Pick<Config, "PUBLIC_URL">;

/** Where people and programs find this service: issuer of tokens and home of the dashboard. */
export function baseOf({ PUBLIC_URL }: Settings, ctx: Context): string {
  return PUBLIC_URL ?? originOf(ctx.req);
}

/** What tokens are for (RFC 8707). */
export function resourceOf(config: Settings, ctx: Context): string {
  return `${baseOf(config, ctx)}/mcp`;
}

export const resourceMetadataPath = "/.well-known/oauth-protected-resource";

/** `read` is always part of it; `write` lets an assistant make alerts and annotations. */
export const scopes = ["read", "write"] as const;

export function scopeOf(mayWrite: boolean): string {
  return mayWrite ? scopes.join(" ") : "read";
}

/** @throws ApiError for another resource; a program that names none means this one */
export function checkResource(config: Settings, ctx: Context, given: string | undefined): void {
  const own = resourceOf(config, ctx);
  if (given === undefined || given === own || given === `${own}/`) return;
  throw refused("invalid_target", `Tokens of this service are for ${own}.`);
}

/** @param code of RFC 6749, 7591 or 8707 */
export function refused(code: string, message: string, status = 400): ApiError {
  return new ApiError(status, "invalid_request", code, message);
}

export function clientsFull(): ApiError {
  return unavailable("clients_full", "Too many programs are connected.");
}

/** Errors of RFC 6749 instead of the envelope. Failures of our own keep it. */
export function oauthErrors({ limits: calls }: Pick<Service, "limits">) {
  return async (ctx: Context, next: Next): Promise<void> => {
    try {
      await next();
    } catch (thrown) {
      if (!(thrown instanceof ApiError) || thrown.status >= 500) throw thrown;
      const error = await calls.refuse(ctx, thrown);
      const isOfOAuth = error.code.startsWith("invalid_") || error.code.startsWith("unsupported_");
      ctx.status = error.status;
      ctx.set(error.headers);
      const known = isOfOAuth ? error.code : "invalid_request";
      ctx.body = { error: known, error_description: error.message };
    }
  };
}

/** @throws ApiError as OAuth has it */
export async function readForm<T>(ctx: Context, shape: z.ZodType<T>): Promise<T> {
  requireContentType(ctx, "application/x-www-form-urlencoded");
  const bytes = await readBytes(ctx, limits.oauthBodyBytesMax);
  return fieldsOf(new URLSearchParams(bytes.toString()), shape);
}

/** Unknown parameters are passed over, as the protocol asks; a repeated one is refused. */
export function fieldsOf<T>(given: URLSearchParams, shape: z.ZodType<T>): T {
  const repeated = [...given.keys()].find((name) => given.getAll(name).length > 1);
  if (repeated !== undefined) throw refused("invalid_request", `${repeated} is given twice.`);
  const result = shape.safeParse(Object.fromEntries(given));
  if (result.success) return result.data;
  throw refused("invalid_request", sentenceOf(result.error));
}

export function sentenceOf({ issues: [issue] }: z.ZodError): string {
  if (issue === undefined) return "This is not valid.";
  return `${issueText(issue.path.join("."), issue)}.`;
}
