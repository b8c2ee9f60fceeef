/** Invitations to a workspace: single-use links, bound to an e-mail or a domain if wanted. */
import { type ApiError, unauthenticated } from "../../schemas/http/errors.js";
import { durably, insertRow } from "../../stores/postgres/rows.js";
import type { Postgres, Sql } from "../../stores/postgres/postgres.js";
import { randomBase62 } from "../../stores/vault/random.js";
import { hashToken } from "../../schemas/ids.js";
import type { Vault } from "../../stores/vault/vault.js";
import { join } from "./memberships.js";
import { openPersonal, sealPersonal } from "./personal.js";
import type { Role } from "./roles.js";
import { drawToken } from "./sessions.js";
import { type ListPage, newestFirst } from "../list-page.js";

const invitationMsMax = 7 * 24 * 60 * 60 * 1000;

export interface Invitation {
  readonly id: string;
  readonly workspace: string;
  readonly role: Role;
  readonly email: string | null;
  readonly domain: string | null;
  readonly created_at: Date;
  readonly expires_at: Date;
}

interface Row extends Omit<Invitation, "email"> {
  readonly email_sealed: Buffer | null;
}

const columns = "id, workspace, role, email_sealed, domain, created_at, expires_at";

export async function createInvitation(
  postgres: Postgres,
  vault: Vault,
  workspace: string,
  given: Pick<Invitation, "role" | "email" | "domain">,
  now: Date,
): Promise<{ readonly token: string; readonly invitation: Invitation }> {
  const token = drawToken();
  const id = `inv_${randomBase62(20)}`;
  const { email, ...rest } = given;
  const row: Row = {
    id,
    workspace,
    ...rest,
    email_sealed: email === null ? null : sealPersonal(vault, id, "email", email),
    created_at: now,
    expires_at: new Date(now.getTime() + invitationMsMax),
  };
  await postgres.transaction((sql) =>
    insertRow(sql, "invitations", { ...row, token_hash: hashToken(token) }),
  );
  return { token, invitation: opened(vault, row) };
}

export async function listInvitations(
  postgres: Postgres,
  vault: Vault,
  workspace: string,
  page: ListPage,
  now: Date,
): Promise<Invitation[]> {
  const from = `SELECT ${columns} FROM invitations
     WHERE workspace = $4 AND spent_at IS NULL AND expires_at > $5`;
  const rows = await newestFirst<Row>(postgres, page, from, [workspace, now]);
  return rows.map((row) => opened(vault, row));
}

export async function findInvitationById(
  postgres: Postgres,
  vault: Vault,
  workspace: string,
  id: string,
): Promise<Invitation | null> {
  const [row] = await postgres.query<Row>(
    `SELECT ${columns} FROM invitations WHERE workspace = $1 AND id = $2 AND spent_at IS NULL`,
    [workspace, id],
  );
  return row === undefined ? null : opened(vault, row);
}

export async function revokeInvitation(postgres: Postgres, id: string): Promise<void> {
  await durably(postgres, "DELETE FROM invitations WHERE id = $1", [id]);
}

/** @throws ApiError 401 when it was used, has expired or never was */
export async function findInvitation(
  sql: Sql,
  vault: Vault,
  token: string,
  now: Date,
): Promise<Invitation> {
  const [row] = await sql.query<Row>(
    `SELECT ${columns} FROM invitations
     WHERE token_hash = $1 AND spent_at IS NULL AND expires_at > $2`,
    [hashToken(token), now],
  );
  if (row === undefined) throw invitationInvalid();
  return opened(vault, row);
}

export interface Invited {
  readonly workspace: string;
  readonly role: Role;
  /** Null: the administrator token made it. */
  readonly inviter: string | null;
  readonly expires_at: Date;
}

/**
 * What the page of an invitation shows. It has names, so that people can see whether the link comes
 * from a colleague.
 * @throws ApiError 401 when it was used, has expired or never was
 */
export async function describeInvitation(
  sql: Sql,
  vault: Vault,
  token: string,
  now: Date,
): Promise<Invited> {
  const { id, workspace, role, expires_at } = await findInvitation(sql, vault, token, now);
  const [row] = await sql.query<Description>(
    `SELECT w.name, u.id AS inviter, u.name_sealed FROM workspaces w
     LEFT JOIN activity a
       ON a.workspace = w.id AND a.action = 'invitation.created' AND a.object = $2
     LEFT JOIN users u ON u.id = a.actor
     WHERE w.id = $1`,
    [workspace, id],
  );
  if (row === undefined) throw invitationInvalid();
  const { name, inviter, name_sealed: sealed } = row;
  const by =
    inviter === null || sealed === null ? null : openPersonal(vault, inviter, "name", sealed);
  return { workspace: name, role, inviter: by, expires_at };
}

interface Description {
  readonly name: string;
  readonly inviter: string | null;
  readonly name_sealed: Buffer | null;
}

/** @param email verified by an identity provider; null: there is none */
export function isFor(invitation: Invitation, email: string | null): boolean {
  if (invitation.email === null && invitation.domain === null) return true;
  if (email === null) return false;
  const given = email.toLowerCase();
  const domain = given.slice(given.lastIndexOf("@") + 1);
  return (
    (invitation.email === null || given === invitation.email.toLowerCase()) &&
    (invitation.domain === null || domain === invitation.domain.toLowerCase())
  );
}

/** @throws ApiError 401 when another call has spent it */
export async function spendInvitation(
  sql: Sql,
  { id, workspace, role }: Invitation,
  member: string,
  now: Date,
): Promise<void> {
  const rows = await sql.query(
    "UPDATE invitations SET spent_at = $2 WHERE id = $1 AND spent_at IS NULL RETURNING id",
    [id, now],
  );
  if (rows.length === 0) throw invitationInvalid();
  await join(sql, workspace, member, role, now);
}

function invitationInvalid(): ApiError {
  const message = "This invitation was already used, has expired, or is invalid.";
  return unauthenticated("invitation_invalid", message);
}

function opened(vault: Vault, { email_sealed: sealed, ...row }: Row): Invitation {
  return { ...row, email: sealed === null ? null : openPersonal(vault, row.id, "email", sealed) };
}
