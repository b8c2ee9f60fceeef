/** `GET /v1/metrics/summary`: MRR and the ratios made of it. */
import type { ClickHouse } from "../../clickhouse/clickhouse.js";
import { limits } from "../../config.js";
import { utcDay } from "../../schemas/money/rates.js";
import { summaryRows, summaryTable } from "../exports/tables.js";
import {
  type MovementSeriesRow,
  beforeAll,
  movementSeriesQuery,
} from "../movement-series/query.js";
import { type Cell, cellOf } from "../reading/metric-filters.js";
import { type Sums, plus, sumsByStart, sumsOf } from "../reading/movement-sums.js";
import { firstRowOf, rowsOf } from "../reading/reading.js";
import { type ReadApi, figuresRoute } from "../reading/routes.js";
import { type MovementKindRow, movementKindsQuery } from "./movement-kinds.js";
import { type Period, checkComparison, comparedPeriod, readPeriod } from "./period.js";
import { type SummaryOf, presentSummary } from "./presenter.js";
import {
  type SummaryAnswer,
  type SummaryFigures,
  type SummaryQuery,
  summaryQueryParameters,
} from "./schema.js";

export function summaryRoute(api: ReadApi): void {
  const { service } = api;
  const path = "/v1/metrics/summary";
  figuresRoute(api, path, summaryQueryParameters, "all", async (asked) => {
    const { access, query, asOf, clocks } = asked;
    const { from, interval, compare, compare_known_at: knownAt = null } = query;
    const isSeries = interval !== undefined && from === undefined;
    const first = isSeries ? await firstRowOf(service, "mrr_movements", asOf) : null;
    const period = readPeriod(query, asOf, first);
    checkComparison(query, clocks);
    const other = compare === undefined ? null : comparedPeriod(period, query, compare, knownAt);
    const cell = cellOf(query, await asked.catalogue());
    const of = { currency: access.baseCurrency, hasAccounts: cell.hasWholeAccounts };
    const read = (time: Period) => readSummary(service.clickhouse, time, query, cell, of);
    const [figures, compared] = await Promise.all([read(period), other && read(other)]);
    const data: SummaryAnswer["data"] = {
      currency: access.baseCurrency,
      ...figures,
      ...(compare === undefined ? {} : { compare: compared }),
    };
    return { data, table: () => [summaryTable(compare !== undefined), summaryRows(data)] };
  });
}

async function readSummary(
  clickhouse: Pick<ClickHouse, "rows">,
  period: Period,
  { interval }: Pick<SummaryQuery, "interval">,
  cell: Cell,
  of: SummaryOf,
): Promise<SummaryFigures & { series?: SummaryFigures[] }> {
  const { series, asOf } = period;
  if (series === null || interval === undefined) {
    const rows = await rowsOf<MovementKindRow>(
      { clickhouse },
      movementKindsQuery(asOf, period.before, cell),
    );
    const sumsAt = (wanted: MovementKindRow["moment"]) =>
      sumsOf(rows.filter(({ moment }) => moment === wanted));
    return presentSummary(sumsAt("now"), sumsAt("then"), period, of);
  }
  const rows = await rowsOf<MovementSeriesRow>(
    { clickhouse },
    movementSeriesQuery(asOf, series, cell, undefined, limits.seriesRowsMax),
  );
  const sumsOfStart = sumsByStart(rows);
  const first = sumsOfStart(beforeAll);
  let sums: Sums = first;
  const figures = series.parts.map((part) => {
    const before = sums;
    sums = plus(before, sumsOfStart(utcDay(part.start)));
    const days = { since: part.from, until: Math.min(part.to, period.until) };
    return presentSummary(sums, before, days, of);
  });
  return { ...presentSummary(sums, first, period, of), series: figures };
}
