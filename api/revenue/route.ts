/** `GET /v1/metrics/revenue`: sums of the ledger over time. */
import { limits } from "../../config.js";
import { type Groups, type MemberSize, largestGroups } from "../reading/groups.js";
import { cellOf } from "../reading/metric-filters.js";
import { firstRowOf, rowsOf, textOf } from "../reading/reading.js";
import { type ReadApi, figuresRoute } from "../reading/routes.js";
import { type Series, readSeries } from "../reading/series.js";
import { checkComparison, comparedPeriod, periodOf } from "../summary/period.js";
import type { RevenueTexts } from "./answer.js";
import { reportedQuery, revenueQuery, revenueSizesQuery } from "./query.js";
import { revenueQueryParameters } from "./schema.js";

export function revenueRoute(api: ReadApi): void {
  const { service } = api;
  const path = "/v1/metrics/revenue";
  figuresRoute(api, path, revenueQueryParameters, "all", async (asked) => {
    const { access, query, asOf, clocks } = asked;
    const first = query.from === undefined ? await firstRowOf(service, "ledger", asOf) : null;
    const series = readSeries(query, asOf, first);
    const { group_by: group, groups: groupsMax = limits.seriesGroupsMax } = query;
    const catalogue = await asked.catalogue();
    const cell = cellOf(await asked.narrowed(query), catalogue);
    checkComparison(query, clocks);
    const { compare, compare_known_at: knownAt = null } = query;
    const period = periodOf(series, asOf.at);
    const days = { ...query, interval: series.interval };
    const other = compare && comparedPeriod(period, days, compare, knownAt)?.series;
    const readGroups = async (of: Series) => {
      if (group === undefined) return undefined;
      const sizes = await rowsOf<MemberSize>(service, revenueSizesQuery(of, cell, group));
      return largestGroups(group, sizes, groupsMax, catalogue);
    };
    const read = async (of: Series, groups: Groups | undefined): Promise<RevenueTexts> => {
      const [sums, reported] = await Promise.all([
        textOf(service, revenueQuery(of, cell, groups, limits.seriesRowsMax)),
        textOf(service, reportedQuery(of, cell, groups)),
      ]);
      return { series: of, groups, sums, reported };
    };
    const readGrouped = async (of: Series) => read(of, await readGroups(of));
    // Of the other time, JSON shows only the totals; a table shows all rows.
    const isTable = asked.format !== null;
    const [asWanted, compared] = await Promise.all([
      readGrouped(series),
      other ? (isTable ? readGrouped(other) : read(other, undefined)) : null,
    ]);
    return {
      answer: "revenueAnswer",
      asked: asWanted,
      compared: compare === undefined ? undefined : compared,
      group,
      currency: access.baseCurrency,
    };
  });
}
