/** People who may sign in, and their identities at identity providers. */
import { insertIfNew, insertRow } from "../../stores/postgres/rows.js";
import type { Sql } from "../../stores/postgres/postgres.js";
import { randomBase62 } from "../../stores/vault/random.js";
import type { Vault } from "../../stores/vault/vault.js";
import { sealPersonal } from "./personal.js";

/** @param id given where something is bound to it already */
export async function createUser(
  sql: Sql,
  vault: Vault,
  given: {
    readonly name: string;
    readonly email?: string | null;
    readonly ownsInstallation?: boolean;
  },
  now: Date,
  id = drawUserId(),
): Promise<string> {
  const { name, email = null, ownsInstallation = false } = given;
  await insertRow(sql, "users", {
    id,
    name_sealed: sealPersonal(vault, id, "name", name),
    email_sealed: email === null ? null : sealPersonal(vault, id, "email", email),
    owns_installation: ownsInstallation,
    created_at: now,
  });
  return id;
}

export function drawUserId(): string {
  return `usr_${randomBase62(20)}`;
}

export interface Identity {
  readonly provider: string;
  readonly issuer: string;
  readonly subjectHash: Buffer;
}

/** @returns the user's id */
export async function findIdentity(
  sql: Sql,
  { issuer, subjectHash }: Pick<Identity, "issuer" | "subjectHash">,
): Promise<string | null> {
  const [row] = await sql.query<{ member: string }>(
    "SELECT member FROM identities WHERE issuer = $1 AND subject_hash = $2",
    [issuer, subjectHash],
  );
  return row?.member ?? null;
}

/** @returns false when somebody has it already */
export function addIdentity(
  sql: Sql,
  member: string,
  { provider, issuer, subjectHash }: Identity,
  now: Date,
): Promise<boolean> {
  return insertIfNew(sql, "identities", {
    id: `idn_${randomBase62(20)}`,
    member,
    provider,
    issuer,
    subject_hash: subjectHash,
    created_at: now,
  });
}

export function listIdentities(
  sql: Sql,
  member: string,
): Promise<Readonly<{ id: string; provider: string; created_at: Date }>[]> {
  return sql.query(
    "SELECT id, provider, created_at FROM identities WHERE member = $1 ORDER BY created_at, id",
    [member],
  );
}

/** Members, and the owner of the installation. */
export async function mayEnter(sql: Sql, member: string): Promise<boolean> {
  const rows = await sql.query(
    `SELECT 1 FROM users WHERE id = $1 AND (owns_installation
       OR EXISTS (SELECT 1 FROM memberships WHERE memberships.member = users.id))`,
    [member],
  );
  return rows.length === 1;
}

export async function installationOwner(sql: Sql): Promise<string | null> {
  const [row] = await sql.query<{ id: string }>(
    "SELECT id FROM users WHERE owns_installation ORDER BY created_at LIMIT 1",
  );
  return row?.id ?? null;
}
