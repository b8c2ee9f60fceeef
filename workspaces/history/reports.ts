/** Stores' reports of a month, as they were uploaded or fetched last, beside what is booked. */
import { z } from "zod";
import type { Provider } from "../../providers/provider.js";
import type { ReportOf, ReportSum, StoreReport } from "../../providers/reports/report.js";
import type { ReportKind, ReportSource } from "../../schemas/http/reports.js";
import type { ClickHouse } from "../../stores/clickhouse/clickhouse.js";
import { clickhouseTime } from "../../stores/clickhouse/rows.js";
import type { Postgres } from "../../stores/postgres/postgres.js";
import { durably } from "../../stores/postgres/rows.js";
import type { Integration } from "../integrations.js";
import { NothingReported, ReportRefused, reportText } from "./report-file.js";

/** Of one integration that are listed: four kinds in ten years. */
const reportsListedMax = 480;
/** Products times currencies of one month. */
const bookedSumsMax = 20_000;

/** @throws ReportRefused */
export async function readReport(
  bytes: Buffer,
  { reports, token }: Pick<Provider, "reports" | "token">,
  { credentials }: Pick<Integration, "credentials">,
): Promise<StoreReport> {
  if (reports === undefined) throw new ReportRefused(`${token} has no reports to read.`);
  const [current] = credentials;
  if (current === undefined) throw new ReportRefused("The integration has no credentials yet.");
  const read = reports.read(await reportText(bytes), current);
  const refusal = (why: string): string => `The file is no report that is read here: ${why}.`;
  if (typeof read === "string") throw new ReportRefused(refusal(read));
  if ("nothing" in read) throw new NothingReported(refusal(read.nothing));
  return read;
}

export interface KeptReport extends Pick<StoreReport, "kind" | "month" | "lines"> {
  readonly source: ReportSource;
  readonly from: Date;
  readonly to: Date;
  readonly uploadedAt: Date;
}

const columns = `kind, month, source, lines, from_at AS "from", to_at AS "to",
  uploaded_at AS "uploadedAt"`;

/** Replaces the one of the same kind and month. */
export async function keepReport(
  postgres: Postgres,
  integration: string,
  report: StoreReport,
  source: ReportSource,
  now: Date,
): Promise<void> {
  const { kind, month, from, to, lines, sums, proceeds } = report;
  await durably(
    postgres,
    `INSERT INTO store_reports (integration, kind, month, from_at, to_at, lines, sums, proceeds,
       uploaded_at, source)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
     ON CONFLICT (integration, kind, month) DO UPDATE
     SET from_at = excluded.from_at, to_at = excluded.to_at, lines = excluded.lines,
       sums = excluded.sums, proceeds = excluded.proceeds, uploaded_at = excluded.uploaded_at,
       source = excluded.source`,
    [
      integration,
      kind,
      month,
      new Date(from),
      new Date(to),
      lines,
      asText(sums),
      asText(proceeds),
      now,
      source,
    ],
  );
}

function asText(value: unknown): string {
  return JSON.stringify(value, (_key, of: unknown) => (typeof of === "bigint" ? `${of}` : of));
}

/** @returns false: there is none */
export async function deleteReport(
  postgres: Postgres,
  integration: string,
  { kind, month }: ReportOf,
): Promise<boolean> {
  const rows = await postgres.query(
    `DELETE FROM store_reports WHERE integration = $1 AND kind = $2 AND month = $3
     RETURNING month`,
    [integration, kind, month],
  );
  return rows.length > 0;
}

/** Stores add to a month for some days after its end. */
const settledAfter = "7 days";

/** YYYY-MM of the months that need not be fetched: what a person uploaded is never replaced. */
export async function settledReports(
  postgres: Postgres,
  integration: string,
  kind: ReportKind,
): Promise<ReadonlySet<string>> {
  const rows = await postgres.query<{ month: string }>(
    `SELECT month FROM store_reports WHERE integration = $1 AND kind = $2
       AND (source = 'file' OR uploaded_at >= to_at + interval '${settledAfter}')`,
    [integration, kind],
  );
  return new Set(rows.map(({ month }) => month));
}

const minor = z.string().transform(BigInt);
const currencySums = z.array(z.object({ currency: z.string(), paid: minor, refunded: minor }));
const keptSums = z.array(currencySums.element.extend({ product: z.string() }));
const keptProceeds = z.array(z.object({ currency: z.string(), amount: minor }));

interface Row extends KeptReport {
  readonly sums: unknown;
  readonly proceeds: unknown;
}

export interface ListedReport extends KeptReport, Pick<StoreReport, "proceeds"> {
  /** By currency. */
  readonly sums: z.output<typeof currencySums>;
}

/** The newest first. */
export async function listReports(
  postgres: Postgres,
  integration: string,
): Promise<ListedReport[]> {
  const rows = await postgres.query<Row>(
    `SELECT ${columns}, proceeds,
       (SELECT coalesce(jsonb_agg(by_currency ORDER BY by_currency.currency), '[]') FROM (
          SELECT sum->>'currency' AS currency, sum((sum->>'paid')::numeric)::text AS paid,
            sum((sum->>'refunded')::numeric)::text AS refunded
          FROM jsonb_array_elements(sums) AS sum GROUP BY 1) AS by_currency) AS sums
     FROM store_reports WHERE integration = $1 ORDER BY month DESC, kind LIMIT $2`,
    [integration, reportsListedMax],
  );
  return rows.map((row) => ({
    ...row,
    sums: currencySums.parse(row.sums),
    proceeds: keptProceeds.parse(row.proceeds),
  }));
}

export interface WholeReport extends KeptReport, Pick<StoreReport, "sums" | "proceeds"> {}

export async function findReport(
  postgres: Postgres,
  integration: string,
  { kind, month }: ReportOf,
): Promise<WholeReport | null> {
  const [row] = await postgres.query<Row>(
    `SELECT ${columns}, sums, proceeds FROM store_reports
     WHERE integration = $1 AND kind = $2 AND month = $3`,
    [integration, kind, month],
  );
  if (row === undefined) return null;
  return { ...row, sums: keptSums.parse(row.sums), proceeds: keptProceeds.parse(row.proceeds) };
}

/** YYYY-MM of each month that has one. */
export async function reportedMonths(
  postgres: Postgres,
  integration: string,
): Promise<ReadonlySet<string>> {
  const rows = await postgres.query<{ month: string }>(
    "SELECT DISTINCT month FROM store_reports WHERE integration = $1",
    [integration],
  );
  return new Set(rows.map(({ month }) => month));
}

/**
 * What is booked of an integration in the time that a report covers; refunds and disputes when they
 * happened, as the stores report them. No report has what was bought in a sandbox.
 */
export async function bookedSums(
  {
    clickhouse,
    postgres,
  }: { readonly clickhouse: Pick<ClickHouse, "rows">; readonly postgres: Postgres },
  { id, workspace, provider }: Pick<Integration, "id" | "workspace" | "provider">,
  { from, to }: Pick<KeptReport, "from" | "to">,
): Promise<ReportSum[]> {
  // Where there is only one, nothing needs to be told apart.
  const [{ others } = { others: 0 }] = await postgres.query<{ others: number }>(
    `SELECT count(*)::int AS others FROM integrations
     WHERE workspace = $1 AND provider = $2 AND id <> $3`,
    [workspace, provider, id],
  );
  const own = `AND event_id GLOBAL IN (SELECT DISTINCT event_id FROM raw_events
    WHERE workspace = {workspace:String} AND integration = {id:String})`;
  const rows = await clickhouse.rows<Record<"product" | "currency" | "paid" | "refunded", string>>(
    `SELECT external_id AS product, currency,
       toString(sumIf(toInt128(original_amount), kind = 'sale')) AS paid,
       toString(-sumIf(toInt128(original_amount), kind <> 'sale')) AS refunded
     FROM ledger
     WHERE workspace = {workspace:String} AND environment = 'live'
       AND provider = {provider:String}
       AND happened_at >= {from:DateTime64(3, 'UTC')} AND happened_at < {to:DateTime64(3, 'UTC')}
       ${others > 0 ? own : ""}
     GROUP BY product, currency LIMIT {rows:UInt32}`,
    {
      workspace,
      provider,
      from: clickhouseTime(from.getTime()),
      to: clickhouseTime(to.getTime()),
      rows: bookedSumsMax,
      ...(others > 0 && { id }),
    },
  );
  return rows.map(({ product, currency, paid, refunded }) => ({
    product,
    currency,
    paid: BigInt(paid),
    refunded: BigInt(refunded),
  }));
}
