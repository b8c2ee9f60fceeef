/** `GET /v1/countries`: where customers paid from, or had a subscription, at any time. */
import { sendTable } from "../exports/send.js";
import { tables } from "../exports/tables.js";
import { tenantSql } from "../reading/query.js";
import { clocksOf, completeText, rowsOf } from "../reading/reading.js";
import { type ReadApi, readRoute } from "../reading/routes.js";
import { type CountriesAnswer, countriesQueryParameters } from "./schema.js";

/** Projections by day and month have them all, so no single row is read. */
const sql = `SELECT DISTINCT country FROM (
  SELECT country FROM ledger WHERE ${tenantSql} GROUP BY country
  UNION ALL
  SELECT country FROM mrr_movements WHERE ${tenantSql} GROUP BY country
) ORDER BY country`;

export function countriesRoute(api: ReadApi): void {
  readRoute(api, "/v1/countries", countriesQueryParameters, async ({ ctx, access, format }) => {
    const clocks = await clocksOf(api.service, access);
    const { workspace, environment } = access;
    const params = { workspace, environment };
    const data = await rowsOf<CountriesAnswer["data"][number]>(api.service, { sql, params });
    if (format === null) return { data, complete_to: completeText(clocks) };
    sendTable(ctx, format, tables.countries, data, clocks);
    return null;
  });
}
