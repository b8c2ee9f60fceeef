/** API keys as people manage them: made, listed, revoked. Calls look them up in keys.ts. */
import type { Environment } from "../schemas/records/records.js";
import { type Scope, drawKey, keyPrefix } from "./keys.js";
import { randomBase62 } from "../stores/vault/random.js";
import { hashToken } from "../schemas/ids.js";
import { type ListPage, newestFirst } from "./list-page.js";
import type { Postgres, Sql } from "../stores/postgres/postgres.js";
import { durably, insertRow } from "../stores/postgres/rows.js";

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
