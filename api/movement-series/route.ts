/** `GET /v1/metrics/mrr/movements`: MRR as balances and what moved them. */
import { limits } from "../../config.js";
import { type MemberSize, hasFewMembers, largestGroups } from "../reading/groups.js";
import { movementKinds } from "../../schemas/records/records.js";
import { checkDefined, definedMovements, otherThanOurs } from "../mrr-compare/defined.js";
import { textOfRows } from "../../stores/clickhouse/rows.js";
import { cellOf } from "../reading/metric-filters.js";
import { firstRowOf, rowsOf, textOf } from "../reading/reading.js";
import { type ReadApi, figuresRoute } from "../reading/routes.js";
import { type Series, readSeries } from "../reading/series.js";
import { checkComparison, comparedPeriod, periodOf } from "../summary/period.js";
import type { MovementsTexts } from "./answer.js";
import { movementSeriesQuery, movementSizesQuery } from "./query.js";
import { movementsQueryParameters } from "./schema.js";

export function movementsRoute(api: ReadApi): void {
  const { service } = api;
  const path = "/v1/metrics/mrr/movements";
  figuresRoute(api, path, movementsQueryParameters, "all", async (asked) => {
    const { access, query, asOf, clocks } = asked;
    const first =
      query.from === undefined ? await firstRowOf(service, "mrr_movements", asOf) : null;
    const series = readSeries(query, asOf, first);
    checkComparison(query, clocks);
    const { compare, compare_known_at: knownAt = null } = query;
    const period = periodOf(series, asOf.at);
    const days = { ...query, interval: series.interval };
    const other = compare && comparedPeriod(period, days, compare, knownAt)?.series;
    const catalogue = await asked.catalogue();
    const part = await asked.narrowed(query);
    const cell = cellOf(part, catalogue);
    const { group_by: group, groups: groupsMax = limits.seriesGroupsMax } = query;
    const name = otherThanOurs(query.definition);
    if (name !== null) checkDefined(part);
    const { provider, accounts } = part;
    const { baseCurrency: currency } = access;
    const readSums = async (of: Series, groups: MovementsTexts["groups"]): Promise<string> => {
      if (name !== null) {
        return textOfRows(
          await definedMovements({ service, name, currency, clocks, provider, accounts }, of),
        );
      }
      return textOf(service, movementSeriesQuery(of.asOf, of, cell, groups, limits.seriesRowsMax));
    };
    const readGroups = async (of: Series) => {
      if (group === undefined) return undefined;
      // Of each kind and interval, and of what happened before the first one.
      const rowsOfOne = movementKinds.length * (of.parts.length + 1);
      if (hasFewMembers(group, rowsOfOne)) return { by: group, groupsMax };
      const sizes = movementSizesQuery(of.asOf, of, cell, group);
      return largestGroups(group, await rowsOf<MemberSize>(service, sizes), groupsMax, catalogue);
    };
    const read = async (of: Series, groups: MovementsTexts["groups"]): Promise<MovementsTexts> => {
      return { series: of, groups, sums: await readSums(of, groups) };
    };
    const readGrouped = async (of: Series) => read(of, await readGroups(of));
    // Of the other time, JSON shows only the totals; a table shows all rows.
    const isTable = asked.format !== null;
    const [asWanted, compared] = await Promise.all([
      readGrouped(series),
      other ? (isTable ? readGrouped(other) : read(other, undefined)) : null,
    ]);
    return {
      answer: "movementsAnswer",
      asked: asWanted,
      compared: compare === undefined ? undefined : compared,
      hasWholeAccounts: cell.hasWholeAccounts,
      currency,
      definition: name,
    };
  });
}
