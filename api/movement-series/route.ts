/** `GET /v1/metrics/mrr/movements`: MRR as balances and what moved them. */
import { limits } from "../../config.js";
import { movementsRows, movementsTable } from "../exports/tables.js";
import { cellOf } from "../reading/metric-filters.js";
import { firstRowOf, rowsOf } from "../reading/reading.js";
import { type ReadApi, figuresRoute } from "../reading/routes.js";
import { readSeries, tooLong } from "../reading/series.js";
import { presentMovements } from "./presenter.js";
import { type MovementSeriesRow, movementSeriesQuery } from "./query.js";
import { movementsQueryParameters } from "./schema.js";

export function movementsRoute(api: ReadApi): void {
  const { service } = api;
  const path = "/v1/metrics/mrr/movements";
  figuresRoute(api, path, movementsQueryParameters, "all", async (asked) => {
    const { access, query, asOf } = asked;
    const first =
      query.from === undefined ? await firstRowOf(service, "mrr_movements", asOf) : null;
    const series = readSeries(query, asOf, first);
    const catalogue = await asked.catalogue();
    const cell = cellOf(query, catalogue);
    const group = query.group_by;
    const rows = await rowsOf<MovementSeriesRow>(
      service,
      movementSeriesQuery(series.asOf, series, cell, group, limits.seriesRowsMax),
    );
    if (rows.length > limits.seriesRowsMax) throw tooLong("rows");
    const data = presentMovements(rows, series, cell, group, catalogue, access.baseCurrency);
    return { data, table: () => [movementsTable(group), movementsRows(data)] };
  });
}
