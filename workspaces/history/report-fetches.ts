/** Fetches of stores' reports from their APIs: asked for, and how the last one ended. */
import type { ReportFetchView } from "../../schemas/http/reports.js";
import type { Postgres } from "../../stores/postgres/postgres.js";
import { updateRow } from "../../stores/postgres/rows.js";
import { reconciliationNews } from "./reconciliations.js";

/**
 * @param endedBefore starts again only a fetch that failed, or succeeded before then; null: starts
 *   it again in any case
 */
export async function askReportFetch(
  postgres: Postgres,
  integration: string,
  dueAt: Date,
  endedBefore: Date | null = null,
): Promise<void> {
  await postgres.query(
    `INSERT INTO report_fetches AS known (integration, state, due_at) VALUES ($1, 'waiting', $2)
     ON CONFLICT (integration) DO UPDATE
       SET state = 'waiting', problem = NULL, due_at = excluded.due_at
       WHERE $3::timestamptz IS NULL OR known.state = 'failed'
         OR (known.state = 'done' AND known.fetched_at < $3)`,
    [integration, dueAt, endedBefore],
  );
  // Those who compare months fetch reports, too.
  reconciliationNews.announce();
}

export interface DueFetch {
  readonly integration: string;
  readonly dueAt: Date;
}

export async function dueReportFetch(postgres: Postgres, now: Date): Promise<DueFetch | null> {
  const [row = null] = await postgres.query<DueFetch>(
    `SELECT integration, due_at AS "dueAt" FROM report_fetches
     WHERE state = 'waiting' AND due_at <= $1 ORDER BY due_at, integration LIMIT 1`,
    [now],
  );
  return row;
}

interface EndedFetch {
  /** Null: nothing went wrong. */
  readonly problem: string | null;
  readonly kept: number;
  /** It is tried again then; null: nobody does unless asked. */
  readonly againAt: Date | null;
}

/** One asked for meanwhile still waits. */
export async function endReportFetch(
  postgres: Postgres,
  { integration, dueAt }: DueFetch,
  { problem, kept, againAt }: EndedFetch,
  now: Date,
): Promise<void> {
  const ended = problem === null ? "done" : "failed";
  const row = { integration, due_at: dueAt };
  await updateRow(postgres, "report_fetches", row, {
    state: againAt === null ? ended : "waiting",
    problem,
    kept,
    fetched_at: now,
    ...(againAt && { due_at: againAt }),
  });
}

type ReportFetch = Pick<ReportFetchView, "state" | "problem" | "kept"> & {
  readonly fetchedAt: Date | null;
};

export async function findReportFetch(
  postgres: Postgres,
  integration: string,
): Promise<ReportFetch> {
  const [row] = await postgres.query<ReportFetch>(
    `SELECT state, problem, kept, fetched_at AS "fetchedAt" FROM report_fetches
     WHERE integration = $1`,
    [integration],
  );
  return row ?? { state: "none", problem: null, kept: 0, fetchedAt: null };
}
