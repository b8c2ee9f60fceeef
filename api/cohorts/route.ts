/** `GET /v1/metrics/cohorts`. */
import type Router from "@koa/router";
import type { CatalogueView } from "../../catalogue/view.js";
import { requireKey } from "../../http/auth.js";
import { unprocessable } from "../../http/errors.js";
import { readQuery } from "../../http/query.js";
import { accessOf } from "../../http/state.js";
import type { Service } from "../../runtime/service.js";
import { type AccountCohortsAnswer, type CohortsAnswer, cohortsQueryParameters } from "./schema.js";
import { type AsOf, readAsOf } from "../reading/as-of.js";
import { cellOf } from "../reading/metric-filters.js";
import { formatOf } from "../exports/formats.js";
import { sendTable } from "../exports/send.js";
import { accountCohortsRows, cohortsRows, cohortsTable, tables } from "../exports/tables.js";
import { readMovements } from "../reading/movement-reading.js";
import { presentAccountCohorts, presentCohorts } from "./presenter.js";
import { type CohortRow, accountCohortsQuery, cohortsQuery } from "./query.js";
import type { Query } from "../reading/query.js";
import { clocksOf, completeText } from "../reading/reading.js";

export function cohortsRoute(router: Router, service: Service, catalogues: CatalogueView): void {
  router.get("/v1/metrics/cohorts", requireKey(service, { scope: "read" }), async (ctx) => {
    const access = accessOf(ctx);
    const clocks = await clocksOf(service, access);
    const query = readQuery(ctx, cohortsQueryParameters);
    const format = formatOf(ctx, query.format);
    const isGross = query.gross === "true";
    if (isGross && query.basis === "accounts") {
      throw unprocessable("gross_of_accounts", "Accounts do not grow: net is gross.", "gross");
    }
    const asOf = readAsOf(access, query, clocks);
    const cell = cellOf(query, await catalogues.of(access.workspace, access.environment));
    const read = (rowsAsOf: (reading: AsOf) => Query) =>
      readMovements<CohortRow>(service.clickhouse, rowsAsOf, asOf);

    const { interval } = query;
    if (query.basis === "accounts") {
      const accounts = await read((reading) =>
        cell.hasWholeAccounts
          ? cohortsQuery(reading, cell, "accounts")
          : accountCohortsQuery(reading, cell, "accounts"),
      );
      const cohorts = presentAccountCohorts(accounts, asOf.at, interval);
      if (format !== null) {
        return sendTable(ctx, format, tables.accountCohorts, accountCohortsRows(cohorts), clocks);
      }
      ctx.body = {
        status: "success",
        data: { cohorts },
        complete_to: completeText(clocks),
      } satisfies AccountCohortsAnswer;
      return;
    }
    const [net, gross] = await Promise.all([
      read((reading) => cohortsQuery(reading, cell)),
      isGross ? read((reading) => accountCohortsQuery(reading, cell, "gross")) : null,
    ]);
    const currency = access.baseCurrency;
    const cohorts = presentCohorts(net, asOf.at, currency, interval, gross);
    if (format !== null) {
      const rows = cohortsRows(cohorts, currency);
      return sendTable(ctx, format, cohortsTable(isGross), rows, clocks);
    }
    ctx.body = {
      status: "success",
      data: { cohorts },
      complete_to: completeText(clocks),
    } satisfies CohortsAnswer;
  });
}
