/**
 * Revenue as of two moments, as a sum over the ledger.
 *
 * Whole days come from the projection by_day, the day of `at` from rows. The ledger is additive,
 * so what was recorded after `known_at` is subtracted: that is little, and it leaves the
 * projection, which knows no receipt times, in use.
 */
import type { AsOf } from "../as-of.js";
import { fromSql } from "./intervals.js";
import { atSql, knownAtSql, tenantSql } from "./query.js";

const measures = ["amount", "tax", "fee", "sales"] as const;

/**
 * The sums of amount, tax, fee (minor units of base currency) and sales for each value of
 * `columns`, which are columns of `ledger` or expressions over them with a name.
 *
 * @param hasFrom whether it begins at the day of the parameter `from`, or with the first entry
 */
export function sumLedgerSql(columns: readonly string[], asOf: AsOf, hasFrom: boolean): string {
  const names = columns.map((column) => column.split(" AS ").at(-1)).join(", ");
  const days = hasFrom ? ` AND toDate(happened_at) >= toDate(${fromSql})` : "";
  const times = hasFrom ? ` AND happened_at >= ${fromSql}` : "";
  const rows = `FROM ledger WHERE ${tenantSql}`;
  const plus = `SELECT ${columns.join(", ")}, ${sumsOf("sum")} ${rows}`;
  const parts = [
    `${plus} AND toDate(happened_at) < toDate(${atSql})${days}`,
    `${plus} AND happened_at >= toStartOfDay(${atSql}) AND happened_at <= ${atSql}`,
  ];
  if (asOf.knownAt !== null) {
    parts.push(
      `SELECT ${columns.join(", ")}, ${sumsOf("-sum")} ${rows} ` +
        `AND recorded_at > ${knownAtSql} AND happened_at <= ${atSql}${times}`,
    );
  }
  const union = parts.map((part) => `${part} GROUP BY ${names}`).join("\nUNION ALL\n");
  return `SELECT ${names}, ${sumsOf("sum")} FROM (\n${union}\n) GROUP BY ${names}`;
}

function sumsOf(sum: "sum" | "-sum"): string {
  return measures.map((measure) => `${sum}(${measure}) AS ${measure}`).join(", ");
}
