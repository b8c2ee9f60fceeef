/** `GET /v1/metrics/revenue`: sums of the ledger over time. */
import { limits } from "../../config.js";
import { type Groups, type MemberSize, largestGroups } from "../reading/groups.js";
import { cellOf } from "../reading/metric-filters.js";
import { readBeside } from "../reading/beside.js";
import { rowsOf, textOf } from "../reading/reading.js";
import { figuresRoute } from "../reading/routes.js";
import type { Series } from "../reading/series.js";
import type { RevenueTexts } from "./answer.js";
import { reportedQuery, revenueQuery, revenueSizesQuery } from "./query.js";
import { revenueQueryParameters, revenueAnswer } from "./schema.js";

export const revenueRoute = figuresRoute(
  {
    path: "/v1/metrics/revenue",
    summary: "Sales, refunds, disputes, tax and fees over time",
    query: revenueQueryParameters,
    answer: revenueAnswer,
  },
  async (asked) => {
    const { service, query } = asked;
    const { group_by: group, groups: groupsMax = limits.seriesGroupsMax } = query;
    const catalogue = await asked.catalogue();
    const cell = cellOf(await asked.narrowed(query), catalogue);
    const groupsOf = async (of: Series) => {
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
    return {
      answer: "revenueAnswer",
      ...(await readBeside(asked, "ledger", groupsOf, read)),
      group,
      currency: asked.access.baseCurrency,
    };
  },
);
