/**
 * Programs that may ask a member to be connected: they register themselves (RFC 7591), or have a
 * document (documents.ts).
 */
import { limits } from "../../config.js";
import type { Postgres } from "../../stores/postgres/postgres.js";
import { randomBase62 } from "../../stores/vault/random.js";

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
