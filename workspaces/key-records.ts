/** API keys as people manage them: made, listed, revoked. Looking one up is keys.ts. */
import type { Environment } from "../schemas/records/records.js";
import { type Scope, drawKey, hashKey, keyPrefix } from "./keys.js";
import { type ListPage, newestFirst } from "./list-page.js";
import type { Postgres } from "../stores/postgres/postgres.js";
import { durably, insertRow } from "../stores/postgres/rows.js";
import { randomBase62 } from "../stores/vault/random.js";

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

/** @returns the key itself too: it can be shown now and never again */
export async function createKey(
  postgres: Postgres,
  workspace: string,
  given: Pick<KeyRecord, "environment" | "scope" | "name" | "expires_at">,
  now: Date,
): Promise<{ readonly key: string; readonly record: KeyRecord }> {
  const key = drawKey(given.environment);
  const record: KeyRecord = {
    id: `key_${randomBase62(20)}`,
    prefix: keyPrefix(key),
    ...given,
    created_at: now,
    revoked_at: null,
    last_used_at: null,
  };
  await postgres.transaction((sql) =>
    insertRow(sql, "api_keys", { ...record, workspace, key_hash: hashKey(key) }),
  );
  return { key, record };
}

export function listKeys(
  postgres: Postgres,
  workspace: string,
  page: ListPage,
): Promise<KeyRecord[]> {
  const select = `SELECT ${columns} FROM api_keys WHERE workspace = $4`;
  return newestFirst<KeyRecord>(postgres, page, select, [workspace]);
}

/** A second revocation changes nothing. @returns null when there is no such key */
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
