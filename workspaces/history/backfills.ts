/** Backfills: readings of a provider's history, and how far each has come. */
import { limits } from "../../config.js";
import type { Postgres } from "../../stores/postgres/postgres.js";
import { durably, updateRow } from "../../stores/postgres/rows.js";
import type { BackfillView } from "../../schemas/http/manage.js";
import { randomBase62 } from "../../stores/vault/random.js";
import { News } from "../../runtime/lookout.js";

/** How long a process may be silent before another goes on with its backfill. */
const backfillLeaseMs = 120_000;
/** Surely longer than it takes to upload a file, or to read a folder of them. */
const uploadMsMax = 24 * 60 * 60 * 1000;

/** Minor units, as decimal text. */
interface PaidSums {
  readonly count: number;
  readonly amount: string;
  /** Of what was paid. */
  readonly refunded: string;
}
export interface ComparedMonth {
  /** YYYY-MM of the payment */
  readonly month: string;
  readonly currency: string;
  readonly listed: PaidSums;
  readonly booked: PaidSums;
}

export interface Backfill {
  readonly id: string;
  readonly workspace: string;
  readonly integration: string;
  /** Of the history, to `createdAt`. */
  readonly from: Date;
  readonly state: BackfillView["state"];
  /** The list that is read or compared now. */
  readonly list: string;
  readonly after: string | null;
  readonly counts: Readonly<Record<string, number>>;
  /** When the first page of `list` was asked for; null: before that was kept. */
  readonly listSince: Date | null;
  /** What `list` has come through, ms since 1970; null where it is in no order of dates. */
  readonly through: { readonly from: number; readonly to: number } | null;
  readonly comparison: readonly ComparedMonth[] | null;
  readonly problem: string | null;
  /** A list of the provider's API, or a file that somebody uploaded. */
  readonly source: "api" | "export";
  /** When the file was written, at the earliest; null: it reaches to `createdAt`. */
  readonly coversTo: Date | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

const columns = `id, workspace, integration, from_at AS "from", state, list, after, counts,
  list_since AS "listSince", through, comparison, problem, source, covers_to AS "coversTo",
  created_at AS "createdAt", updated_at AS "updatedAt"`;

/** Whether history can be read from then on; before, nothing is booked. */
export function canBeginAt(from: Date, now: Date): boolean {
  return from.getTime() >= limits.eventEarliest && from <= now;
}

export const backfillNews = new News();

function newId(): string {
  return `bf_${randomBase62(20)}`;
}

/** @returns null when one of this integration is running */
export async function createBackfill(
  postgres: Postgres,
  given: Pick<Backfill, "workspace" | "integration" | "from" | "list"> & {
    /** Uploaded, for a provider that lists nothing by itself. */
    readonly ids?: readonly string[];
    /** So far back it lists all without any. */
    readonly listedMs?: number;
  },
  now: Date,
): Promise<Backfill | null> {
  const { workspace, integration, from, list, ids = [], listedMs } = given;
  const isCovered = listedMs === undefined || ids.length > 0;
  const coversFrom = isCovered ? null : Math.max(from.getTime(), now.getTime() - listedMs);
  const [backfill = null] = await durably<Backfill>(
    postgres,
    `INSERT INTO backfills (id, workspace, integration, from_at, state, list, counts, ids,
       covers_from, list_since, leased_until, created_at, updated_at)
     VALUES ($1, $2, $3, $4, 'reading', $5, '{}', $6, $7, $8, $8, $8, $8)
     ON CONFLICT DO NOTHING RETURNING ${columns}`,
    [
      newId(),
      workspace,
      integration,
      from,
      list,
      JSON.stringify(ids),
      coversFrom === null ? null : new Date(coversFrom),
      now,
    ],
  );
  backfillNews.announce();
  return backfill;
}

/**
 * One that reads lines which are uploaded only now: it has failed until `beginExport`.
 * @returns its id
 */
export async function prepareExport(
  postgres: Postgres,
  given: Pick<Backfill, "workspace" | "integration" | "from" | "list">,
  now: Date,
): Promise<string> {
  const { workspace, integration, from, list } = given;
  const id = newId();
  await durably(
    postgres,
    `INSERT INTO backfills (id, workspace, integration, from_at, state, list, counts, problem,
       source, leased_until, created_at, updated_at)
     VALUES ($1, $2, $3, $4, 'failed', $5, '{}', $6, 'export', $7, $7, $7)`,
    [id, workspace, integration, from, list, "The file was not uploaded to its end.", now],
  );
  return id;
}

/** @returns null when another one of this integration is running */
export async function beginExport(
  postgres: Postgres,
  id: string,
  coversTo: Date,
  now: Date,
): Promise<Backfill | null> {
  const [begun = null] = await durably<Backfill>(
    postgres,
    `UPDATE backfills SET state = 'reading', problem = NULL, covers_to = $2, list_since = $3,
       leased_until = $3, updated_at = $3
     WHERE id = $1 AND NOT EXISTS (
       SELECT 1 FROM backfills AS other WHERE other.integration = backfills.integration
         AND other.state IN ('reading', 'comparing'))
     RETURNING ${columns}`,
    [id, coversTo, now],
  );
  backfillNews.announce();
  return begun;
}

/** Nothing of it is read. */
export async function discardExport(postgres: Postgres, id: string): Promise<void> {
  await postgres.transaction(async (sql) => {
    await sql.query("DELETE FROM backfill_lines WHERE backfill = $1", [id]);
    await sql.query("DELETE FROM backfills WHERE id = $1", [id]);
  });
}

/** Of uploads that crashes cut short, once they are surely over. */
export async function discardOldExports(
  postgres: Postgres,
  integration: string,
  now: Date,
): Promise<void> {
  await postgres.query(`${deleteLinesOfEnded} AND integration = $1 AND created_at < $2`, [
    integration,
    new Date(now.getTime() - uploadMsMax),
  ]);
}

/** Nobody needs what was uploaded once it is booked and compared. */
const deleteLinesOfEnded = `DELETE FROM backfill_lines USING backfills
  WHERE backfills.id = backfill AND state NOT IN ('reading', 'comparing')`;

/** The newest of an integration. */
export async function findBackfill(
  postgres: Postgres,
  integration: string,
): Promise<Backfill | null> {
  const [newest = null] = await postgres.query<Backfill>(
    `SELECT ${columns} FROM backfills WHERE integration = $1
     ORDER BY created_at DESC, id DESC LIMIT 1`,
    [integration],
  );
  return newest;
}

/** Of those uploaded, the next in the order of their bytes. */
export async function uploadedIds(
  postgres: Postgres,
  backfill: string,
  after: string,
  idsMax: number,
): Promise<string[]> {
  const rows = await postgres.query<{ id: string }>(
    `SELECT DISTINCT uploaded.id COLLATE "C" AS id
     FROM backfills, jsonb_array_elements_text(backfills.ids) AS uploaded (id)
     WHERE backfills.id = $1 AND uploaded.id COLLATE "C" > $2
     ORDER BY 1 LIMIT $3`,
    [backfill, after, idsMax],
  );
  return rows.map(({ id }) => id);
}

/** Of one that came to an end: from when to when it has read all there is. */
export interface CoveredSpan extends Pick<Backfill, "from" | "source"> {
  readonly to: Date;
}

/** All that came to an end, with whatever result. */
export async function endedBackfills(
  postgres: Postgres,
  integration: string,
): Promise<CoveredSpan[]> {
  return postgres.query<CoveredSpan>(
    `SELECT coalesce(covers_from, from_at) AS "from", coalesce(covers_to, created_at) AS "to",
       source
     FROM backfills WHERE integration = $1 AND state IN ('done', 'different')`,
    [integration],
  );
}

/** A backfill somebody works on, and until when nobody else does. */
export interface LeasedBackfill extends Backfill {
  readonly leasedUntil: Date;
}

/** One that runs and that nobody works on is this process's for `backfillLeaseMs`. */
export async function leaseBackfill(postgres: Postgres, now: Date): Promise<LeasedBackfill | null> {
  const leasedUntil = new Date(now.getTime() + backfillLeaseMs);
  const [leased = null] = await postgres.query<LeasedBackfill>(
    `UPDATE backfills SET leased_until = $2 WHERE id = (
       SELECT id FROM backfills
       WHERE state IN ('reading', 'comparing') AND leased_until <= $1
       ORDER BY leased_until LIMIT 1)
     AND leased_until <= $1 RETURNING ${columns}, leased_until AS "leasedUntil"`,
    [now, leasedUntil],
  );
  return leased;
}

/** At the start of the only process: those before it are dead, whatever they had leased. */
export async function endLeases(postgres: Postgres, now: Date): Promise<void> {
  await postgres.query(
    `UPDATE backfills SET leased_until = $1
     WHERE state IN ('reading', 'comparing') AND leased_until > $1`,
    [now],
  );
}

export interface BackfillStep extends Pick<
  Backfill,
  "state" | "list" | "after" | "counts" | "listSince" | "through" | "comparison" | "problem"
> {
  /** Until then nobody goes on with it. */
  readonly restUntil: Date;
}

/** Changes nothing when the lease ran out and another process has taken it since. */
export async function moveBackfill(
  postgres: Postgres,
  { id, leasedUntil }: Pick<LeasedBackfill, "id" | "leasedUntil">,
  step: BackfillStep,
  now: Date,
): Promise<void> {
  const { state, list, after, problem } = step;
  const isRunning = state === "reading" || state === "comparing";
  await postgres.transaction(async (sql) => {
    const row = { id, leased_until: leasedUntil };
    await updateRow(sql, "backfills", row, {
      state,
      list,
      after,
      problem,
      counts: JSON.stringify(step.counts),
      list_since: step.listSince,
      through: step.through === null ? null : JSON.stringify(step.through),
      comparison: step.comparison === null ? null : JSON.stringify(step.comparison),
      leased_until: step.restUntil,
      updated_at: now,
    });
    // Together: once it is over, nothing of it is left.
    if (!isRunning) await sql.query(`${deleteLinesOfEnded} AND backfills.id = $1`, [id]);
  });
}
