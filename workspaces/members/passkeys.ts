/** Passkeys of members: public keys only. */
import { insertIfNew } from "../../stores/postgres/rows.js";
import type { Postgres, Sql } from "../../stores/postgres/postgres.js";
import { randomBase62 } from "../../stores/vault/random.js";

export interface Passkey {
  readonly id: string;
  readonly member: string;
  /** As the authenticator names it, base64url. */
  readonly credential: string;
  readonly public_key: Buffer;
  readonly counter: bigint;
  readonly transports: readonly string[];
  readonly name: string | null;
  readonly created_at: Date;
  readonly last_used_at: Date | null;
}

const columns =
  "id, member, credential, public_key, counter, transports, name, created_at, last_used_at";

export function listPasskeys(postgres: Postgres, member: string): Promise<Passkey[]> {
  return postgres.query<Passkey>(
    `SELECT ${columns} FROM passkeys WHERE member = $1 ORDER BY created_at DESC, id DESC`,
    [member],
  );
}

export async function findPasskey(sql: Sql, credential: string): Promise<Passkey | null> {
  const select = `SELECT ${columns} FROM passkeys WHERE credential = $1`;
  const [row] = await sql.query<Passkey>(select, [credential]);
  return row ?? null;
}

/** @returns null when it is registered already */
export async function addPasskey(
  sql: Sql,
  given: Omit<Passkey, "id" | "created_at" | "last_used_at">,
  now: Date,
): Promise<Passkey | null> {
  const passkey = { id: `psk_${randomBase62(20)}`, ...given, created_at: now, last_used_at: null };
  return (await insertIfNew(sql, "passkeys", passkey)) ? passkey : null;
}

export async function notePasskeyUse(
  sql: Sql,
  id: string,
  counter: bigint,
  now: Date,
): Promise<void> {
  const update = "UPDATE passkeys SET counter = $2, last_used_at = $3 WHERE id = $1";
  await sql.query(update, [id, counter, now]);
}

export async function deletePasskey(sql: Sql, member: string, id: string): Promise<Passkey | null> {
  const [row] = await sql.query<Passkey>(
    `DELETE FROM passkeys WHERE member = $1 AND id = $2 RETURNING ${columns}`,
    [member, id],
  );
  return row ?? null;
}
