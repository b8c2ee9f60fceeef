/** `GET /v1/metrics/revenue`: sums of the ledger over time. */
import { limits } from "../../config.js";
import type { CellGroup } from "../../schemas/http/series.js";
import { revenueRows, revenueTable } from "../exports/tables.js";
import { cellOf } from "../reading/metric-filters.js";
import { firstRowOf, rowsOf } from "../reading/reading.js";
import { type ReadApi, figuresRoute } from "../reading/routes.js";
import { type Series, readSeries, tooLong } from "../reading/series.js";
import { checkComparison, comparedPeriod, periodOf } from "../summary/period.js";
import { presentRevenue } from "./presenter.js";
import { type ReportedRow, type RevenueSumsRow, reportedQuery, revenueQuery } from "./query.js";
import { type RevenueAnswer, revenueQueryParameters } from "./schema.js";

export function revenueRoute(api: ReadApi): void {
  const { service } = api;
  const path = "/v1/metrics/revenue";
  figuresRoute(api, path, revenueQueryParameters, "money", async (asked) => {
    const { access, query, asOf, clocks } = asked;
    const first = query.from === undefined ? await firstRowOf(service, "ledger", asOf) : null;
    const series = readSeries(query, asOf, first);
    const group = query.group_by;
    const catalogue = await asked.catalogue();
    const cell = cellOf(query, catalogue);
    checkComparison(query, clocks);
    const { compare, compare_known_at: knownAt = null } = query;
    const period = periodOf(series, asOf.at);
    const days = { ...query, interval: series.interval };
    const other = compare && comparedPeriod(period, days, compare, knownAt)?.series;
    const read = async (of: Series, by: CellGroup | undefined) => {
      const [sums, reported] = await Promise.all([
        rowsOf<RevenueSumsRow>(service, revenueQuery(of, cell, by, limits.seriesRowsMax)),
        rowsOf<ReportedRow>(service, reportedQuery(of, cell, by)),
      ]);
      if (sums.length > limits.seriesRowsMax) throw tooLong("rows");
      return presentRevenue(sums, reported, of, by, catalogue, access.baseCurrency);
    };
    const [asWanted, compared] = await Promise.all([
      read(series, group),
      other ? read(other, undefined) : null,
    ]);
    const data: RevenueAnswer["data"] = {
      ...asWanted,
      ...(compare === undefined ? {} : { compare: compared?.totals ?? null }),
    };
    return { data, table: () => [revenueTable(group), revenueRows(data)] };
  });
}
