/** `GET /v1/metrics/mrr/movements`: MRR as balances and what moved them. */
import type Router from "@koa/router";
import type { CatalogueView } from "../../catalogue/view.js";
import { requireKey } from "../../http/auth.js";
import { readQuery } from "../../http/query.js";
import { accessOf } from "../../http/state.js";
import type { Service } from "../../runtime/service.js";
import { limits } from "../../config.js";
import { type MovementsAnswer, movementsQueryParameters } from "./schema.js";
import { readAsOf } from "../reading/as-of.js";
import { cellOf } from "../reading/metric-filters.js";
import { formatOf } from "../exports/formats.js";
import { sendTable } from "../exports/send.js";
import { movementsRows, movementsTable } from "../exports/tables.js";
import { readMovements } from "../reading/movement-reading.js";
import { presentMovements } from "./presenter.js";
import { type MovementSeriesRow, movementSeriesQuery } from "./query.js";
import { firstRowOf } from "../reading/first-row.js";
import { readSeries, tooLong } from "../reading/series.js";
import { clocksOf, completeText } from "../reading/reading.js";

export function movementsRoute(router: Router, service: Service, catalogues: CatalogueView): void {
  const path = "/v1/metrics/mrr/movements";
  router.get(path, requireKey(service, { scope: "read" }), async (ctx) => {
    const access = accessOf(ctx);
    const clocks = await clocksOf(service, access);
    const query = readQuery(ctx, movementsQueryParameters);
    const format = formatOf(ctx, query.format);
    const asOf = readAsOf(access, query, clocks);
    const first =
      query.from === undefined ? await firstRowOf(service, "mrr_movements", asOf) : null;
    const series = readSeries(query, asOf, first);
    const catalogue = await catalogues.of(access.workspace, access.environment);
    const cell = cellOf(query, catalogue);
    const group = query.group_by;
    const rows = await readMovements<MovementSeriesRow>(
      service.clickhouse,
      (reading) => movementSeriesQuery(reading, series, cell, group, limits.seriesRowsMax),
      series.asOf,
    );
    if (rows.length > limits.seriesRowsMax) throw tooLong("rows");
    const data = presentMovements(rows, series, cell, group, catalogue, access.baseCurrency);
    if (format !== null) {
      return sendTable(ctx, format, movementsTable(group), movementsRows(data), clocks);
    }
    ctx.body = {
      status: "success",
      data,
      complete_to: completeText(clocks),
    } satisfies MovementsAnswer;
  });
}
