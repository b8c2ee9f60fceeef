/** `GET /v1/metrics/cohorts`. */
import { z } from "zod";
import { unprocessable } from "../../schemas/http/errors.js";
import type { DefinitionName } from "../../schemas/definitions/index.js";
import { textOfRows } from "../../stores/clickhouse/rows.js";
import { checkDefined, otherThanOurs } from "../mrr-compare/defined.js";
import type { AsOf } from "../reading/as-of.js";
import { cellOf } from "../reading/metric-filters.js";
import { checkRange, textOf } from "../reading/reading.js";
import { figuresRoute } from "../reading/routes.js";
import { checkComparison } from "../summary/period.js";
import type { CohortsTexts } from "./answer.js";
import { type CohortMeasure, definedCohorts } from "./defined.js";
import { accountCohortsQuery, cohortsQuery } from "./query.js";
import { cohortsQueryParameters, accountCohortsAnswer, cohortsAnswer } from "./schema.js";
import { comparedVintages, vintagesIn } from "./vintages.js";

export const cohortsRoute = figuresRoute(
  {
    path: "/v1/metrics/cohorts",
    summary: "Net (and gross) revenue retention, or accounts kept, by vintage",
    query: cohortsQueryParameters,
    answer: z.union([cohortsAnswer, accountCohortsAnswer]),
  },
  async (asked) => {
    const { service, access, query, asOf, clocks } = asked;
    const { interval = "month", compare, compare_known_at: knownAt = null } = query;
    const part = await asked.narrowed(query);
    const { provider, accounts } = part;
    const name = otherThanOurs(query.definition);
    if (name !== null) checkDefined(part);
    const isGross = query.gross === "true";
    if (isGross && query.basis === "accounts") {
      throw unprocessable("gross_of_accounts", "Accounts do not grow: net is gross.", "gross");
    }
    checkRange(query);
    checkComparison(query, clocks);
    const cell = cellOf(part, await asked.catalogue());
    const isOfAccounts = query.basis === "accounts";
    const isByAccount = isOfAccounts && !cell.hasWholeAccounts;
    const vintages = vintagesIn(query, interval);
    const others =
      compare === undefined || compare === "known_then"
        ? undefined
        : comparedVintages(vintages, compare, interval, asOf.at);
    const { baseCurrency: currency } = access;
    const readDefined = async (of: AsOf, by: DefinitionName): Promise<CohortsTexts> => {
      const defined = { service, name: by, currency, clocks, provider, accounts };
      const first = Math.min(vintages.first, others?.first ?? vintages.first);
      const wanted: CohortMeasure[] = [isOfAccounts ? "accounts" : "mrr"];
      if (isGross) wanted.push("gross");
      const [changes = [], gross = null] = await definedCohorts(
        defined,
        of,
        { interval, first },
        wanted,
      );
      return {
        changes: textOfRows(changes),
        gross: gross && textOfRows(gross),
        vintages,
      };
    };
    const read = async (of: AsOf): Promise<CohortsTexts> => {
      if (name !== null) return readDefined(of, name);
      const [changes, gross] = await Promise.all([
        textOf(
          service,
          isByAccount
            ? accountCohortsQuery(of, cell, "accounts")
            : cohortsQuery(of, cell, isOfAccounts ? "accounts" : "mrr"),
        ),
        isGross ? textOf(service, accountCohortsQuery(of, cell, "gross")) : null,
      ]);
      return { changes, gross, vintages };
    };
    const [now, then] = await Promise.all([
      read(asOf),
      compare === "known_then" ? read({ ...asOf, knownAt }) : null,
    ]);
    // Other vintages are in what was read already.
    const compared = others && { ...now, vintages: others };
    return {
      answer: "cohortsAnswer",
      basis: isOfAccounts ? "accounts" : "mrr",
      asked: now,
      hasAverage: query.average === "true" || compare !== undefined,
      compared: others === undefined ? (then ?? undefined) : compared,
      at: asOf.at,
      interval: query.interval,
      currency,
      definition: name,
    };
  },
);
