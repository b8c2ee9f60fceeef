/** `GET /v1/metrics/revenue`: sums of the ledger over time. */
import type Router from "@koa/router";
import type { CatalogueView } from "../../catalogue/view.js";
import { requireKey } from "../../http/auth.js";
import { readQuery } from "../../http/query.js";
import { accessOf } from "../../http/state.js";
import type { Service } from "../../runtime/service.js";
import { limits } from "../../config.js";
import { type RevenueAnswer, revenueQueryParameters } from "./schema.js";
import { readAsOf } from "../reading/as-of.js";
import { cellOf } from "../reading/metric-filters.js";
import { formatOf } from "../exports/formats.js";
import { sendTable } from "../exports/send.js";
import { revenueRows, revenueTable } from "../exports/tables.js";
import { presentRevenue } from "./presenter.js";
import { type RevenueSumsRow, type ReportedRow, revenueQuery, reportedQuery } from "./query.js";
import { firstRowOf } from "../reading/first-row.js";
import { readSeries, tooLong } from "../reading/series.js";
import { clocksOf, completeText, rowsOf } from "../reading/reading.js";

export function revenueRoute(router: Router, service: Service, catalogues: CatalogueView): void {
  router.get("/v1/metrics/revenue", requireKey(service, { scope: "read" }), async (ctx) => {
    const access = accessOf(ctx);
    const clocks = await clocksOf(service, access, "money");
    const query = readQuery(ctx, revenueQueryParameters);
    const format = formatOf(ctx, query.format);
    const asOf = readAsOf(access, query, clocks);
    const first = query.from === undefined ? await firstRowOf(service, "ledger", asOf) : null;
    const series = readSeries(query, asOf, first);
    const group = query.group_by;
    const catalogue = await catalogues.of(access.workspace, access.environment);
    const cell = cellOf(query, catalogue);
    const [sums, reported] = await Promise.all([
      rowsOf<RevenueSumsRow>(service, revenueQuery(series, cell, group, limits.seriesRowsMax)),
      rowsOf<ReportedRow>(service, reportedQuery(series, cell, group)),
    ]);
    if (sums.length > limits.seriesRowsMax) throw tooLong("rows");
    const data = presentRevenue(sums, reported, series, group, catalogue, access.baseCurrency);
    if (format !== null) {
      return sendTable(ctx, format, revenueTable(group), revenueRows(data), clocks);
    }
    ctx.body = {
      status: "success",
      data,
      complete_to: completeText(clocks),
    } satisfies RevenueAnswer;
  });
}
