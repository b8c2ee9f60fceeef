/** `GET /v1/metrics/mrr`. */
import { mrrRows, tables } from "../exports/tables.js";
import { type ReadApi, figuresRoute } from "../reading/routes.js";
import { presentMrr } from "./presenter.js";
import { readMrr } from "./reading.js";
import { mrrQueryParameters } from "./schema.js";

export function mrrRoute(api: ReadApi): void {
  const path = "/v1/metrics/mrr";
  figuresRoute(api, path, mrrQueryParameters, "all", async ({ access, asOf }) => {
    const data = presentMrr(await readMrr(api.service.clickhouse, asOf), access.baseCurrency);
    return { data, table: () => [tables.mrr, mrrRows(data)] };
  });
}
