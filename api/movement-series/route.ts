/** `GET /v1/metrics/mrr/movements`: MRR as balances and what moved them. */
import { limits } from "../../config.js";
import { type MemberSize, largestGroups } from "../reading/groups.js";
import { cellOf } from "../reading/metric-filters.js";
import { firstRowOf, rowsOf, textOf } from "../reading/reading.js";
import { type ReadApi, figuresRoute } from "../reading/routes.js";
import { readSeries } from "../reading/series.js";
import { movementSeriesQuery, movementSizesQuery } from "./query.js";
import { type MovementGroup, movementsQueryParameters } from "./schema.js";

export function movementsRoute(api: ReadApi): void {
  const { service } = api;
  const path = "/v1/metrics/mrr/movements";
  figuresRoute(api, path, movementsQueryParameters, "all", async (asked) => {
    const { access, query, asOf } = asked;
    const first =
      query.from === undefined ? await firstRowOf(service, "mrr_movements", asOf) : null;
    const series = readSeries(query, asOf, first);
    const catalogue = await asked.catalogue();
    const cell = cellOf(query, catalogue);
    const { group_by: group, groups: groupsMax = limits.seriesGroupsMax } = query;
    const groups = group && largestGroups(group, await readSizes(group), groupsMax, catalogue);
    const sums = await textOf(
      service,
      movementSeriesQuery(series.asOf, series, cell, groups, limits.seriesRowsMax),
    );
    return {
      answer: "movementsAnswer",
      sums,
      series,
      hasWholeAccounts: cell.hasWholeAccounts,
      groups,
      currency: access.baseCurrency,
    };

    function readSizes(by: MovementGroup): Promise<MemberSize[]> {
      return rowsOf(service, movementSizesQuery(series.asOf, series, cell, by));
    }
  });
}
