/** The activity log: one row for each change, appended and never edited. Never a secret or name. */
import { insertRow } from "../postgres/rows.js";
import type { Postgres } from "../postgres/postgres.js";
import { type ListPage, newestFirst } from "../workspaces/list-page.js";
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
  const { requestId: request_id, ...rest } = done;
  const id = `act_${randomBase62(20)}`;
  await insertRow(sql, "activity", { id, created_at: now, request_id, ...rest });
}

/** @param workspace null: what concerns the installation */
export function listActivity(
  postgres: Postgres,
  workspace: string | null,
  page: ListPage,
): Promise<ActivityRecord[]> {
  const from = `SELECT id, workspace, created_at, actor, action, object, request_id FROM activity
     WHERE workspace IS NOT DISTINCT FROM $4`;
  return newestFirst<ActivityRecord>(postgres, page, from, [workspace]);
}
