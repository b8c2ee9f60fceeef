/**
 * API keys: `svc_live_` or `svc_test_`, 32 random base62 characters, 6 of checksum. Stored as
 * SHA-256 only (190 random bits need no slow hash), shown once, revocable, with optional expiry
 * (`definitions.md`, Keys).
 */
import { createHash } from "node:crypto";
import { randomBase62 } from "../stores/vault/random.js";
import { hashToken, base62 } from "../schemas/ids.js";
import { LRUCache } from "lru-cache";
import type { Environment } from "../schemas/records/records.js";
import { ExpiringCache } from "../runtime/expiring-cache.js";
import type { Logger } from "../runtime/logger.js";
import type { Postgres, Sql } from "../stores/postgres/postgres.js";
import { type ListPage, newestFirst } from "./list-page.js";
import { durably, insertRow } from "../stores/postgres/rows.js";

const scopes = ["Read-only", "Full Ingress"] as const;
type Scope = (typeof scopes)[number];

export interface Access {
  readonly workspace: string;
  readonly environment: Environment;
  readonly keyId: string;
  readonly scope: Scope;
  readonly baseCurrency: string;
}

export type KeyLookup =
  | { readonly ok: true; readonly access: Access }
  | {
      readonly ok: false;
      readonly code: "key_malformed" | "key_unknown" | "key_revoked" | "key_expired";
    };

export type Keys = ReturnType<typeof openKeys>;

const cacheMs = 4_000;
const cacheEntriesMax = 10_000;
const lastUseWrittenEveryMs = 60_000;
const randomLength = 32;
const checksumLength = 6;

export function openKeys(options: {
  readonly postgres: Postgres;
  readonly logger: Logger;
  readonly now?: () => number;
  /** ms by a clock that is never set */
  readonly elapsed?: () => number;
}) {
  const { postgres, logger, now = Date.now, elapsed = () => performance.now() } = options;
  const cache = new ExpiringCache({
    ttlMs: cacheMs,
    entriesMax: cacheEntriesMax,
    elapsed,
    load: (hash) => findKey(postgres, Buffer.from(hash, "base64")),
  });
  const lastUseWritten = new LRUCache<string, number>({ max: cacheEntriesMax });

  /** Not awaited: a use that is not recorded harms nobody. */
  function noteUse(keyId: string): void {
    const at = elapsed();
    const before = lastUseWritten.get(keyId);
    if (before !== undefined && at - before < lastUseWrittenEveryMs) return;
    lastUseWritten.set(keyId, at);
    postgres
      .query("UPDATE api_keys SET last_used_at = $2 WHERE id = $1", [keyId, new Date(now())])
      .catch((error: unknown) => logger.warn({ err: error, keyId }, "last use not written"));
  }

  return {
    /** Cached: a revocation by another process is seen within 5 s. */
    async look(key: string): Promise<KeyLookup> {
      if (!isWellFormed(key)) return { ok: false, code: "key_malformed" };
      const row = await cache.get(hashToken(key).toString("base64"));
      if (row === null) return { ok: false, code: "key_unknown" };
      if (row.revoked) return { ok: false, code: "key_revoked" };
      if (row.expiresAt !== null && row.expiresAt.getTime() <= now()) {
        return { ok: false, code: "key_expired" };
      }
      noteUse(row.access.keyId);
      return { ok: true, access: row.access };
    },
    /** After a change made by this process. */
    forget: () => cache.clear(),
  };
}

/** A new key for the environment; the caller shows it once and stores its hash. */
export function drawKey(environment: Environment): string {
  const body = `svc_${environment}_${randomBase62(randomLength)}`;
  return body + checksum(body);
}

/** The part of a key that may always be shown, to recognize it. */
function keyPrefix(key: string): string {
  return key.slice(0, "svc_live_".length + 4);
}

/** The checksum finds typing errors without asking the database. */
function isWellFormed(key: string): boolean {
  if (!/^svc_(?:live|test)_[0-9A-Za-z]{38}$/.test(key)) return false;
  return checksum(key.slice(0, -checksumLength)) === key.slice(-checksumLength);
}

function checksum(text: string): string {
  const digest = createHash("sha256").update(`checksum:${text}`).digest();
  return base62(digest.subarray(0, 5)).slice(-checksumLength);
}

interface KeyRow {
  readonly access: Access;
  readonly revoked: boolean;
  readonly expiresAt: Date | null;
}

async function findKey(postgres: Postgres, hash: Buffer): Promise<KeyRow | null> {
  const [row] = await postgres.query<Access & Omit<KeyRow, "access">>(
    `SELECT k.id AS "keyId", k.workspace, k.environment, k.scope, w.base_currency AS "baseCurrency",
       k.revoked_at IS NOT NULL AS revoked, k.expires_at AS "expiresAt"
     FROM api_keys k JOIN workspaces w ON w.id = k.workspace WHERE k.key_hash = $1`,
    [hash],
  );
  if (row === undefined) return null;
  const { revoked, expiresAt, ...access } = row;
  return { access, revoked, expiresAt };
}

// As people manage them: made, listed, revoked.

export interface KeyRecord {
  readonly id: string;
  readonly prefix: string;
  readonly environment: Environment;
  readonly scope: Scope;
  readonly name: string | null;
  readonly created_at: Date;
  readonly expires_at: Date | null;
  readonly revoked_at: Date | null;
  readonly last_used_at: Date | null;
}

const columns =
  "id, prefix, environment, scope, name, created_at, expires_at, revoked_at, last_used_at";

interface CreatedKey {
  /** The key itself: it can be shown now and never again. */
  readonly key: string;
  readonly record: KeyRecord;
}

export async function createKey(
  postgres: Postgres,
  workspace: string,
  given: Pick<KeyRecord, "environment" | "scope" | "name" | "expires_at">,
  now: Date,
): Promise<CreatedKey> {
  return postgres.transaction((sql) => insertKey(sql, workspace, given, now));
}

async function insertKey(
  sql: Sql,
  workspace: string,
  given: Pick<KeyRecord, "environment" | "scope" | "name" | "expires_at">,
  now: Date,
): Promise<CreatedKey> {
  const key = drawKey(given.environment);
  const { environment, scope, name, expires_at } = given;
  const record: KeyRecord = {
    id: `key_${randomBase62(20)}`,
    prefix: keyPrefix(key),
    environment,
    scope,
    name,
    created_at: now,
    expires_at,
    revoked_at: null,
    last_used_at: null,
  };
  await insertRow(sql, "api_keys", { ...record, workspace, key_hash: hashToken(key) });
  return { key, record };
}

/**
 * A new key of the same rights and lifetime; the old one stays valid for a while, so that every
 * program can change over.
 * @param overlapMs 0: the old one is revoked at once
 * @returns null when there is no such key; `ended` when it is no longer valid
 */
export async function rollKey(
  postgres: Postgres,
  workspace: string,
  id: string,
  overlapMs: number,
  now: Date,
): Promise<CreatedKey | "ended" | null> {
  return postgres.transaction(async (sql) => {
    const [old] = await sql.query<KeyRecord>(
      `SELECT ${columns} FROM api_keys WHERE workspace = $1 AND id = $2 FOR UPDATE`,
      [workspace, id],
    );
    if (old === undefined) return null;
    const { created_at, expires_at, revoked_at } = old;
    if (revoked_at !== null || (expires_at !== null && expires_at <= now)) return "ended";
    const livesMs = expires_at === null ? null : expires_at.getTime() - created_at.getTime();
    const expires = livesMs === null ? null : new Date(now.getTime() + livesMs);
    const made = await insertKey(sql, workspace, { ...old, expires_at: expires }, now);
    if (overlapMs === 0) {
      await sql.query("UPDATE api_keys SET revoked_at = $2 WHERE id = $1", [id, now]);
    } else {
      // Never longer than it would have lasted.
      await sql.query("UPDATE api_keys SET expires_at = least(expires_at, $2) WHERE id = $1", [
        id,
        new Date(now.getTime() + overlapMs),
      ]);
    }
    return made;
  });
}

export function listKeys(
  postgres: Postgres,
  workspace: string,
  page: ListPage,
): Promise<KeyRecord[]> {
  const select = `SELECT ${columns} FROM api_keys WHERE workspace = $4`;
  return newestFirst<KeyRecord>(postgres, page, select, [workspace]);
}

/**
 * A second revocation changes nothing.
 * @returns null when there is no such key
 */
export async function revokeKey(
  postgres: Postgres,
  workspace: string,
  id: string,
  now: Date,
): Promise<KeyRecord | null> {
  const [row] = await durably<KeyRecord>(
    postgres,
    `UPDATE api_keys SET revoked_at = coalesce(revoked_at, $3)
     WHERE workspace = $1 AND id = $2 RETURNING ${columns}`,
    [workspace, id, now],
  );
  return row ?? null;
}
