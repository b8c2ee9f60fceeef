/**
 * Decides who may call what, for workspace keys, the administrator token and sessions of the
 * dashboard (`definitions.md`, Dashboard and sign-in).
 */
import { timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Context, Middleware, Next } from "koa";
import { type AssistantCaller, findAssistantCaller } from "../workspaces/assistants/assistants.js";
import { accessPrefix } from "../workspaces/assistants/tokens.js";
import type { Access, KeyLookup } from "../workspaces/keys.js";
import { hashToken } from "../schemas/ids.js";
import { type Role, includesRole } from "../workspaces/members/roles.js";
import { type Session, sessionMsMax } from "../workspaces/members/sessions.js";
import type { Service } from "../service.js";
import { isFromOwnPage, readCookie, sessionCookie, setCookie } from "./cookies.js";
import {
  ApiError,
  forbidden,
  malformed,
  notFound,
  unauthenticated,
} from "../schemas/http/errors.js";
import { borrower, lentPrefix } from "./lent.js";
import type { Caller } from "./state.js";
import "./state.js";

/** What a call needs: which bearer token opens it, and which session. */
interface Need {
  readonly bearer: "key" | "ingest key" | "administrator" | "nobody";
  /** A member of the workspace with this role; of the installation; or anybody signed in. */
  readonly session: Role | "installation owner" | "workspace founder" | "anybody" | "nobody";
  /** Whether the assistant of such a member may, too. */
  readonly assistant?: true;
}

export const needs = {
  /** The workspace interface. */
  read: { bearer: "key", session: "viewer", assistant: true },
  ingest: { bearer: "ingest key", session: "nobody" },
  /** The management interface of one workspace. */
  look: { bearer: "administrator", session: "viewer" },
  manage: { bearer: "administrator", session: "admin" },
  /** The same, for an assistant that may write, too. */
  assist: { bearer: "administrator", session: "admin", assistant: true },
  own: { bearer: "administrator", session: "owner" },
  /** Of the installation. */
  enter: { bearer: "administrator", session: "anybody" },
  found: { bearer: "administrator", session: "workspace founder" },
  operate: { bearer: "administrator", session: "installation owner" },
  /** What people do with their own session. */
  self: { bearer: "nobody", session: "anybody" },
} as const satisfies Record<string, Need>;
export type Right = keyof typeof needs;

type AuthService = Pick<
  Service,
  "adminToken" | "config" | "keys" | "limits" | "postgres" | "sessions"
>;
type Request = Pick<IncomingMessage, "headers" | "method" | "url">;

/** The workspace interface: counts the call and puts the caller into `ctx.state.access`. */
export function requireKey(
  service: AuthService,
  options: { readonly scope: "read" | "ingest" },
): Middleware {
  return async (ctx: Context, next: Next) => {
    const caller = await identify(service, ctx.req, options.scope);
    ctx.state.caller = caller;
    await renew(service, ctx, caller);
    const { access, querystring } = workspaceAccess(service, ctx.req, caller, options.scope);
    // In a session these two say whose figures are wanted; routes need not know them.
    if (querystring !== undefined) ctx.querystring = querystring;
    ctx.state.access = access;
    ctx.set(await service.limits.countKey(access.keyId));
    await next();
  };
}

/** Everything else; `workspace` is the one in the path, if there is one. */
export function requireRight(service: AuthService, right: Right): Middleware {
  return async (ctx: Context, next: Next) => {
    const caller = await identify(service, ctx.req, right);
    ctx.state.caller = caller;
    if (caller.kind === "member") ctx.set(await service.limits.countKey(caller.session.id));
    if (caller.kind === "assistant") ctx.set(await service.limits.countKey(caller.access.keyId));
    await renew(service, ctx, caller);
    const { workspace } = ctx.params;
    decide(service, caller, right, typeof workspace === "string" ? workspace : null);
    await next();
  };
}

/**
 * For a call that becomes a socket: it has no Koa context, and is not counted.
 * @throws ApiError
 */
export async function authorizeSocket(
  service: AuthService,
  request: Request,
): Promise<{ readonly caller: Caller; readonly access: Access; readonly querystring: string }> {
  const caller = await identify(service, request, "read");
  // Browsers let any page open a socket, with our cookie.
  if (caller.kind === "member" && !isFromOwnPage(request)) throw foreignOrigin();
  const { access, querystring } = workspaceAccess(service, request, caller, "read");
  return { caller, access, querystring: querystring ?? queryOf(request).toString() };
}

/** Whether the opener of a socket may still have it. */
export async function stillAuthorized(
  service: AuthService,
  request: Request,
  caller: Caller,
  access: Access,
): Promise<ApiError | null> {
  try {
    if (caller.kind !== "member") {
      await identify(service, request, "read");
      return null;
    }
    const session = await service.sessions.find(caller.session.id);
    if (session === null) return noSession();
    decide(service, { kind: "member", session }, "read", access.workspace);
    return null;
  } catch (error) {
    if (error instanceof ApiError) return error;
    // An unavailable database ends no socket.
    return null;
  }
}

/** @throws ApiError 400, 401, 403: by the caller alone */
async function identify(service: AuthService, request: Request, right: Right): Promise<Caller> {
  const { bearer, assistant }: Need = needs[right];
  const cookie = readCookie(request, sessionCookie);
  if (cookie !== undefined && request.headers.authorization !== undefined) {
    throw malformed(
      "credentials_ambiguous",
      "Send a session or an Authorization header, not both.",
    );
  }
  if (cookie !== undefined || bearer === "nobody") {
    refuseKeyInUrl(request);
    const session = cookie === undefined ? null : await service.sessions.look(cookie);
    if (session === null) throw noSession();
    const isWrite = request.method !== "GET" && request.method !== "HEAD";
    if (isWrite && !isFromOwnPage(request)) throw foreignOrigin();
    return { kind: "member", session };
  }
  const calling = assistant === true ? await assistantOf(service, request) : null;
  if (calling !== null) return calling;
  if (bearer === "administrator") {
    if (!isToken(service.adminToken, bearerToken(request, "administrator token"))) {
      throw unauthenticated("admin_token_wrong", "This is not the administrator token.");
    }
    return { kind: "administrator" };
  }
  const found = await service.keys.look(bearerToken(request, "key"));
  if (!found.ok) throw unauthenticated(found.code, keyMessages[found.code]);
  if (bearer === "ingest key" && found.access.scope !== "Full Ingress") {
    throw forbidden("scope_insufficient", "This key is Read-only; this call needs Full Ingress.");
  }
  return { kind: "key", access: found.access };
}

/**
 * An assistant's token opens /mcp alone, for which it was asked; what /mcp then asks of this
 * process has a token of its own. @returns null: it is a token of another kind
 */
async function assistantOf(
  { postgres }: Pick<AuthService, "postgres">,
  request: Request,
): Promise<AssistantCaller | null> {
  const token = /^Bearer +([^\s]+) *$/i.exec(request.headers.authorization ?? "")?.[1] ?? "";
  if (token.startsWith(lentPrefix)) return borrower(token);
  if (!token.startsWith(accessPrefix)) return null;
  if (request.url?.split("?", 1)[0] !== "/mcp") {
    throw unauthenticated("token_elsewhere", "The token of an assistant opens /mcp alone.");
  }
  const found = await findAssistantCaller(postgres, token, new Date());
  if (found !== null) return found;
  const message = "This token has expired, was revoked or does not exist; refresh it or connect.";
  throw unauthenticated("token_invalid", message);
}

/**
 * @param workspace null for a call without one
 * @throws ApiError 404 where the caller is no member, so that nobody learns what exists; 403 where
 *   the role does not allow it
 */
function decide(
  { config }: Pick<AuthService, "config">,
  caller: Caller,
  right: Right,
  workspace: string | null,
): void {
  if (caller.kind === "assistant") {
    // It reads by its own access; here it asks to write.
    if (workspace !== caller.access.workspace) throw workspaceUnknown();
    if (!caller.mayWrite) {
      throw forbidden("assistant_reads_only", "This assistant was connected to read only.");
    }
    requireRole(caller.role, needs.assist.session);
    return;
  }
  if (caller.kind !== "member") return;
  const { session } = needs[right];
  const { user, memberships } = caller.session;
  if (session === "nobody") throw forbidden("session_insufficient", "This call needs an API key.");
  if (session === "anybody") return;
  if (session === "installation owner" || session === "workspace founder") {
    const isFounder =
      session === "workspace founder" && mayCreateWorkspaces(config, caller.session);
    if (!user.ownsInstallation && !isFounder) {
      throw forbidden("role_insufficient", "Only the owner of the installation may do this.");
    }
    return;
  }
  const role = memberships.get(workspace ?? "")?.role;
  if (role === undefined) throw workspaceUnknown();
  requireRole(role, session);
}

/** @throws ApiError 403 */
function requireRole(role: Role, needed: Role): void {
  if (includesRole(role, needed)) return;
  throw forbidden("role_insufficient", `This needs the role ${needed}; yours is ${role}.`);
}

function workspaceUnknown(): ApiError {
  return notFound("workspace_unknown", "There is no such workspace.");
}

export function mayCreateWorkspaces(
  { WORKSPACE_CREATION: who }: AuthService["config"],
  { user }: Session,
): boolean {
  return user.ownsInstallation || who === "members";
}

/** A member may give or take away roles up to their own, and only owners make owners. */
export function mayGrant(caller: Caller, workspace: string, role: Role): boolean {
  if (caller.kind === "administrator") return true;
  if (caller.kind !== "member") return false;
  const own = caller.session.memberships.get(workspace)?.role;
  return own !== undefined && includesRole(own, "admin") && includesRole(own, role);
}

/** @throws ApiError: a session names its workspace and environment, a key has its own */
function workspaceAccess(
  service: AuthService,
  request: Request,
  caller: Caller,
  right: "read" | "ingest",
): { readonly access: Access; readonly querystring?: string } {
  if (caller.kind === "key" || caller.kind === "assistant") return { access: caller.access };
  if (caller.kind === "administrator") throw new Error("no key, and no session");
  if (needs[right].session === "nobody") decide(service, caller, right, null);
  const query = queryOf(request);
  const workspace = onlyValue(query, "workspace");
  const environment = onlyValue(query, "environment");
  decide(service, caller, right, workspace);
  if (environment !== "live" && environment !== "test") {
    const message = "environment must be live or test.";
    throw malformed("parameter_invalid", message, "environment");
  }
  query.delete("workspace");
  query.delete("environment");
  const membership = caller.session.memberships.get(workspace);
  if (membership === undefined) throw workspaceUnknown();
  const access: Access = {
    workspace,
    environment,
    keyId: caller.session.id,
    scope: "Read-only",
    baseCurrency: membership.baseCurrency,
  };
  return { access, querystring: query.toString() };
}

function onlyValue(query: URLSearchParams, name: string): string {
  const [value, ...more] = query.getAll(name);
  if (value === undefined) {
    throw malformed("parameter_missing", `With a session, ${name} says which.`, name);
  }
  if (more.length > 0) {
    throw malformed("parameter_repeated", `The parameter ${name} is given twice.`, name);
  }
  return value;
}

function queryOf({ url = "" }: Request): URLSearchParams {
  const mark = url.indexOf("?");
  return new URLSearchParams(mark < 0 ? "" : url.slice(mark + 1));
}

/** After a change of role, a token that was seen before must not carry the new rights. */
async function renew(
  { sessions }: Pick<AuthService, "sessions">,
  ctx: Context,
  caller: Caller,
): Promise<void> {
  if (caller.kind !== "member" || !caller.session.renew) return;
  const token = await sessions.renew(caller.session, readCookie(ctx.req, sessionCookie) ?? "");
  if (token !== null) setSession(ctx, token);
}

export function setSession(ctx: Context, token: string): void {
  setCookie(ctx, sessionCookie, token, sessionMsMax / 1000);
}

function noSession(): ApiError {
  return unauthenticated("session_missing", "Sign in: there is no session, or it has ended.");
}

function foreignOrigin(): ApiError {
  return forbidden("origin_foreign", "Only pages of the dashboard may do this with a session.");
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
function bearerToken(request: Request, what: string): string {
  refuseKeyInUrl(request);
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

/** URLs end up in logs and browser histories, so a key there is refused even if it is valid. */
function refuseKeyInUrl({ url = "" }: Request): void {
  if (!/svc_(?:live|test)_/.test(url)) return;
  throw unauthenticated("key_in_url", "Do not put a key into the URL; revoke this one.");
}

/** Hashes have one length, so the comparison takes the same time for every token. */
function isToken(expected: string, given: string): boolean {
  return timingSafeEqual(hashToken(given), hashToken(expected));
}
