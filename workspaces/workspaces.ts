/** Workspaces: a name and a base currency, which is fixed at creation. */
import type { ListPage } from "./list-page.js";
import { join } from "../members/memberships.js";
import type { Postgres } from "../postgres/postgres.js";
import { randomBase62 } from "../vault/random.js";

export interface Workspace {
  readonly id: string;
  readonly name: string;
  readonly base_currency: "USD" | "EUR" | "GBP" | "INR" | "JPY";
  readonly created_at: Date;
}

const columns = "id, name, base_currency, created_at";

/** @param owner the user who made it; null: the administrator did, and nobody owns it yet */
export async function createWorkspace(
  postgres: Postgres,
  given: Pick<Workspace, "name" | "base_currency">,
  now: Date,
  owner: string | null = null,
): Promise<Workspace> {
  const created = { id: `ws_${randomBase62(20)}`, ...given, created_at: now };
  await postgres.transaction(async (sql) => {
    await sql.query(
      "INSERT INTO workspaces (id, name, base_currency, created_at) VALUES ($1, $2, $3, $4)",
      [created.id, created.name, created.base_currency, created.created_at],
    );
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

/** @param member whose they are; null: all */
export function listWorkspaces(
  postgres: Postgres,
  page: ListPage,
  member: string | null,
): Promise<Workspace[]> {
  return postgres.query<Workspace>(
    `SELECT ${columns} FROM workspaces
     WHERE ($2::timestamptz IS NULL OR (created_at, id) < ($2, $3))
       AND ($4::text IS NULL OR id IN (SELECT workspace FROM memberships WHERE member = $4))
     ORDER BY created_at DESC, id DESC LIMIT $1`,
    [page.rowsMax, page.after?.createdAt ?? null, page.after?.id ?? null, member],
  );
}
