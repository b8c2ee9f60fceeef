/** `GET /v1/metrics/summary`: MRR and the ratios made of it. */
import type { ClickHouse } from "../../stores/clickhouse/clickhouse.js";
import { limits } from "../../config.js";
import { movementSeriesQuery } from "../movement-series/query.js";
import { type Cell, cellOf } from "../reading/metric-filters.js";
import { firstRowOf, textOf } from "../reading/reading.js";
import { figuresRoute } from "../reading/routes.js";
import type { SummaryTexts } from "./answer.js";
import { movementKindsQuery } from "./movement-kinds.js";
import { type Period, checkComparison, comparedPeriod, readPeriod } from "./period.js";
import { type SummaryQuery, summaryQueryParameters, summaryAnswer } from "./schema.js";

export const summaryRoute = figuresRoute(
  {
    path: "/v1/metrics/summary",
    summary: "ARR, ARPA, churn, quick ratio and LTV",
    description: "Rates look back 30 days from `at`.",
    query: summaryQueryParameters,
    answer: summaryAnswer,
  },
  async (asked) => {
    const { service, access, query, asOf, clocks } = asked;
    const { from, interval, compare, compare_known_at: knownAt = null } = query;
    const isOpen = interval !== undefined && from === undefined;
    const first = isOpen ? await firstRowOf(service, "mrr_movements", asOf) : null;
    const period = readPeriod(query, asOf, first);
    checkComparison(query, clocks);
    const other = compare === undefined ? null : comparedPeriod(period, query, compare, knownAt);
    const cell = cellOf(await asked.narrowed(query), await asked.catalogue());
    const of = { currency: access.baseCurrency, hasAccounts: cell.hasWholeAccounts };
    const read = (time: Period) => readSummary(service.clickhouse, time, query, cell);
    const [figures, compared] = await Promise.all([read(period), other && read(other)]);
    return {
      answer: "summaryAnswer",
      asked: figures,
      compared: compare === undefined ? undefined : compared,
      isSeries: interval !== undefined,
      of,
    };
  },
);

async function readSummary(
  clickhouse: Pick<ClickHouse, "rows" | "text">,
  period: Period,
  { interval }: Pick<SummaryQuery, "interval">,
  cell: Cell,
): Promise<SummaryTexts> {
  const { series, asOf } = period;
  const query =
    series === null || interval === undefined
      ? movementKindsQuery(asOf, period.before, cell)
      : movementSeriesQuery(asOf, series, cell, undefined, limits.seriesRowsMax);
  return { period, sums: await textOf({ clickhouse }, query) };
}
