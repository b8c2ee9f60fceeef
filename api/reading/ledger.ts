/**
 * Revenue as of two moments, as a sum over the ledger.
 *
 * Where a sum begins on a day, whole days come from the projection by_day and the day of `at`
 * from rows. Where it begins with the first entry, whole months come from by_month_and_sku,
 * and of the month of `at` the nearer part from rows: its beginning is added, or its end taken off.
 * The ledger is additive, so what was recorded after `known_at` is subtracted, too: that is little,
 * and it leaves the projections, which know no receipt times, in use.
 */
import { eachShard } from "../../clickhouse/cluster/shard-statements.js";
import type { AsOf } from "./as-of.js";
import { isLateInMonth } from "./calendar.js";
import { fromSql } from "./intervals.js";
import { atSql, knownAtSql, projectionSettingSql, tenantSql } from "./query.js";

/** Minor units of base currency, but for sales. */
export type LedgerMeasure = "amount" | "tax" | "fee" | "sales";

/**
 * The sums over the days since the parameter `from`, for each value of `columns`: columns of
 * `ledger` other than times, or expressions over them with a name
 * (`toDate(happened_at) AS day`).
 *
 * @param cell SQL condition on the entries summed, on such columns too
 */
export function sumLedgerSinceSql(
  columns: readonly string[],
  measures: readonly LedgerMeasure[],
  asOf: AsOf,
  cell = "true",
): string {
  const day = "identity(toDate(happened_at))";
  const parts: readonly Part[] = [
    {
      condition: `${day} >= toDate(${fromSql}) AND ${day} < toDate(${atSql})`,
      values: "sum",
      projection: "by_day",
    },
    { condition: `${time} >= toStartOfDay(${atSql}) AND ${upToAt}`, values: "+" },
    ...(asOf.knownAt === null ? [] : [learnedSince(`${time} >= ${fromSql} AND ${upToAt}`)]),
  ];
  const ofCell = parts.map((part) => ({ ...part, condition: `${part.condition} AND ${cell}` }));
  return sumPartsSql(columns, measures, ofCell);
}

/** The sums over all there is by SKU. */
export function sumLedgerBySkuSql(asOf: AsOf): string {
  const month = "identity(toStartOfMonth(happened_at))";
  const monthOfAt = `toStartOfMonth(${atSql})`;
  const wholes = { values: "sum", projection: "by_month_and_sku" } as const;
  const parts: readonly Part[] = isLateInMonth(asOf.at)
    ? [
        { condition: `${month} <= ${monthOfAt}`, ...wholes },
        {
          condition: `${time} > ${atSql} AND ${time} < ${monthOfAt} + INTERVAL 1 MONTH`,
          values: "-",
        },
      ]
    : [
        { condition: `${month} < ${monthOfAt}`, ...wholes },
        { condition: `${time} >= ${monthOfAt} AND ${upToAt}`, values: "+" },
      ];
  const learned = asOf.knownAt === null ? [] : [learnedSince(upToAt)];
  return sumPartsSql(["provider", "external_id"], ["amount", "sales"], [...parts, ...learned]);
}

/** `identity`: see movements.ts. */
const time = "identity(happened_at)";
const upToAt = `${time} <= ${atSql}`;

interface Part {
  readonly condition: string;
  /** Summed here, rows to be added, or rows to be taken off. */
  readonly values: "sum" | "+" | "-";
  /** The one that answers it, where one does. */
  readonly projection?: string;
}

function learnedSince(condition: string): Part {
  return { condition: `recorded_at > ${knownAtSql} AND ${condition}`, values: "-" };
}

function sumPartsSql(
  columns: readonly string[],
  measures: readonly LedgerMeasure[],
  parts: readonly Part[],
): string {
  const names = columns.map((column) => column.split(" AS ").at(-1)).join(", ");
  const union = parts.map(({ condition, values, projection }) => {
    const rows =
      `SELECT ${columns.join(", ")}, ${signed(measures, values)} ` +
      `FROM ledger WHERE ${tenantSql} AND ${condition}`;
    const sums = values === "sum" ? `${rows} GROUP BY ${names}` : rows;
    return projection === undefined ? sums : `${sums} ${projectionSettingSql(projection)}`;
  });
  return `SELECT ${names}, ${signed(measures, "sum")}
FROM ${eachShard(union.join("\nUNION ALL\n"))} GROUP BY ${names}`;
}

function signed(measures: readonly LedgerMeasure[], values: Part["values"]): string {
  return measures
    .map((measure) => {
      if (values === "sum") return `sum(${wide(measure)}) AS ${measure}`;
      return values === "-" ? `-${measure} AS ${measure}` : measure;
    })
    .join(", ");
}

/** As the projections have it: an amount is 64 bits, thousands of the largest are more. */
function wide(measure: LedgerMeasure): string {
  return measure === "sales" ? measure : `toInt128(${measure})`;
}
