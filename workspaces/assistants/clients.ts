/**
 * Programs that may ask a member to be connected: they register themselves (RFC 7591), or have a
 * document, whose address is their id: Client ID Metadata Documents
 * (draft-ietf-oauth-client-id-metadata-document), as the Model Context Protocol asks.
 */
import { limits, type Config } from "../../config.js";
import type { Postgres } from "../../stores/postgres/postgres.js";
import { randomBase62 } from "../../stores/vault/random.js";
import { ExpiringCache } from "../../runtime/expiring-cache.js";
import { clientDocument } from "../../schemas/http/assistants.js";
import { CallFailed, get } from "../channels/outbound.js";

export interface OAuthClient {
  readonly id: string;
  readonly name: string;
  readonly redirect_uris: readonly string[];
}

const dayMs = 24 * 60 * 60 * 1000;
/** How long one is kept that nobody connects: programs remember their id. */
const unusedClientMsMax = 30 * dayMs;

const isUnused = "NOT EXISTS (SELECT FROM assistants a WHERE a.client = oauth_clients.id)";

export function newClientId(): string {
  return `cli_${randomBase62(20)}`;
}

/** A new one, or what its document says now. @returns false: too many, all of them connected */
export async function keepClient(
  postgres: Postgres,
  { id, name, redirect_uris }: OAuthClient,
  now: Date,
): Promise<boolean> {
  const values = [id, name, JSON.stringify(redirect_uris), now];
  return postgres.transaction(async (sql) => {
    const old = new Date(now.getTime() - unusedClientMsMax);
    await sql.query(`DELETE FROM oauth_clients WHERE used_at < $1 AND ${isUnused}`, [old]);
    // The oldest unused ones make room, so that nobody shuts others out by registering many.
    await sql.query(
      `DELETE FROM oauth_clients WHERE id IN (
         SELECT id FROM oauth_clients WHERE ${isUnused} ORDER BY used_at
         LIMIT greatest(0, (SELECT count(*) FROM oauth_clients) - $1))`,
      [limits.oauthClientsMax - 1],
    );
    const kept = await sql.query(
      `INSERT INTO oauth_clients (id, name, redirect_uris, created_at, used_at)
       SELECT $1, $2, $3::jsonb, $4, $4
       WHERE (SELECT count(*) FROM oauth_clients WHERE id <> $1) < $5
       ON CONFLICT (id) DO UPDATE SET name = excluded.name,
         redirect_uris = excluded.redirect_uris, used_at = excluded.used_at
       RETURNING id`,
      [...values, limits.oauthClientsMax],
    );
    return kept.length === 1;
  });
}

export async function findClient(postgres: Postgres, id: string): Promise<OAuthClient | null> {
  const query = "SELECT id, name, redirect_uris FROM oauth_clients WHERE id = $1";
  const [found] = await postgres.query<OAuthClient>(query, [id]);
  return found ?? null;
}

/**
 * What people are shown of a name that a stranger chose: no line breaks, nothing invisible, nothing
 * that turns the direction of the text around it.
 */
export function plainName(given: string): string {
  const visible = given
    .replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, " ")
    .replaceAll(/\s+/g, " ")
    .trim();
  return Array.from(visible).slice(0, limits.oauthClientNameLengthMax).join("").trim();
}

/** HTTPS, or this computer; nothing that hides where it leads. */
export function isRedirectUri(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname, username, password } = new URL(text);
  if (username !== "" || password !== "" || /[#\\\s]/.test(text)) return false;
  if (protocol === "http:") return isLoopback(hostname);
  return protocol === "https:" || appScheme.test(protocol);
}

/**
 * Of programs that the operating system opens (RFC 8252, 7.1): a domain turned round, which no
 * scheme of a browser looks like, or of an editor that is known to have another.
 */
const appScheme = /^(?:cursor|vscode|vscode-insiders|windsurf|[a-z][a-z\d-]*(?:\.[a-z\d-]+)+):$/;

/** Exactly one it registered; on this computer the port may differ, as RFC 8252 asks. */
export function mayRedirectTo(client: OAuthClient, given: string): boolean {
  if (!isRedirectUri(given)) return false;
  const portless = portlessOf(given);
  return client.redirect_uris.some(
    (known) => known === given || (portless !== null && portlessOf(known) === portless),
  );
}

/** @returns null for one that is not on this computer */
function portlessOf(uri: string): string | null {
  const url = new URL(uri);
  if (url.protocol !== "http:" || !isLoopback(url.hostname)) return null;
  url.port = "";
  return url.href;
}

function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || hostname === "127.0.0.1" || hostname === "[::1]";
}

type Settings = Pick<Config, "OUTBOUND_PRIVATE_ADDRESSES">;

/** Written as browsers write it, so that nobody has two ids; with a path, and nothing to hide. */
export function isDocumentAddress(id: string): boolean {
  if (!URL.canParse(id)) return false;
  const { protocol, href, pathname, hash, username, password } = new URL(id);
  const isPlain = href === id && hash === "" && username === "" && password === "";
  return protocol === "https:" && isPlain && pathname !== "/";
}

/** @returns finds one by its address, or throws CallFailed: there is no such document */
export function clientDocuments(config: Settings): (id: string) => Promise<OAuthClient> {
  const known = new ExpiringCache<{ readonly client: OAuthClient; readonly keptMs: number }>({
    entriesMax: limits.oauthDocumentsKeptMax,
    ttlMs: limits.oauthDocumentMsMin,
    ttlMsOf: ({ keptMs }) => keptMs,
    async load(id) {
      const { body, headers } = await get(config, id);
      const seconds = /(?:^|[\s,])max-age=(\d{1,9})/i.exec(headers["cache-control"] ?? "")?.[1];
      const { oauthDocumentMsMin: least, oauthDocumentMsMax: most } = limits;
      const keptMs = Math.min(Math.max(Number(seconds ?? 0) * 1_000, least), most);
      return { client: clientIn(body, id), keptMs };
    },
  });
  return async (id) => (await known.get(id)).client;
}

function clientIn(body: string, id: string): OAuthClient {
  let read: unknown;
  try {
    read = JSON.parse(body);
  } catch {
    throw new CallFailed("It is not JSON.");
  }
  const { success, data } = clientDocument.safeParse(read);
  if (!success) throw new CallFailed("It lacks client_id, client_name or redirect_uris.");
  if (data.client_id !== id) throw new CallFailed("It has another client_id.");
  const name = plainName(data.client_name) || new URL(id).host;
  return { id, name, redirect_uris: data.redirect_uris };
}
