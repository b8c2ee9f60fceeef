/** Comparisons of months with a provider's list: asked for, and what each found last. */
import { type MonthReport, monthReport } from "../../schemas/reconciliation.js";
import { News } from "../../runtime/lookout.js";
import type { Postgres } from "../../stores/postgres/postgres.js";
import { updateRow } from "../../stores/postgres/rows.js";

export interface Reconciliation {
  readonly integration: string;
  /** YYYY-MM */
  readonly month: string;
  readonly state: "waiting" | "done" | "failed";
  /** Why it waits or failed. */
  readonly problem: string | null;
  readonly comparedAt: Date | null;
  /** Of `comparedAt`. */
  readonly report: MonthReport | null;
}

const columns = `integration, month, state, problem, compared_at AS "comparedAt", report`;

export const reconciliationNews = new News();

/** @param comparedBefore leaves out months that wait, or were compared since; null: takes all */
export async function askReconciliations(
  postgres: Postgres,
  { integration, months }: { readonly integration: string; readonly months: readonly string[] },
  dueAt: Date,
  comparedBefore: Date | null = null,
): Promise<void> {
  await postgres.query(
    `INSERT INTO reconciliations AS known (integration, month, state, due_at)
     SELECT $1, month, 'waiting', $3 FROM unnest($2::text[]) AS month
     ON CONFLICT (integration, month) DO UPDATE
       SET state = 'waiting', problem = NULL, due_at = excluded.due_at
       WHERE $4::timestamptz IS NULL OR (known.state <> 'waiting'
         AND (known.compared_at IS NULL OR known.compared_at < $4))`,
    [integration, months, dueAt, comparedBefore],
  );
  reconciliationNews.announce();
}

/** After its history was read: what was compared before, from that month on. */
export async function repeatReconciliations(
  postgres: Postgres,
  integration: string,
  from: Date,
  now: Date,
): Promise<void> {
  const rows = await postgres.query<{ month: string }>(
    "SELECT month FROM reconciliations WHERE integration = $1 AND month >= $2",
    [integration, from.toISOString().slice(0, 7)],
  );
  const months = rows.map(({ month }) => month);
  if (months.length > 0) await askReconciliations(postgres, { integration, months }, now);
}

export interface DueReconciliation extends Pick<Reconciliation, "integration" | "month"> {
  readonly dueAt: Date;
}

/** The one that has waited longest, the newest month first. */
export async function dueReconciliation(
  postgres: Postgres,
  now: Date,
): Promise<DueReconciliation | null> {
  const [row = null] = await postgres.query<DueReconciliation>(
    `SELECT integration, month, due_at AS "dueAt" FROM reconciliations
     WHERE state = 'waiting' AND due_at <= $1 ORDER BY due_at, integration, month DESC LIMIT 1`,
    [now],
  );
  return row;
}

export interface Compared {
  readonly report: MonthReport;
  readonly comparedAt: Date;
}
export interface NotCompared {
  readonly problem: string;
  /** It is tried again then; null: nobody does unless asked. */
  readonly againAt: Date | null;
}

/** What was found before stays until something else is. One asked for meanwhile still waits. */
export async function endReconciliation(
  postgres: Postgres,
  { integration, month, dueAt }: DueReconciliation,
  ended: Compared | NotCompared,
): Promise<void> {
  const changes =
    "report" in ended
      ? {
          state: "done",
          problem: null,
          compared_at: ended.comparedAt,
          report: JSON.stringify(ended.report),
        }
      : {
          state: ended.againAt === null ? "failed" : "waiting",
          problem: ended.problem,
          ...(ended.againAt && { due_at: ended.againAt }),
        };
  await updateRow(postgres, "reconciliations", { integration, month, due_at: dueAt }, changes);
}

/** @param from YYYY-MM, inclusive, as `to` */
export async function listReconciliations(
  postgres: Postgres,
  { integration, from, to }: Readonly<Record<"integration" | "from" | "to", string>>,
): Promise<Reconciliation[]> {
  const rows = await postgres.query<Reconciliation>(
    `SELECT ${columns} FROM reconciliations WHERE integration = $1 AND month BETWEEN $2 AND $3
     ORDER BY month`,
    [integration, from, to],
  );
  return rows.map((row) => ({
    ...row,
    // What is kept as JSON is read like any other JSON.
    report: row.report === null ? null : monthReport.parse(row.report),
  }));
}

/** The score of a month, as `/metrics` shows it; a deleted integration has none. */
export interface MonthScore {
  readonly integration: string;
  readonly month: string;
  /** Null: it was never compared. */
  readonly score: number | null;
  readonly differences: number | null;
  /** Payments whose fee or tax differs. */
  readonly costDifferences: number | null;
}

/** @param from YYYY-MM: the first month */
export async function monthScores(postgres: Postgres, from: string): Promise<MonthScore[]> {
  return postgres.query<MonthScore>(
    `SELECT integration, month, (report->>'score_pct')::float8 AS score,
       (report->>'differences_total')::int AS differences,
       (SELECT sum((cost->>'differing')::int) FROM jsonb_array_elements(report->'costs') AS cost
       )::int AS "costDifferences"
     FROM reconciliations JOIN integrations ON integrations.id = integration
     WHERE deleted_at IS NULL AND month >= $1 ORDER BY month DESC, integration`,
    [from],
  );
}

/** What differs in a month of an integration, as compared last; fees and taxes do not count. */
interface MonthDifferences extends Pick<MonthReport, "kinds"> {
  readonly month: string;
  readonly differences: number;
  readonly costs: readonly Pick<MonthReport["costs"][number], "kind" | "differing">[];
}

/**
 * Of the live environment.
 * @param integration null: all of the workspace @param from YYYY-MM: the first month
 */
export function differencesByMonth(
  postgres: Postgres,
  workspace: string,
  integration: string | null,
  from: string,
): Promise<MonthDifferences[]> {
  return postgres.query(
    `SELECT month, (report->>'differences_total')::int AS differences,
       coalesce(report->'kinds', '{}') AS kinds, coalesce(report->'costs', '[]') AS costs
     FROM reconciliations JOIN integrations ON integrations.id = integration
     WHERE workspace = $1 AND environment = 'live' AND deleted_at IS NULL AND report IS NOT NULL
       AND ($2::text IS NULL OR integration = $2) AND month >= $3`,
    [workspace, integration, from],
  );
}

/** Of each integration, the score of the last month that has one. @param to YYYY-MM, inclusive */
export function lastScores(
  postgres: Postgres,
  integrations: readonly string[],
  to: string,
): Promise<{ integration: string; month: string; score_pct: number; compared_at: Date }[]> {
  return postgres.query(
    `SELECT DISTINCT ON (integration) integration, month, compared_at,
       (report->>'score_pct')::float8 AS score_pct
     FROM reconciliations WHERE integration = ANY($1) AND month <= $2
       AND report->>'score_pct' IS NOT NULL
     ORDER BY integration, month DESC`,
    [integrations, to],
  );
}
