/** Assistants as members see them, and who calls with an access token. */
import { limits } from "../../config.js";
import { conflict } from "../../schemas/http/errors.js";
import type { Environment } from "../../schemas/records/records.js";
import type { Postgres, Sql } from "../../stores/postgres/postgres.js";
import type { Access } from "../keys.js";
import { type ListPage, newestFirst } from "../list-page.js";
import { hashToken } from "../../schemas/ids.js";
import type { Role } from "../members/roles.js";

export interface Assistant {
  readonly id: string;
  /** As the program calls itself. */
  readonly client: string;
  readonly workspace: string;
  readonly member: string;
  readonly environment: Environment;
  readonly may_write: boolean;
  readonly created_at: Date;
  readonly last_used_at: Date;
}

/** Those whose code was redeemed, and that are not idle for too long. */
const select = `SELECT * FROM (
  SELECT a.id, c.name AS client, a.workspace, a.member, a.environment, a.may_write, a.created_at,
    a.last_used_at
  FROM assistants a JOIN oauth_clients c ON c.id = a.client
  WHERE a.code_hash IS NULL AND a.expires_at > now()) AS assistants`;

export function listOwnAssistants(postgres: Postgres, member: string): Promise<Assistant[]> {
  const query = `${select} WHERE member = $1 ORDER BY created_at DESC, id DESC`;
  return postgres.query<Assistant>(query, [member]);
}

export function listAssistants(
  postgres: Postgres,
  workspace: string,
  page: ListPage,
): Promise<Assistant[]> {
  return newestFirst<Assistant>(postgres, page, `${select} WHERE workspace = $4`, [workspace]);
}

/** @param of a workspace, or a member; @returns null: there is no such assistant there */
export async function disconnect(
  sql: Sql,
  of: { readonly workspace: string } | { readonly member: string },
  id: string,
): Promise<Assistant | null> {
  const [column, value] = "workspace" in of ? ["workspace", of.workspace] : ["member", of.member];
  const query = `${select} WHERE id = $1 AND ${column} = $2`;
  const [found] = await sql.query<Assistant>(query, [id, value]);
  if (found === undefined) return null;
  await sql.query("DELETE FROM assistants WHERE id = $1", [id]);
  return found;
}

/** @throws ApiError 409 when the member has so many already */
export async function requireRoomForAssistant(sql: Sql, member: string): Promise<void> {
  await sql.query("SELECT 1 FROM users WHERE id = $1 FOR NO KEY UPDATE", [member]);
  const count =
    "SELECT count(*)::int AS rows FROM assistants WHERE member = $1 AND expires_at > now()";
  const [found] = await sql.query<{ readonly rows: number }>(count, [member]);
  if ((found?.rows ?? 0) < limits.assistantsPerMemberMax) return;
  const most = `You have connected ${limits.assistantsPerMemberMax} assistants already`;
  throw conflict("assistants_full", `${most}: disconnect some under Settings, Assistants.`);
}

/** Who calls with an access token, and what they may do now. */
export interface AssistantCaller {
  readonly kind: "assistant";
  readonly access: Access;
  readonly member: string;
  readonly role: Role;
  readonly mayWrite: boolean;
}

const lastUseWrittenEveryMs = 60_000;

/**
 * Asked of the database each time, so that a membership, a role or a token that ended a moment ago
 * counts no more. @returns null: the token has expired, was revoked or never was
 */
export async function findAssistantCaller(
  postgres: Postgres,
  token: string,
  now: Date,
): Promise<AssistantCaller | null> {
  const [row] = await postgres.query<Row>(
    `SELECT a.id, a.workspace, a.environment, a.member, a.may_write, a.last_used_at, m.role,
       w.base_currency
     FROM assistants a JOIN memberships m USING (workspace, member)
       JOIN workspaces w ON w.id = a.workspace
     WHERE (a.access_hash = $1 AND a.access_until > $2)
       OR (a.previous_hash = $1 AND a.previous_until > $2)`,
    [hashToken(token), now],
  );
  if (row === undefined) return null;
  const { id, workspace, environment, member, role } = row;
  if (row.last_used_at.getTime() + lastUseWrittenEveryMs <= now.getTime()) {
    await postgres.query("UPDATE assistants SET last_used_at = $2 WHERE id = $1", [id, now]);
  }
  const access: Access = {
    workspace,
    environment,
    keyId: id,
    scope: "Read-only",
    baseCurrency: row.base_currency,
  };
  return { kind: "assistant", access, member, role, mayWrite: row.may_write };
}

interface Row extends Pick<
  Assistant,
  "id" | "workspace" | "environment" | "member" | "may_write" | "last_used_at"
> {
  readonly role: Role;
  readonly base_currency: string;
}
