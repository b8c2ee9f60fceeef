/** `GET /v1/metrics/cohorts`. */
import { unprocessable } from "../../http/errors.js";
import { cellOf } from "../reading/metric-filters.js";
import { textOf } from "../reading/reading.js";
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
    const isOfAccounts = query.basis === "accounts";
    const isByAccount = isOfAccounts && !cell.hasWholeAccounts;
    const [changes, gross] = await Promise.all([
      textOf(
        api.service,
        isByAccount
          ? accountCohortsQuery(asOf, cell, "accounts")
          : cohortsQuery(asOf, cell, isOfAccounts ? "accounts" : "mrr"),
      ),
      isGross ? textOf(api.service, accountCohortsQuery(asOf, cell, "gross")) : null,
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
