/** `GET /v1/metrics/cohorts`. */
import { unprocessable } from "../../http/errors.js";
import type { AsOf } from "../reading/as-of.js";
import { cellOf } from "../reading/metric-filters.js";
import { textOf } from "../reading/reading.js";
import type { Query } from "../reading/query.js";
import { type ReadApi, figuresRoute } from "../reading/routes.js";
import { accountCohortsQuery, cohortsQuery } from "./query.js";
import { cohortsQueryParameters } from "./schema.js";

export function cohortsRoute(api: ReadApi): void {
  const path = "/v1/metrics/cohorts";
  figuresRoute(api, path, cohortsQueryParameters, "all", async (asked) => {
    const { access, query, asOf } = asked;
    const isGross = query.gross === "true";
    if (isGross && query.basis === "accounts") {
      throw unprocessable("gross_of_accounts", "Accounts do not grow: net is gross.", "gross");
    }
    const cell = cellOf(query, await asked.catalogue());
    const read = (queryAsOf: (reading: AsOf) => Query) => textOf(api.service, queryAsOf(asOf));

    const isOfAccounts = query.basis === "accounts";
    const [changes, gross] = await Promise.all([
      read((reading) => {
        if (!isOfAccounts) return cohortsQuery(reading, cell);
        return cell.hasWholeAccounts
          ? cohortsQuery(reading, cell, "accounts")
          : accountCohortsQuery(reading, cell, "accounts");
      }),
      isGross ? read((reading) => accountCohortsQuery(reading, cell, "gross")) : null,
    ]);
    return {
      answer: "cohortsAnswer",
      basis: isOfAccounts ? "accounts" : "mrr",
      changes,
      gross,
      at: asOf.at,
      interval: query.interval,
      currency: access.baseCurrency,
    };
  });
}
