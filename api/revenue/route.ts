/** `GET /v1/metrics/revenue`: sums of the ledger over time. */
import type Router from "@koa/router";
import type { CatalogueView } from "../../catalogue/view.js";
import { requireKey } from "../../http/auth.js";
import { readQuery } from "../../http/query.js";
import { accessOf } from "../../http/state.js";
import type { Service } from "../../runtime/service.js";
import { limits } from "../../config.js";
import { type RevenueAnswer, revenueQueryParameters } from "./schema.js";
import { checkComparison, comparedPeriod, periodOf } from "../summary/period.js";
import type { CellGroup } from "../../schemas/http/series.js";
import { readAsOf } from "../reading/as-of.js";
import { cellOf } from "../reading/metric-filters.js";
import { formatOf } from "../exports/formats.js";
import { sendTable } from "../exports/send.js";
import { revenueRows, revenueTable } from "../exports/tables.js";
import { presentRevenue } from "./presenter.js";
import { type RevenueSumsRow, type ReportedRow, revenueQuery, reportedQuery } from "./query.js";
import { firstRowOf } from "../reading/first-row.js";
import { type Series, readSeries, tooLong } from "../reading/series.js";
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
    checkComparison(query, clocks);
    const { compare, compare_known_at: knownAt = null } = query;
    const period = periodOf(series, asOf.at);
    const days = { ...query, interval: series.interval };
    const other = compare && comparedPeriod(period, days, compare, knownAt)?.series;
    const read = async (of: Series, by: CellGroup | undefined) => {
      const [sums, reported] = await Promise.all([
        rowsOf<RevenueSumsRow>(service, revenueQuery(of, cell, by, limits.seriesRowsMax)),
        rowsOf<ReportedRow>(service, reportedQuery(of, cell, by)),
      ]);
      if (sums.length > limits.seriesRowsMax) throw tooLong("rows");
      return presentRevenue(sums, reported, of, by, catalogue, access.baseCurrency);
    };
    const [asked, compared] = await Promise.all([
      read(series, group),
      other ? read(other, undefined) : null,
    ]);
    const data = {
      ...asked,
      ...(compare === undefined ? {} : { compare: compared?.totals ?? null }),
    };
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
