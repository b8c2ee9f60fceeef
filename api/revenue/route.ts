/** `GET /v1/metrics/revenue`: sums of the ledger over time. */
import { limits } from "../../config.js";
import { revenueRows, revenueTable } from "../exports/tables.js";
import { type Groups, type MemberSize, largestGroups } from "../reading/groups.js";
import { cellOf } from "../reading/metric-filters.js";
import { firstRowOf, rowsOf } from "../reading/reading.js";
import { type ReadApi, figuresRoute } from "../reading/routes.js";
import { type Series, readSeries, tooLong } from "../reading/series.js";
import { checkComparison, comparedPeriod, periodOf } from "../summary/period.js";
import { presentRevenue } from "./presenter.js";
import {
  type ReportedRow,
  type RevenueSumsRow,
  reportedQuery,
  revenueQuery,
  revenueSizesQuery,
} from "./query.js";
import { type RevenueAnswer, revenueQueryParameters } from "./schema.js";

export function revenueRoute(api: ReadApi): void {
  const { service } = api;
  const path = "/v1/metrics/revenue";
  figuresRoute(api, path, revenueQueryParameters, "money", async (asked) => {
    const { access, query, asOf, clocks } = asked;
    const first = query.from === undefined ? await firstRowOf(service, "ledger", asOf) : null;
    const series = readSeries(query, asOf, first);
    const { group_by: group, groups: groupsMax = limits.seriesGroupsMax } = query;
    const catalogue = await asked.catalogue();
    const cell = cellOf(query, catalogue);
    checkComparison(query, clocks);
    const { compare, compare_known_at: knownAt = null } = query;
    const period = periodOf(series, asOf.at);
    const days = { ...query, interval: series.interval };
    const other = compare && comparedPeriod(period, days, compare, knownAt)?.series;
    const readGroups = async () => {
      if (group === undefined) return undefined;
      const sizes = await rowsOf<MemberSize>(service, revenueSizesQuery(series, cell, group));
      return largestGroups(group, sizes, groupsMax, catalogue);
    };
    const read = async (of: Series, groups: Groups | undefined) => {
      const [sums, reported] = await Promise.all([
        rowsOf<RevenueSumsRow>(service, revenueQuery(of, cell, groups, limits.seriesRowsMax)),
        rowsOf<ReportedRow>(service, reportedQuery(of, cell, groups)),
      ]);
      if (sums.length > limits.seriesRowsMax) throw tooLong("rows");
      return presentRevenue(sums, reported, of, groups, access.baseCurrency);
    };
    const [asWanted, compared] = await Promise.all([
      readGroups().then((groups) => read(series, groups)),
      other ? read(other, undefined) : null,
    ]);
    const data: RevenueAnswer["data"] = {
      ...asWanted,
      ...(compare === undefined ? {} : { compare: compared?.totals ?? null }),
    };
    return { data, table: () => [revenueTable(group), revenueRows(data)] };
  });
}
