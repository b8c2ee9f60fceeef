/** `GET /v1/metrics/cohorts`. */
import { unprocessable } from "../../http/errors.js";
import { accountCohortsRows, cohortsRows, cohortsTable, tables } from "../exports/tables.js";
import type { AsOf } from "../reading/as-of.js";
import { cellOf } from "../reading/metric-filters.js";
import { rowsOf } from "../reading/reading.js";
import type { Query } from "../reading/query.js";
import { type ReadApi, figuresRoute } from "../reading/routes.js";
import { presentAccountCohorts, presentCohorts } from "./presenter.js";
import { type CohortRow, accountCohortsQuery, cohortsQuery } from "./query.js";
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
    const read = (queryAsOf: (reading: AsOf) => Query) =>
      rowsOf<CohortRow>(api.service, queryAsOf(asOf));

    const { interval } = query;
    if (query.basis === "accounts") {
      const accounts = await read((reading) =>
        cell.hasWholeAccounts
          ? cohortsQuery(reading, cell, "accounts")
          : accountCohortsQuery(reading, cell, "accounts"),
      );
      const cohorts = presentAccountCohorts(accounts, asOf.at, interval);
      const table = () => [tables.accountCohorts, accountCohortsRows(cohorts)] as const;
      return { data: { cohorts }, table };
    }
    const [net, gross] = await Promise.all([
      read((reading) => cohortsQuery(reading, cell)),
      isGross ? read((reading) => accountCohortsQuery(reading, cell, "gross")) : null,
    ]);
    const currency = access.baseCurrency;
    const cohorts = presentCohorts(net, asOf.at, currency, interval, gross);
    const table = () => [cohortsTable(isGross), cohortsRows(cohorts, currency)] as const;
    return { data: { cohorts }, table };
  });
}
