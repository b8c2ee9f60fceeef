/**
 * Stores alerts and decides which process looks at one. A process claims an alert by moving its
 * `due_at`; what it finds is written only if nobody changed the alert meanwhile. If it is killed
 * during a look, the next one judges the same moments again.
 */
import { z } from "zod";
import { limits } from "../../config.js";
import { News } from "../../runtime/lookout.js";
import {
  type AlertChannel,
  type AlertRule,
  type QuietHours,
  alert as alertShape,
} from "../../schemas/http/outbound/alerts.js";
import type { Postgres, Sql } from "../../stores/postgres/postgres.js";
import { durably, insertRow, updateRow } from "../../stores/postgres/rows.js";
import { randomBase62 } from "../../stores/vault/random.js";
import { type ListPage, newestFirst } from "../list-page.js";
import { type FoundFiring, endFirings, endMessages, insertFirings } from "./firings.js";

export interface Alert {
  readonly id: string;
  readonly workspace: string;
  readonly rule: AlertRule;
  readonly channels: readonly AlertChannel[];
  readonly quiet: QuietHours;
  readonly paused: boolean;
  readonly origin: string;
  readonly is_met: boolean;
  readonly judged_to: Date;
  readonly fired_at: Date | null;
  readonly due_at: Date;
  readonly problem: string | null;
  readonly created_at: Date;
}

export type GivenAlert = Pick<Alert, "workspace" | "rule" | "channels" | "quiet" | "origin">;

export const alertNews = new News();

const select = "SELECT * FROM alerts";

export async function insertAlert(sql: Sql, given: GivenAlert, now: Date): Promise<Alert> {
  const made: Alert = {
    ...given,
    id: `alt_${randomBase62(20)}`,
    paused: false,
    is_met: false,
    judged_to: now,
    fired_at: null,
    due_at: now,
    problem: null,
    created_at: now,
  };
  await insertRow(sql, "alerts", stored(made));
  return made;
}

export async function listAlerts(
  postgres: Postgres,
  workspace: string,
  page: ListPage,
): Promise<Alert[]> {
  const rows = await newestFirst<Alert>(postgres, page, `${select} WHERE workspace = $4`, [
    workspace,
  ]);
  return rows.map(read);
}

export async function findAlert(
  postgres: Postgres,
  workspace: string,
  id: string,
): Promise<Alert | null> {
  const query = `${select} WHERE workspace = $1 AND id = $2`;
  const [row] = await postgres.query<Alert>(query, [workspace, id]);
  return row === undefined ? null : read(row);
}

/** With another rule the alert begins anew; after a pause it continues at the present. */
export async function changeAlert(
  postgres: Postgres,
  before: Alert,
  change: Partial<Pick<Alert, "rule" | "channels" | "quiet" | "paused">>,
  now: Date,
): Promise<Alert> {
  const begins = change.rule !== undefined || (before.paused && change.paused === false);
  const after: Alert = {
    ...before,
    ...change,
    due_at: now,
    ...(begins ? { is_met: false, judged_to: now, problem: null } : {}),
  };
  await postgres.transaction(async (sql) => {
    const { rule, channels, quiet, paused, is_met, judged_to, problem } = stored(after);
    const changes = { rule, channels, quiet, paused, is_met, judged_to, problem, due_at: now };
    await updateRow(sql, "alerts", before.id, changes);
    if (begins) await endFirings(sql, before.id, now);
  });
  return after;
}

export async function deleteAlert(postgres: Postgres, id: string): Promise<void> {
  await durably(postgres, "DELETE FROM alerts WHERE id = $1", [id]);
}

/**
 * Removes a receiver who unsubscribes from all alerts of the workspace, with what waits for them.
 */
export async function removeReceiver(
  postgres: Postgres,
  workspace: string,
  member: string,
): Promise<void> {
  await postgres.transaction(async (sql) => {
    await sql.query(
      `UPDATE alerts SET channels = (
         SELECT coalesce(jsonb_agg(each), '[]') FROM jsonb_array_elements(channels) AS each
         WHERE each->>'member' IS DISTINCT FROM $2)
       WHERE workspace = $1`,
      [workspace, member],
    );
    await endMessages(sql, workspace, { by: "email", member });
  });
}

export async function dueAlerts(postgres: Postgres, now: Date): Promise<Alert[]> {
  const due = "WHERE NOT paused AND due_at <= $1 ORDER BY due_at, id LIMIT $2";
  const rows = await postgres.query<Alert>(`${select} ${due}`, [now, limits.alertsAtOnceMax]);
  return rows.map(read);
}

/** @returns null when another process has it */
export async function claimAlert(
  postgres: Postgres,
  { id, due_at: due }: Alert,
  now: Date,
): Promise<Alert | null> {
  const again = new Date(now.getTime() + limits.alertRetryMs);
  const [row] = await durably<Alert>(
    postgres,
    "UPDATE alerts SET due_at = $3 WHERE id = $1 AND due_at = $2 AND NOT paused RETURNING *",
    [id, due, again],
  );
  return row === undefined ? null : read(row);
}

export interface Looked {
  readonly isMet: boolean;
  readonly judgedTo: Date;
  readonly firedAt: Date | null;
  readonly dueAt: Date;
  /** When the firing before the look ended; null: it has not. */
  readonly endedAt: Date | null;
  readonly firings: readonly FoundFiring[];
}

/** Writes all of it, or nothing when the alert was changed meanwhile. */
export async function noteLooked(
  postgres: Postgres,
  claimed: Alert,
  looked: Looked,
  now: Date,
): Promise<void> {
  await postgres.transaction(async (sql) => {
    const row = { id: claimed.id, due_at: claimed.due_at };
    const isUnchanged = await updateRow(sql, "alerts", row, {
      is_met: looked.isMet,
      judged_to: looked.judgedTo,
      fired_at: looked.firedAt,
      due_at: looked.dueAt,
      problem: null,
    });
    if (!isUnchanged) return;
    if (looked.endedAt !== null) await endFirings(sql, claimed.id, looked.endedAt);
    await insertFirings(sql, claimed, looked.firings, now);
  });
}

/** It is looked at again at its `due_at`. */
export async function noteNotLooked(
  postgres: Postgres,
  { id, due_at: due }: Alert,
  problem: string,
): Promise<void> {
  await postgres.transaction((sql) => updateRow(sql, "alerts", { id, due_at: due }, { problem }));
}

/** JSON columns are parsed like any other JSON. */
const kept = z.object({
  rule: alertShape.shape.rule,
  channels: alertShape.shape.channels,
  quiet: alertShape.shape.quiet,
});

function read(row: Alert): Alert {
  return { ...row, ...kept.parse(row) };
}

function stored({ rule, channels, quiet, ...row }: Alert) {
  return {
    ...row,
    rule: JSON.stringify(rule),
    channels: JSON.stringify(channels),
    quiet: quiet === null ? null : JSON.stringify(quiet),
  };
}
