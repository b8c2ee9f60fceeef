/** Workspaces: a name and a base currency, which is fixed at creation. */
import { type ListPage, newestFirst } from "./list-page.js";
import { join } from "./members/memberships.js";
import type { Postgres } from "../stores/postgres/postgres.js";
import { insertRow } from "../stores/postgres/rows.js";
import type { CustomerDetails, WorkspaceView } from "../schemas/http/manage.js";
import { randomBase62 } from "../stores/vault/random.js";

export interface Workspace {
  readonly id: string;
  readonly name: string;
  readonly base_currency: WorkspaceView["base_currency"];
  readonly created_at: Date;
  readonly customer_details: CustomerDetails;
}

const columns = "id, name, base_currency, created_at, customer_details";

/** @param owner the user who made it; null: the administrator did, and nobody owns it yet */
export async function createWorkspace(
  postgres: Postgres,
  given: Pick<Workspace, "name" | "base_currency">,
  now: Date,
  owner: string | null = null,
): Promise<Workspace> {
  const created = {
    id: `ws_${randomBase62(20)}`,
    ...given,
    created_at: now,
    customer_details: "members" as const,
  };
  await postgres.transaction(async (sql) => {
    await insertRow(sql, "workspaces", created);
    if (owner !== null) await join(sql, created.id, owner, "owner", now);
  });
  return created;
}

export async function findWorkspace(postgres: Postgres, id: string): Promise<Workspace | null> {
  const [row] = await postgres.query<Workspace>(`SELECT ${columns} FROM workspaces WHERE id = $1`, [
    id,
  ]);
  return row ?? null;
}

export async function renameWorkspace(postgres: Postgres, id: string, name: string): Promise<void> {
  await postgres.query("UPDATE workspaces SET name = $2 WHERE id = $1", [id, name]);
}

export function listWorkspaces(
  postgres: Postgres,
  page: ListPage,
  member: string | null,
): Promise<Workspace[]> {
  const select = `SELECT ${columns} FROM workspaces
     WHERE ($4::text IS NULL OR id IN (SELECT workspace FROM memberships WHERE member = $4))`;
  return newestFirst<Workspace>(postgres, page, select, [member]);
}
