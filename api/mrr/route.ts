/** `GET /v1/metrics/mrr`. */
import { mrrRows, tables } from "../exports/tables.js";
import { figuresRoute } from "../reading/routes.js";
import { definedMrr, otherThanOurs } from "../mrr-compare/defined.js";
import { type MrrPairRow, readMrr } from "./query.js";
import { mrrAnswer, type MrrAnswer, mrrQueryParameters } from "./schema.js";
import { percent, showMrr } from "../reading/amounts.js";
import { mrrOf } from "../../schemas/money/monthly.js";

export const mrrRoute = figuresRoute(
  {
    path: "/v1/metrics/mrr",
    summary: "Monthly recurring revenue",
    query: mrrQueryParameters,
    answer: mrrAnswer,
  },
  async (asked) => {
    const { service, access, asOf, clocks } = asked;
    const { baseCurrency: currency } = access;
    const name = otherThanOurs(asked.query.definition);
    const rows =
      name === null
        ? await readMrr(service.clickhouse, asOf)
        : await definedMrr({ service, name, currency, clocks }, asOf);
    const data = { ...presentMrr(rows, currency), ...(name === null ? {} : { definition: name }) };
    return { data, table: () => [tables.mrr, mrrRows(data)] };
  },
);

export function presentMrr(rows: readonly MrrPairRow[], currency: string): MrrAnswer["data"] {
  const current = sum(rows.map((row) => mrrOf(row.mrr)));
  const previous = sum(rows.map((row) => mrrOf(row.previous)));
  return {
    current_mrr: showMrr(current, currency),
    currency,
    growth_mom_pct: previous === 0n ? 0 : percent(current - previous, previous, 2),
    previous_mrr: showMrr(previous, currency),
    active_subscribers: Number(sum(rows.map((row) => BigInt(row.accounts)))),
    breakdown_by_provider: Object.fromEntries(
      rows
        .filter((row) => mrrOf(row.mrr) > 0n)
        .map((row) => [row.provider, showMrr(mrrOf(row.mrr), currency)]),
    ),
  };
}

function sum(values: readonly bigint[]): bigint {
  return values.reduce((total, value) => total + value, 0n);
}
