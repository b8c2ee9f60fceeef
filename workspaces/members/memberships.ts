/**
 * Who belongs to a workspace, in which role. Every change gives the member's sessions new tokens.
 */
import type { Postgres, Sql } from "../../stores/postgres/postgres.js";
import type { Vault } from "../../stores/vault/vault.js";
import { openPersonal } from "./personal.js";
import { type Role, includesRole } from "./roles.js";
import { renewSessions } from "./session-records.js";
import { type ListPage, newestFirst } from "../list-page.js";

export interface Member {
  readonly id: string;
  readonly name: string;
  readonly email: string | null;
  readonly role: Role;
  readonly created_at: Date;
}

interface MemberRow extends Omit<Member, "name" | "email"> {
  readonly name_sealed: Buffer;
  readonly email_sealed: Buffer | null;
}

const select = `SELECT u.id, u.name_sealed, u.email_sealed, m.role, m.created_at
  FROM memberships m JOIN users u ON u.id = m.member`;

export async function listMembers(
  postgres: Postgres,
  vault: Vault,
  workspace: string,
  page: ListPage,
): Promise<Member[]> {
  const from = `SELECT * FROM (${select} WHERE m.workspace = $4) AS members WHERE true`;
  const rows = await newestFirst<MemberRow>(postgres, page, from, [workspace]);
  return rows.map((row) => opened(vault, row));
}

export async function findMember(
  sql: Sql,
  vault: Vault,
  workspace: string,
  id: string,
): Promise<Member | null> {
  const where = "m.workspace = $1 AND u.id = $2";
  const [row] = await sql.query<MemberRow>(`${select} WHERE ${where}`, [workspace, id]);
  return row === undefined ? null : opened(vault, row);
}

/** Joins, or gets a higher role; never a lower one. */
export async function join(
  sql: Sql,
  workspace: string,
  member: string,
  role: Role,
  now: Date,
): Promise<void> {
  const [row] = await sql.query<{ role: Role }>(
    "SELECT role FROM memberships WHERE workspace = $1 AND member = $2 FOR UPDATE",
    [workspace, member],
  );
  if (row !== undefined && includesRole(row.role, role)) return;
  await sql.query(
    `INSERT INTO memberships (workspace, member, role, created_at) VALUES ($1, $2, $3, $4)
     ON CONFLICT (workspace, member) DO UPDATE SET role = excluded.role`,
    [workspace, member, role, now],
  );
  await renewSessions(sql, member);
}

export async function changeRole(
  sql: Sql,
  workspace: string,
  member: string,
  role: Role,
): Promise<void> {
  const update = "UPDATE memberships SET role = $3 WHERE workspace = $1 AND member = $2";
  await sql.query(update, [workspace, member, role]);
  await renewSessions(sql, member);
}

/** Whoever belongs to no workspace any more is forgotten, with name, e-mail and sessions. */
export async function leave(sql: Sql, workspace: string, member: string): Promise<void> {
  const own = "workspace = $1 AND member = $2";
  await sql.query(`DELETE FROM memberships WHERE ${own}`, [workspace, member]);
  await sql.query(`DELETE FROM digests WHERE ${own}`, [workspace, member]);
  await sql.query(`DELETE FROM saved_views WHERE ${own} AND NOT shared`, [workspace, member]);
  await sql.query(
    `DELETE FROM users WHERE id = $1 AND NOT owns_installation
       AND NOT EXISTS (SELECT 1 FROM memberships WHERE member = $1)`,
    [member],
  );
  await renewSessions(sql, member);
}

/** Locks the owners, so that two of them cannot leave at the same moment. */
export async function isLastOwner(sql: Sql, workspace: string, member: string): Promise<boolean> {
  const owners = await sql.query<{ member: string }>(
    "SELECT member FROM memberships WHERE workspace = $1 AND role = 'owner' FOR UPDATE",
    [workspace],
  );
  return owners.length === 1 && owners[0]?.member === member;
}

/** At first run: what was made with the administrator token has no owner yet. */
export async function ownWorkspacesOfNobody(sql: Sql, member: string, now: Date): Promise<void> {
  await sql.query(
    `INSERT INTO memberships (workspace, member, role, created_at)
     SELECT id, $1, 'owner', $2 FROM workspaces
     WHERE NOT EXISTS (SELECT 1 FROM memberships WHERE workspace = workspaces.id)`,
    [member, now],
  );
}

function opened(vault: Vault, row: MemberRow): Member {
  const { name_sealed: name, email_sealed: email, ...rest } = row;
  return {
    ...rest,
    name: openPersonal(vault, row.id, "name", name),
    email: email === null ? null : openPersonal(vault, row.id, "email", email),
  };
}
