/** `GET /v1/metrics/mrr/movements`: MRR as balances and what moved them. */
import { limits } from "../../config.js";
import { type MemberSize, hasFewMembers, largestGroups } from "../reading/groups.js";
import { movementKinds } from "../../schemas/records/records.js";
import { checkDefined, definedMovements, otherThanOurs } from "../mrr-compare/defined.js";
import { textOfRows } from "../../stores/clickhouse/rows.js";
import { cellOf } from "../reading/metric-filters.js";
import { readBeside } from "../reading/beside.js";
import { rowsOf, textOf } from "../reading/reading.js";
import { figuresRoute } from "../reading/routes.js";
import type { Series } from "../reading/series.js";
import type { MovementsTexts } from "./answer.js";
import { movementSeriesQuery, movementSizesQuery } from "./query.js";
import { movementsQueryParameters, movementsAnswer } from "./schema.js";

export const movementsRoute = figuresRoute(
  {
    path: "/v1/metrics/mrr/movements",
    summary: "MRR as balances and the movements between them",
    description:
      "For each interval `start_mrr` and the six movements make `end_mrr`, exactly, in the " +
      "whole and in the part of a provider, product, currency, country or plan interval.",
    query: movementsQueryParameters,
    answer: movementsAnswer,
  },
  async (asked) => {
    const { service, access, query, clocks } = asked;
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
    const groupsOf = async (of: Series): Promise<MovementsTexts["groups"]> => {
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
    return {
      answer: "movementsAnswer",
      ...(await readBeside(asked, "mrr_movements", groupsOf, read)),
      hasWholeAccounts: cell.hasWholeAccounts,
      currency,
      definition: name,
    };
  },
);
