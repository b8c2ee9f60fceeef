/** `GET /v1/metrics/summary`: MRR and the ratios made of it. */
import type Router from "@koa/router";
import type { CatalogueView } from "../../catalogue/view.js";
import { requireKey } from "../../http/auth.js";
import { readQuery } from "../../http/query.js";
import { accessOf } from "../../http/state.js";
import type { Service } from "../../runtime/service.js";
import { limits } from "../../config.js";
import {
  type SummaryAnswer,
  type SummaryFigures,
  type SummaryQuery,
  summaryQueryParameters,
} from "./schema.js";
import { utcDay } from "../../schemas/money/rates.js";
import { readAsOf } from "../reading/as-of.js";
import { type Cell, cellOf } from "../reading/metric-filters.js";
import { formatOf } from "../exports/formats.js";
import { sendTable } from "../exports/send.js";
import { summaryRows, summaryTable } from "../exports/tables.js";
import { firstRowOf } from "../reading/first-row.js";
import { readMovements } from "../reading/movement-reading.js";
import { type Sums, plus, rowsByStart, sumsOf } from "../reading/movement-sums.js";
import { type SummaryOf, presentSummary } from "./presenter.js";
import { type MovementKindRow, movementKindsQuery } from "./movement-kinds.js";
import {
  type MovementSeriesRow,
  beforeAll,
  movementSeriesQuery,
} from "../movement-series/query.js";
import { type Period, checkComparison, comparedPeriod, readPeriod } from "./period.js";
import { clocksOf, completeText } from "../reading/reading.js";

export function summaryRoute(router: Router, service: Service, catalogues: CatalogueView): void {
  router.get("/v1/metrics/summary", requireKey(service, { scope: "read" }), async (ctx) => {
    const access = accessOf(ctx);
    const clocks = await clocksOf(service, access);
    const query = readQuery(ctx, summaryQueryParameters);
    const format = formatOf(ctx, query.format);
    const asOf = readAsOf(access, query, clocks);
    const { from, interval } = query;
    const isSeries = interval !== undefined && from === undefined;
    const first = isSeries ? await firstRowOf(service, "mrr_movements", asOf) : null;
    const period = readPeriod(query, asOf, first);
    checkComparison(query, clocks);
    const { compare, compare_known_at: knownAt } = query;
    const other =
      compare === undefined ? null : comparedPeriod(period, query, compare, knownAt ?? null);
    const cell = cellOf(query, await catalogues.of(access.workspace, access.environment));
    const of = { currency: access.baseCurrency, hasAccounts: cell.hasWholeAccounts };
    const [asked, compared] = await Promise.all([
      readSummary(service, period, query, cell, of),
      other === null ? null : readSummary(service, other, query, cell, of),
    ]);
    const data = {
      currency: access.baseCurrency,
      ...asked,
      ...(compare === undefined ? {} : { compare: compared }),
    };
    if (format !== null) {
      return sendTable(ctx, format, summaryTable(compare !== undefined), summaryRows(data), clocks);
    }
    ctx.body = {
      status: "success",
      data,
      complete_to: completeText(clocks),
    } satisfies SummaryAnswer;
  });
}

type SummaryCell = Pick<Cell, "condition" | "params" | "isOfSkus">;

async function readSummary(
  { clickhouse }: Pick<Service, "clickhouse">,
  period: Period,
  { interval }: Pick<SummaryQuery, "interval">,
  cell: SummaryCell,
  of: SummaryOf,
): Promise<SummaryFigures & { series?: SummaryFigures[] }> {
  const { series, asOf } = period;
  if (series === null || interval === undefined) {
    const rows = await readMovements<MovementKindRow>(
      clickhouse,
      (reading) => movementKindsQuery(reading, period.before, cell),
      asOf,
    );
    const [now, then] = (["now", "then"] as const).map((wanted) =>
      sumsOf(rows.filter(({ moment }) => moment === wanted)),
    );
    return presentSummary(now ?? sumsOf([]), then ?? sumsOf([]), period, of);
  }
  const rows = await readMovements<MovementSeriesRow>(
    clickhouse,
    (reading) => movementSeriesQuery(reading, series, cell, undefined, limits.seriesRowsMax),
    asOf,
  );
  const byStart = rowsByStart(rows);
  const first = sumsOf(byStart.get(beforeAll) ?? []);
  let sums: Sums = first;
  const figures = series.parts.map((part) => {
    const before = sums;
    sums = plus(before, sumsOf(byStart.get(utcDay(part.start)) ?? []));
    const days = { since: part.from, until: Math.min(part.to, period.until) };
    return presentSummary(sums, before, days, of);
  });
  return { ...presentSummary(sums, first, period, of), series: figures };
}
