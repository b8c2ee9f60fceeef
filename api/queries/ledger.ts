/**
 * Revenue as of two moments, as a sum over the ledger.
 *
 * Whole days come from the projection by_day, whole months from by_month where a sum begins with
 * the first entry, the day of `at` from rows. The ledger is additive,
 * so what was recorded after `known_at` is subtracted: that is little, and it leaves the
 * projection, which knows no receipt times, in use.
 */
import type { AsOf } from "../as-of.js";
import { fromSql } from "./intervals.js";
import { atSql, knownAtSql, tenantSql } from "./query.js";

const measures = ["amount", "tax", "fee", "sales"] as const;

/** Where a sum begins: at the day of the parameter `from`, or with the first entry. */
export type Beginning = "from" | "first entry";

/**
 * The sums of amount, tax, fee (minor units of base currency) and sales for each value of
 * `columns`: columns of `ledger` other than times, or, beginning at `from`, expressions over them
 * with a name (`toDate(happened_at) AS day`).
 */
export function sumLedgerSql(columns: readonly string[], asOf: AsOf, beginning: Beginning): string {
  const names = columns.map((column) => column.split(" AS ").at(-1)).join(", ");
  const times = beginning === "from" ? ` AND happened_at >= ${fromSql}` : "";
  const rows = `FROM ledger WHERE ${tenantSql}`;
  const plus = `SELECT ${columns.join(", ")}, ${sumsOf("sum")} ${rows}`;
  // `identity`: see movements.ts.
  const day = "identity(toDate(happened_at))";
  const days = `${plus} AND ${day} < toDate(${atSql})`;
  const month = `toStartOfMonth(${atSql})`;
  const parts = [
    ...(beginning === "from"
      ? [`${days} AND ${day} >= toDate(${fromSql})`]
      : [
          `${plus} AND identity(toStartOfMonth(happened_at)) < ${month}`,
          `${days} AND ${day} >= ${month}`,
        ]),
    `${plus} AND identity(happened_at) >= toStartOfDay(${atSql}) ` +
      `AND identity(happened_at) <= ${atSql}`,
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
