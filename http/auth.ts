/** Who may call: workspace keys for the interface, the administrator token for `/v1/manage/`. */
import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Context, Middleware, Next } from "koa";
import type { Access, KeyLookup } from "../workspaces/keys.js";
import type { Service } from "../runtime/service.js";
import { forbidden, unauthenticated } from "./errors.js";
import "./state.js";

/** `read`: every key. `ingest`: keys with the scope Full Ingress. */
export type Need = "read" | "ingest";

/** Lets calls with a good key through, counts them, and leaves who calls in `ctx.state.access`. */
export function requireKey(
  service: Pick<Service, "keys" | "limits">,
  options: { readonly scope: Need },
): Middleware {
  return async (ctx: Context, next: Next) => {
    const access = await authorize(service, ctx.req, options.scope);
    ctx.state.access = access;
    ctx.set(await service.limits.countKey(access.keyId));
    await next();
  };
}

/**
 * The same for a call that has no Koa context (an upgrade to a socket); does not count it.
 * @throws ApiError 401 when the key is missing or no good, 403 when its scope does not allow this
 */
export async function authorize(
  service: Pick<Service, "keys">,
  request: Pick<IncomingMessage, "headers" | "url">,
  need: Need,
): Promise<Access> {
  const found = await service.keys.look(bearer(request));
  if (!found.ok) throw unauthenticated(found.code, keyMessages[found.code]);
  if (need === "ingest" && found.access.scope !== "Full Ingress") {
    throw forbidden("scope_insufficient", "This key is Read-only; this call needs Full Ingress.");
  }
  return found.access;
}

/** The management interface: never open to workspace keys. */
export function requireAdministrator(service: Pick<Service, "adminToken">): Middleware {
  const expected = sha256(service.adminToken);
  return async (ctx: Context, next: Next) => {
    // Hashes have one length, so the comparison takes the same time for every token.
    if (!timingSafeEqual(sha256(bearer(ctx.req, "administrator token")), expected)) {
      throw unauthenticated("admin_token_wrong", "This is not the administrator token.");
    }
    ctx.state.administrator = true;
    await next();
  };
}

const keyMessages: Readonly<Record<Exclude<KeyLookup, { ok: true }>["code"], string>> = {
  key_malformed: "This is not an API key, or not all of it.",
  key_unknown: "This API key does not exist.",
  key_revoked: "This API key was revoked.",
  key_expired: "This API key has expired.",
};

/**
 * The token of `Authorization: Bearer <token>`.
 * @param what it has to be, for a caller who sends none
 */
function bearer(request: Pick<IncomingMessage, "headers" | "url">, what = "key"): string {
  // URLs end up in logs and browser histories, so a key there is refused even if it is good.
  if (/svc_(?:live|test)_/.test(request.url ?? "")) {
    throw unauthenticated("key_in_url", "A key never goes into the URL; revoke this one.");
  }
  const header = request.headers.authorization;
  if (header === undefined) {
    const needed = `This call needs the header Authorization: Bearer <${what}>.`;
    throw unauthenticated("key_missing", needed);
  }
  const token = /^Bearer +([^\s]+) *$/i.exec(header)?.[1];
  if (token === undefined) {
    throw unauthenticated("authorization_malformed", `Authorization must be: Bearer <${what}>.`);
  }
  return token;
}

function sha256(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
