/** Annotations of a workspace: a day and a text. */
import type { ListPage } from "../workspaces/list-page.js";
import type { Postgres } from "../postgres/postgres.js";
import { randomBase62 } from "../vault/random.js";

export interface Annotation {
  readonly id: string;
  /** YYYY-MM-DD */
  readonly day: string;
  readonly text: string;
  readonly created_at: Date;
}

const columns = "id, day, text, created_at";

export async function createAnnotation(
  postgres: Postgres,
  workspace: string,
  { day, text }: Pick<Annotation, "day" | "text">,
  now: Date,
): Promise<Annotation> {
  const annotation = { id: `ann_${randomBase62(20)}`, day, text, created_at: now };
  await postgres.transaction((sql) =>
    sql.query(
      "INSERT INTO annotations (id, workspace, day, text, created_at) VALUES ($1, $2, $3, $4, $5)",
      [annotation.id, workspace, day, text, now],
    ),
  );
  return annotation;
}

export function listAnnotations(
  postgres: Postgres,
  workspace: string,
  page: ListPage,
): Promise<Annotation[]> {
  return postgres.query<Annotation>(
    `SELECT ${columns} FROM annotations
     WHERE workspace = $4 AND ($2::timestamptz IS NULL OR (created_at, id) < ($2, $3))
     ORDER BY created_at DESC, id DESC LIMIT $1`,
    [page.rowsMax, page.after?.createdAt ?? null, page.after?.id ?? null, workspace],
  );
}

export async function findAnnotation(
  postgres: Postgres,
  workspace: string,
  id: string,
): Promise<Annotation | null> {
  const [row] = await postgres.query<Annotation>(
    `SELECT ${columns} FROM annotations WHERE workspace = $1 AND id = $2`,
    [workspace, id],
  );
  return row ?? null;
}

export async function changeAnnotation(
  postgres: Postgres,
  { id, day, text }: Annotation,
): Promise<void> {
  await postgres.transaction((sql) =>
    sql.query("UPDATE annotations SET day = $2, text = $3 WHERE id = $1", [id, day, text]),
  );
}

export async function deleteAnnotation(postgres: Postgres, id: string): Promise<void> {
  await postgres.transaction((sql) => sql.query("DELETE FROM annotations WHERE id = $1", [id]));
}
