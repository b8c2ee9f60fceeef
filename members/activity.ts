/** The activity log: one row for each change, appended and never edited. Never a secret or name. */
import type { ListPage } from "../workspaces/list-page.js";
import type { Postgres } from "../postgres/postgres.js";
import { randomBase62 } from "../vault/random.js";

type Sql = Pick<Postgres, "query">;

export interface Activity {
  /** Null: of the installation. */
  readonly workspace: string | null;
  /** A user's id, or `administrator`. */
  readonly actor: string;
  /** What was done, `key.created`. */
  readonly action: string;
  /** The id of what it was done to. */
  readonly object: string;
  readonly requestId: string;
}

export interface ActivityRecord extends Omit<Activity, "requestId"> {
  readonly id: string;
  readonly created_at: Date;
  readonly request_id: string;
}

export async function recordActivity(sql: Sql, done: Activity, now: Date): Promise<void> {
  await sql.query(
    `INSERT INTO activity (id, workspace, created_at, actor, action, object, request_id)
     VALUES ($1, $2, $3, $4, $5, $6, $7)`,
    [
      `act_${randomBase62(20)}`,
      done.workspace,
      now,
      done.actor,
      done.action,
      done.object,
      done.requestId,
    ],
  );
}

/** @param workspace null: what concerns the installation */
export function listActivity(
  postgres: Postgres,
  workspace: string | null,
  page: ListPage,
): Promise<ActivityRecord[]> {
  return postgres.query<ActivityRecord>(
    `SELECT id, workspace, created_at, actor, action, object, request_id FROM activity
     WHERE workspace IS NOT DISTINCT FROM $4
       AND ($2::timestamptz IS NULL OR (created_at, id) < ($2, $3))
     ORDER BY created_at DESC, id DESC LIMIT $1`,
    [page.rowsMax, page.after?.createdAt ?? null, page.after?.id ?? null, workspace],
  );
}
