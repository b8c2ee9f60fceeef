/** Backfills: readings of a provider's history, and how far each has come. */
import { z } from "zod";
import { limits } from "../config.js";
import type { Postgres } from "../postgres/postgres.js";
import { randomBase62 } from "../vault/random.js";

/** How long a process may be silent before another goes on with its backfill. */
const backfillLeaseMs = 120_000;

const backfillStates = ["reading", "comparing", "done", "different", "failed"] as const;
type BackfillState = (typeof backfillStates)[number];

/** Count and minor units of what was paid, and what of it was refunded; amounts as decimal text. */
const sums = z.object({ count: z.int(), amount: z.string(), refunded: z.string() });
const comparedMonth = z.object({
  /** YYYY-MM of the payment */
  month: z.string(),
  currency: z.string(),
  listed: sums,
  booked: sums,
});
export type ComparedMonth = z.output<typeof comparedMonth>;

const counts = z.record(z.string(), z.int());
const comparison = z.array(comparedMonth).nullable();

export interface Backfill {
  readonly id: string;
  readonly workspace: string;
  readonly integration: string;
  /** Of the history, to `createdAt`. */
  readonly from: Date;
  readonly state: BackfillState;
  /** The list that is read or compared now. */
  readonly list: string;
  readonly after: string | null;
  readonly counts: Readonly<Record<string, number>>;
  readonly comparison: readonly ComparedMonth[] | null;
  readonly problem: string | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

interface Row extends Omit<Backfill, "from" | "counts" | "comparison" | "createdAt" | "updatedAt"> {
  readonly from_at: Date;
  readonly counts: unknown;
  readonly comparison: unknown;
  readonly created_at: Date;
  readonly updated_at: Date;
}

const columns =
  "id, workspace, integration, from_at, state, list, after, counts, comparison, problem, " +
  "created_at, updated_at";

/** Whether history can be read from then on; before, nothing is booked. */
export function canBeginAt(from: Date, now: Date): boolean {
  return from.getTime() >= limits.eventEarliest && from <= now;
}

/** @returns null when one of this integration is running */
export async function createBackfill(
  postgres: Postgres,
  given: Pick<Backfill, "workspace" | "integration" | "from" | "list">,
  now: Date,
): Promise<Backfill | null> {
  const [row] = await postgres.transaction((sql) =>
    sql.query<Row>(
      `INSERT INTO backfills (id, workspace, integration, from_at, state, list, after, counts,
         comparison, problem, leased_until, created_at, updated_at)
       VALUES ($1, $2, $3, $4, 'reading', $5, NULL, '{}', NULL, NULL, $6, $6, $6)
       ON CONFLICT DO NOTHING RETURNING ${columns}`,
      [`bf_${randomBase62(20)}`, given.workspace, given.integration, given.from, given.list, now],
    ),
  );
  return row === undefined ? null : backfillOf(row);
}

/** The newest of an integration. */
export async function findBackfill(
  postgres: Postgres,
  integration: string,
): Promise<Backfill | null> {
  const [row] = await postgres.query<Row>(
    `SELECT ${columns} FROM backfills WHERE integration = $1
     ORDER BY created_at DESC, id DESC LIMIT 1`,
    [integration],
  );
  return row === undefined ? null : backfillOf(row);
}

/** A backfill somebody works on, and until when nobody else does. */
export interface LeasedBackfill extends Backfill {
  readonly leasedUntil: Date;
}

/** One that runs and that nobody works on is this process's for `backfillLeaseMs`. */
export async function leaseBackfill(postgres: Postgres, now: Date): Promise<LeasedBackfill | null> {
  const leasedUntil = new Date(now.getTime() + backfillLeaseMs);
  const [row] = await postgres.query<Row>(
    `UPDATE backfills SET leased_until = $2 WHERE id = (
       SELECT id FROM backfills
       WHERE state IN ('reading', 'comparing') AND leased_until <= $1
       ORDER BY leased_until LIMIT 1)
     AND leased_until <= $1 RETURNING ${columns}`,
    [now, leasedUntil],
  );
  return row === undefined ? null : { ...backfillOf(row), leasedUntil };
}

export interface BackfillStep extends Pick<
  Backfill,
  "state" | "list" | "after" | "counts" | "comparison" | "problem"
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
  await postgres.transaction((sql) =>
    sql.query(
      `UPDATE backfills SET state = $2, list = $3, after = $4, counts = $5, comparison = $6,
         problem = $7, leased_until = $8, updated_at = $9 WHERE id = $1 AND leased_until = $10`,
      [
        id,
        step.state,
        step.list,
        step.after,
        JSON.stringify(step.counts),
        step.comparison === null ? null : JSON.stringify(step.comparison),
        step.problem,
        step.restUntil,
        now,
        leasedUntil,
      ],
    ),
  );
}

function backfillOf(row: Row): Backfill {
  const { from_at: from, created_at: createdAt, updated_at: updatedAt, ...rest } = row;
  return {
    ...rest,
    from,
    createdAt,
    updatedAt,
    counts: counts.parse(row.counts),
    comparison: comparison.parse(row.comparison),
  };
}
