/**
 * The activity log: one row for each change, appended and never edited, without secrets and names.
 */
import { type MergeUndo, mergeUndoSql } from "../catalogue/merges.js";
import { insertRow } from "../../stores/postgres/rows.js";
import type { Postgres, Sql } from "../../stores/postgres/postgres.js";
import { type ListPage, newestFirst } from "../list-page.js";
import { randomBase62 } from "../../stores/vault/random.js";

export interface Activity {
  /** Where something else refers to it. */
  readonly id?: string | undefined;
  /** Null: of the installation. */
  readonly workspace: string | null;
  /** A user's id, or `administrator`. */
  readonly actor: string;
  /** What was done, `key.created`. */
  readonly action: string;
  readonly object: string;
  readonly requestId: string;
}

export interface ActivityRecord extends Omit<Activity, "id" | "requestId"> {
  readonly id: string;
  readonly created_at: Date;
  readonly request_id: string;
  /** Null: it cannot be undone (any more). */
  readonly undo: MergeUndo | null;
}

export function newActivityId(): string {
  return `act_${randomBase62(20)}`;
}

export async function recordActivity(sql: Sql, done: Activity, now: Date): Promise<void> {
  const { requestId: request_id, id = newActivityId(), ...rest } = done;
  await insertRow(sql, "activity", { id, created_at: now, request_id, ...rest });
}

/** @param workspace null: the installation */
export function listActivity(
  postgres: Postgres,
  workspace: string | null,
  page: ListPage,
): Promise<ActivityRecord[]> {
  const from = `SELECT id, workspace, created_at, actor, action, object, request_id,
       ${mergeUndoSql("activity.id")} AS undo
     FROM activity WHERE workspace IS NOT DISTINCT FROM $4`;
  return newestFirst<ActivityRecord>(postgres, page, from, [workspace]);
}
