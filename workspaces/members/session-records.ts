/** Sessions as people manage them: listed, ended. Calls look them up in sessions.ts. */
import type { Postgres, Sql } from "../../stores/postgres/postgres.js";
import type { Vault } from "../../stores/vault/vault.js";
import { openPersonal } from "./personal.js";
import { idleMsMax } from "./sessions.js";

export interface SessionRecord {
  readonly id: string;
  readonly began_by: string;
  readonly created_at: Date;
  readonly last_seen_at: Date;
  readonly expires_at: Date;
}

export function listSessions(
  postgres: Postgres,
  member: string,
  now: Date,
): Promise<SessionRecord[]> {
  return postgres.query<SessionRecord>(
    `SELECT id, began_by, created_at, last_seen_at, expires_at FROM sessions
     WHERE member = $1 AND expires_at > $2 AND last_seen_at > $3
     ORDER BY created_at DESC, id DESC`,
    [member, now, new Date(now.getTime() - idleMsMax)],
  );
}

export interface EndedSession {
  readonly id: string;
  readonly member: string;
  readonly began_by: string;
  readonly idToken: string | null;
}

/** @returns null when the member has no such session */
export async function endSession(
  sql: Sql,
  vault: Vault,
  member: string,
  id: string,
): Promise<EndedSession | null> {
  const [row] = await sql.query<
    Omit<EndedSession, "idToken"> & { readonly id_token_sealed: Buffer | null }
  >(
    `DELETE FROM sessions WHERE member = $1 AND id = $2
     RETURNING id, member, began_by, id_token_sealed`,
    [member, id],
  );
  if (row === undefined) return null;
  const { id_token_sealed: sealed, ...rest } = row;
  const idToken = sealed === null ? null : openPersonal(vault, id, "id_token", sealed);
  return { ...rest, idToken };
}

/**
 * Ends the sessions that an identity provider ends.
 * @returns the ids of sessions and members
 */
export function endProviderSessions(
  sql: Sql,
  issuer: string,
  by: { readonly subjectHash: Buffer | null; readonly sidHash: Buffer | null },
): Promise<{ readonly id: string; readonly member: string }[]> {
  return sql.query(
    `DELETE FROM sessions
     WHERE issuer = $1 AND ($2::bytea IS NULL OR subject_hash = $2)
       AND ($3::bytea IS NULL OR sid_hash = $3)
       AND NOT ($2::bytea IS NULL AND $3::bytea IS NULL)
     RETURNING id, member`,
    [issuer, by.subjectHash, by.sidHash],
  );
}

/** Their next call gets a new token, which every change of a role requires. */
export async function renewSessions(sql: Sql, member: string): Promise<void> {
  await sql.query("UPDATE sessions SET renew = true WHERE member = $1", [member]);
}
