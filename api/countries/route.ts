/** `GET /v1/countries`: where customers paid from, or had a subscription, at any time. */
import { sendTable } from "../exports/send.js";
import { tables } from "../exports/tables.js";
import { tenantSql } from "../reading/query.js";
import { clocksOf, completeText, rowsOf } from "../reading/reading.js";
import { readRoute } from "../reading/routes.js";
import { type CountriesAnswer, countriesQueryParameters, countriesAnswer } from "./schema.js";

/** Projections by day and month have them all, so no single row is read. */
const sql = `SELECT DISTINCT country FROM (
  SELECT country FROM ledger WHERE ${tenantSql} GROUP BY country
  UNION ALL
  SELECT country FROM mrr_movements WHERE ${tenantSql} GROUP BY country
) ORDER BY country`;

export const countriesRoute = readRoute(
  {
    path: "/v1/countries",
    summary: "Countries there are any figures of",
    description: "What the filter `country` may be given.",
    query: countriesQueryParameters,
    answer: countriesAnswer,
  },
  async ({ service, ctx, access, format }) => {
    const clocks = await clocksOf(service, access);
    const { workspace, environment } = access;
    const params = { workspace, environment };
    const data = await rowsOf<CountriesAnswer["data"][number]>(service, { sql, params });
    if (format === null) return { data, complete_to: completeText(clocks) };
    sendTable(ctx, format, tables.countries, data, clocks);
    return null;
  },
);
