import type { Sql } from "../stores/postgres/postgres.js";

export interface ListPage {
  readonly rowsMax: number;
  /** The last one shown; null: none yet. Times in these tables have whole milliseconds. */
  readonly after: { readonly createdAt: Date; readonly id: string } | null;
}

/**
 * @param select of one table, with a condition at its end
 * @param values of that condition, `$4` the first of them
 */
export function newestFirst<T>(
  sql: Sql,
  { rowsMax, after }: ListPage,
  select: string,
  values: readonly unknown[],
): Promise<T[]> {
  return sql.query<T>(
    `${select} AND ($2::timestamptz IS NULL OR (created_at, id) < ($2, $3))
     ORDER BY created_at DESC, id DESC LIMIT $1`,
    [rowsMax, after?.createdAt ?? null, after?.id ?? null, ...values],
  );
}
