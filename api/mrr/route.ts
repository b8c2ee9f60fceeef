/** `GET /v1/metrics/mrr`. */
import { mrrRows, tables } from "../exports/tables.js";
import { type ReadApi, figuresRoute } from "../reading/routes.js";
import { definedMrr, otherThanOurs } from "../mrr-compare/defined.js";
import { presentMrr } from "./presenter.js";
import { readMrr } from "./reading.js";
import { mrrQueryParameters } from "./schema.js";

export function mrrRoute(api: ReadApi): void {
  const path = "/v1/metrics/mrr";
  figuresRoute(api, path, mrrQueryParameters, "all", async (asked) => {
    const { access, asOf, clocks } = asked;
    const { baseCurrency: currency } = access;
    const { service } = api;
    const name = otherThanOurs(asked.query.definition);
    const rows =
      name === null
        ? await readMrr(service.clickhouse, asOf)
        : await definedMrr({ service, name, currency, clocks }, asOf);
    const data = { ...presentMrr(rows, currency), ...(name === null ? {} : { definition: name }) };
    return { data, table: () => [tables.mrr, mrrRows(data)] };
  });
}
