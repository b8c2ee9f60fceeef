/** Saved views: a path and query of the dashboard under a name. */
import type { ListPage } from "../workspaces/list-page.js";
import type { Postgres } from "../postgres/postgres.js";
import { randomBase62 } from "../vault/random.js";

export interface SavedView {
  readonly id: string;
  readonly member: string | null;
  readonly shared: boolean;
  readonly name: string;
  readonly path: string;
  readonly created_at: Date;
}

const columns = "id, member, shared, name, path, created_at";

export async function createView(
  postgres: Postgres,
  workspace: string,
  { member, shared, name, path }: Pick<SavedView, "member" | "shared" | "name" | "path">,
  now: Date,
): Promise<SavedView> {
  const view = { id: `viw_${randomBase62(20)}`, member, shared, name, path, created_at: now };
  await postgres.transaction((sql) =>
    sql.query(
      `INSERT INTO saved_views (id, workspace, member, shared, name, path, created_at)
       VALUES ($1, $2, $3, $4, $5, $6, $7)`,
      [view.id, workspace, member, shared, name, path, now],
    ),
  );
  return view;
}

/** @param member sees their own, too; null: shared ones only */
export function listViews(
  postgres: Postgres,
  workspace: string,
  member: string | null,
  page: ListPage,
): Promise<SavedView[]> {
  return postgres.query<SavedView>(
    `SELECT ${columns} FROM saved_views
     WHERE workspace = $4 AND (shared OR member = $5)
       AND ($2::timestamptz IS NULL OR (created_at, id) < ($2, $3))
     ORDER BY created_at DESC, id DESC LIMIT $1`,
    [page.rowsMax, page.after?.createdAt ?? null, page.after?.id ?? null, workspace, member],
  );
}

export async function findView(
  postgres: Postgres,
  workspace: string,
  id: string,
): Promise<SavedView | null> {
  const [row] = await postgres.query<SavedView>(
    `SELECT ${columns} FROM saved_views WHERE workspace = $1 AND id = $2`,
    [workspace, id],
  );
  return row ?? null;
}

export async function changeView(postgres: Postgres, view: SavedView): Promise<void> {
  const { id, shared, name, path } = view;
  await postgres.transaction((sql) =>
    sql.query("UPDATE saved_views SET shared = $2, name = $3, path = $4 WHERE id = $1", [
      id,
      shared,
      name,
      path,
    ]),
  );
}

export async function deleteView(postgres: Postgres, id: string): Promise<void> {
  await postgres.transaction((sql) => sql.query("DELETE FROM saved_views WHERE id = $1", [id]));
}
