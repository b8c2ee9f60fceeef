/**
 * How the money of each month is known of one integration: reported by webhook as it happened, read
 * afterwards from the provider's API or its export, by a report of its sums only, or not at all.
 * Derived from the journal, the backfills and the reports.
 */
import { fromClickhouseTime } from "../../stores/clickhouse/rows.js";
import type { ClickHouse } from "../../stores/clickhouse/clickhouse.js";
import type { Postgres } from "../../stores/postgres/postgres.js";
import { ExpiringCache } from "../../runtime/expiring-cache.js";
import type { CoverageView } from "../../schemas/http/manage.js";
import { endedBackfills } from "./backfills.js";
import type { IntegrationRecord } from "../integration-records.js";
import { reportedMonths } from "./reports.js";
import { type Month, monthsOf, startOfMonth } from "../../schemas/months.js";

interface Source {
  readonly clickhouse: Pick<ClickHouse, "rows">;
  readonly postgres: Postgres;
}

/** @param now ms since 1970 */
export type CoverageOf = (
  workspace: string,
  integration: Pick<IntegrationRecord, "id" | "created_at">,
  now: number,
) => Promise<CoverageView>;

/** A look goes through the workspace's events; the first of them stays the first. */
const unseenFreshMs = 10_000;
const integrationsKeptMax = 10_000;

export function openCoverage({ clickhouse, postgres }: Source): CoverageOf {
  const firstWebhooks = new ExpiringCache<number | null>({
    ttlMs: unseenFreshMs,
    ttlMsOf: (first) => (first === null ? unseenFreshMs : Number.POSITIVE_INFINITY),
    entriesMax: integrationsKeptMax,
    load: (name) => {
      const [workspace = "", integration = ""] = name.split(" ");
      return firstWebhookOf(clickhouse, workspace, integration);
    },
  });
  return async (workspace, { id, created_at: createdAt }, now) => {
    const [webhooksSince, backfills, reported] = await Promise.all([
      firstWebhooks.get(`${workspace} ${id}`),
      endedBackfills(postgres, id),
      reportedMonths(postgres, id),
    ]);
    const read = backfills.map(({ from, to, source }) => ({
      from: from.getTime(),
      to: to.getTime(),
      source,
    }));
    const months = coverageMonths(
      { since: createdAt.getTime(), webhooksSince, read, reported },
      now,
    );
    const until = unreadUntil(months, webhooksSince);
    return { months, unread_until: until === null ? null : new Date(until).toISOString() };
  };
}

interface Known {
  /** When the integration was made, ms since 1970. */
  readonly since: number;
  /** When its first webhook call was taken; null: none came. */
  readonly webhooksSince: number | null;
  /** Spans that backfills have read to their ends. */
  readonly read: readonly {
    readonly from: number;
    readonly to: number;
    readonly source: "api" | "export";
  }[];
  /** YYYY-MM of each month of which a store's report is kept. */
  readonly reported: ReadonlySet<string>;
}

/** Every month since the earliest of anything, to the present one. */
export function coverageMonths(
  { since, webhooksSince, read, reported }: Known,
  now: number,
): CoverageView["months"] {
  const begun = [...reported].map((month) => Date.parse(`${month}-01T00:00:00Z`));
  const from = Math.min(since, webhooksSince ?? since, ...read.map((span) => span.from), ...begun);
  return monthsOf({ from, to: now }).map((month) => {
    const known = knownBy(month, webhooksSince ?? Number.POSITIVE_INFINITY, read);
    const isReported = known === "none" && reported.has(month.month);
    return { month: month.month, known_by: isReported ? "report" : known };
  });
}

/** @returns ms since 1970; null where all is known, and before the first webhook */
export function unreadUntil(
  months: CoverageView["months"],
  webhooksSince: number | null,
): number | null {
  // A report has sums, and no payments that figures could be made of.
  const last = months.findLast(({ known_by: by }) => by === "none" || by === "report");
  if (last === undefined || webhooksSince === null) return null;
  return Math.min(startOfMonth(Date.parse(`${last.month}-01T00:00:00Z`), 1), webhooksSince);
}

/** The month in which webhooks began needs a backfill for its days before. */
function knownBy(
  { month, to }: Month,
  webhooksSince: number,
  read: Known["read"],
): CoverageView["months"][number]["known_by"] {
  const start = Date.parse(`${month}-01T00:00:00Z`);
  if (webhooksSince <= start) return "webhook";
  const until = Math.min(to, webhooksSince);
  const whole = read.filter((span) => span.from <= start && span.to >= until);
  // What an API lists may be newer than a file.
  return whole.find(({ source }) => source === "api")?.source ?? whole[0]?.source ?? "none";
}

/** ms since 1970; null: none came. */
export async function firstWebhookOf(
  clickhouse: Source["clickhouse"],
  workspace: string,
  integration: string,
): Promise<number | null> {
  const [row] = await clickhouse.rows<{ first: string; events: string }>(
    `SELECT min(received_at) AS first, toString(count()) AS events FROM raw_events
     WHERE workspace = {workspace:String} AND integration = {integration:String}
       AND form = 'webhook'`,
    { workspace, integration },
  );
  return row === undefined || row.events === "0" ? null : fromClickhouseTime(row.first);
}
