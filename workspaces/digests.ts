/**
 * Stores digests and decides which process sends one. A process claims a digest by moving its
 * `due_at` to the time of the next try. If that process is killed after the send and before the
 * note, the next try sends it once more.
 */
import { limits } from "../config.js";
import { News } from "../runtime/lookout.js";
import type { Frequency } from "../schemas/http/outbound/digests.js";
import type { Postgres, Sql } from "../stores/postgres/postgres.js";
import { durably, insertRow } from "../stores/postgres/rows.js";
import { randomBase62 } from "../stores/vault/random.js";
import { recordActivity } from "./members/activity.js";
import { startOfMonth } from "../schemas/months.js";

export interface Digest {
  readonly id: string;
  readonly workspace: string;
  /** Null: the workspace's own, for its chat channel or its webhooks. */
  readonly member: string | null;
  readonly to_webhooks: boolean;
  readonly frequency: Frequency;
  /** Id of the segment it is of; null: of all. */
  readonly segment: string | null;
  readonly origin: string;
  readonly period_end: Date;
  readonly due_at: Date;
  readonly tries: number;
  readonly problem: string | null;
  readonly sent_at: Date | null;
  readonly created_at: Date;
}

export type ChosenDigest = Pick<
  Digest,
  "workspace" | "member" | "to_webhooks" | "frequency" | "segment" | "origin"
>;

/** Where a digest goes: there is one for each. */
export type DigestTo = Pick<Digest, "member" | "to_webhooks">;

export const digestNews = new News();

/** The first one is about the first period that ends from now on. */
export async function chooseDigest(
  postgres: Postgres,
  chosen: ChosenDigest,
  now: Date,
): Promise<Digest> {
  const { workspace, frequency } = chosen;
  const end = nextPeriodEnd(frequency, now.getTime());
  return postgres.transaction(async (sql) => {
    // Simultaneous callers wait for each other.
    await sql.query("SELECT 1 FROM workspaces WHERE id = $1 FOR NO KEY UPDATE", [workspace]);
    const before = await digestOf(sql, workspace, chosen);
    const id = before?.id ?? `dig_${randomBase62(20)}`;
    const made: Digest = {
      ...chosen,
      id,
      period_end: new Date(end),
      due_at: new Date(dueAfter(end)),
      tries: 0,
      problem: null,
      sent_at: before?.sent_at ?? null,
      created_at: before?.created_at ?? now,
    };
    await sql.query("DELETE FROM digests WHERE id = $1", [id]);
    await insertRow(sql, "digests", { ...made });
    return made;
  });
}

export async function digestOf(
  sql: Sql,
  workspace: string,
  { member, to_webhooks: toWebhooks }: DigestTo,
): Promise<Digest | null> {
  const own = "workspace = $1 AND member IS NOT DISTINCT FROM $2 AND to_webhooks = $3";
  const values = [workspace, member, toWebhooks];
  const [row = null] = await sql.query<Digest>(`SELECT * FROM digests WHERE ${own}`, values);
  return row;
}

/** @returns null when there is none */
export async function endDigest(postgres: Postgres, id: string): Promise<Digest | null> {
  const [row = null] = await durably<Digest>(
    postgres,
    "DELETE FROM digests WHERE id = $1 RETURNING *",
    [id],
  );
  return row;
}

export function dueDigests(postgres: Postgres, now: Date): Promise<Digest[]> {
  const select = "SELECT * FROM digests WHERE due_at <= $1 ORDER BY due_at, id LIMIT $2";
  return postgres.query<Digest>(select, [now, limits.digestsAtOnceMax]);
}

/** @returns null when another process has it */
export async function claimDigest(
  postgres: Postgres,
  { id, due_at: due, tries }: Digest,
  now: Date,
): Promise<Digest | null> {
  const again = new Date(now.getTime() + limits.digestRetryMs * pauseGrowth ** tries);
  const [row = null] = await durably<Digest>(
    postgres,
    `UPDATE digests SET due_at = $3, tries = tries + 1 WHERE id = $1 AND due_at = $2
     RETURNING *`,
    [id, due, again],
  );
  return row;
}

/** 5 minutes, then 15, 45, …: the last try is 10 hours after the first. */
const pauseGrowth = 3;

export async function noteSent(postgres: Postgres, claimed: Digest, now: Date): Promise<void> {
  await moveOn(postgres, claimed, now, { problem: null, sentAt: now });
}

/** After the last try it is given up for this period, with a line in the activity log. */
export async function noteFailed(
  postgres: Postgres,
  claimed: Digest,
  problem: string,
  now: Date,
): Promise<void> {
  const { id, workspace, due_at: due, tries } = claimed;
  if (tries < limits.digestTriesMax) {
    const update = "UPDATE digests SET problem = $3 WHERE id = $1 AND due_at = $2";
    await durably(postgres, update, [id, due, problem]);
    return;
  }
  await moveOn(postgres, claimed, now, { problem, sentAt: null });
  const done = { workspace, actor: "digests", action: "digest.failed", object: id, requestId: id };
  await recordActivity(postgres, done, now);
}

/** A digest that was changed meanwhile stays as it was changed. */
async function moveOn(
  postgres: Postgres,
  { id, due_at: due, frequency }: Digest,
  now: Date,
  { problem, sentAt }: { readonly problem: string | null; readonly sentAt: Date | null },
): Promise<void> {
  const end = nextPeriodEnd(frequency, now.getTime());
  await durably(
    postgres,
    `UPDATE digests SET period_end = $3, due_at = $4, tries = 0, problem = $5,
       sent_at = coalesce($6, sent_at) WHERE id = $1 AND due_at = $2`,
    [id, due, new Date(end), new Date(dueAfter(end)), problem, sentAt],
  );
}

// Which days a digest is about, and when it is sent. UTC; weeks begin on Monday.

const hourMs = 60 * 60 * 1000;
const dayMs = 24 * hourMs;
/** Between the end of a period and its digest, for late webhooks and a decent hour. */
const waitMs = 6 * hourMs;
/** 1970 began on a Thursday. */
const mondayMs = 4 * dayMs;

/** @param at ms since 1970 @returns the first end of a period after it */
export function nextPeriodEnd(frequency: Frequency, at: number): number {
  if (frequency === "monthly") return startOfMonth(at, 1);
  if (frequency === "daily") return (Math.floor(at / dayMs) + 1) * dayMs;
  const weekMs = 7 * dayMs;
  return (Math.floor((at - mondayMs) / weekMs) + 1) * weekMs + mondayMs;
}

export function lastPeriodEnd(frequency: Frequency, at: number): number {
  return periodStart(frequency, nextPeriodEnd(frequency, at));
}

export function periodStart(frequency: Frequency, end: number): number {
  if (frequency === "monthly") return startOfMonth(end, -1);
  return end - (frequency === "daily" ? dayMs : 7 * dayMs);
}

export function dueAfter(periodEnd: number): number {
  return periodEnd + waitMs;
}
