/**
 * Revenue as of two moments, as a sum over the ledger.
 *
 * Where a sum begins on a day, whole days come from the projection by_day and the day of `at`
 * from rows. Where it begins with a month and tells no days, currencies or countries apart, whole
 * months come from by_month_and_sku, and of the month of `at` the nearer part from rows: its
 * beginning is added, or its end taken off.
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
 * What adds up to the sums since the parameter `from`, for each value of some columns: columns of
 * `ledger` other than times, or expressions with a name over them and over the SQL of a day that
 * lies where the entry does.
 *
 * @param cell SQL condition on the entries summed, on such columns too
 * @param isOfMonths `from` begins a month, and by_month_and_sku has all that is asked for
 */
export function ledgerPartsSinceSql(
  columnsOf: (day: string) => readonly string[],
  measures: readonly LedgerMeasure[],
  asOf: AsOf,
  { cell = "true", isOfMonths = false } = {},
): string {
  const day = `identity(${dayOfRow})`;
  const stored: readonly Part[] = isOfMonths
    ? monthParts(asOf, `${monthOfEntry} >= toDate(${fromSql})`)
    : [
        {
          condition: `${day} >= toDate(${fromSql}) AND ${day} < toDate(${atSql})`,
          values: "sum",
          projection: "by_day",
        },
        { condition: `${time} >= toStartOfDay(${atSql}) AND ${upToAt}`, values: "+" },
      ];
  const parts = [
    ...stored,
    ...(asOf.knownAt === null ? [] : [learnedSince(`${time} >= ${fromSql} AND ${upToAt}`)]),
  ];
  const ofCell = parts.map((part) => ({ ...part, condition: `${part.condition} AND ${cell}` }));
  return partsSql(columnsOf, measures, ofCell);
}

/** The same of all there is. */
export function ledgerPartsSql(
  columns: readonly string[],
  measures: readonly LedgerMeasure[],
  asOf: AsOf,
): string {
  const learned = asOf.knownAt === null ? [] : [learnedSince(upToAt)];
  return partsSql(() => columns, measures, [...monthParts(asOf, "true"), ...learned]);
}

/** @param since on the month of an entry */
function monthParts(asOf: AsOf, since: string): readonly Part[] {
  const month = `toStartOfMonth(${atSql})`;
  const wholes = { values: "sum", projection: "by_month_and_sku", day: monthOfRow } as const;
  return isLateInMonth(asOf.at)
    ? [
        { condition: `${since} AND ${monthOfEntry} <= ${month}`, ...wholes },
        { condition: `${time} > ${atSql} AND ${time} < ${month} + INTERVAL 1 MONTH`, values: "-" },
      ]
    : [
        { condition: `${since} AND ${monthOfEntry} < ${month}`, ...wholes },
        { condition: `${time} >= ${month} AND ${upToAt}`, values: "+" },
      ];
}

const dayOfRow = "toDate(happened_at)";
const monthOfRow = "toStartOfMonth(happened_at)";
const monthOfEntry = `identity(${monthOfRow})`;
/** `identity`: see movements.ts. */
const time = "identity(happened_at)";
const upToAt = `${time} <= ${atSql}`;

interface Part {
  readonly condition: string;
  /** Summed here, rows to be added, or rows to be taken off. */
  readonly values: "sum" | "+" | "-";
  /** The one that answers it, where one does. */
  readonly projection?: string;
  /** SQL of a day that the projection knows of what it sums. */
  readonly day?: string;
}

function learnedSince(condition: string): Part {
  return { condition: `recorded_at > ${knownAtSql} AND ${condition}`, values: "-" };
}

function partsSql(
  columnsOf: (day: string) => readonly string[],
  measures: readonly LedgerMeasure[],
  parts: readonly Part[],
): string {
  const union = parts.map(({ condition, values, projection, day = dayOfRow }) => {
    const columns = columnsOf(day);
    const rows =
      `SELECT ${columns.join(", ")}, ${signed(measures, values)} ` +
      `FROM ledger WHERE ${tenantSql} AND ${condition}`;
    const names = columns.map((column) => column.split(" AS ").at(-1));
    const sums = values === "sum" ? `${rows} GROUP BY ${names.join(", ")}` : rows;
    return projection === undefined ? sums : `${sums} ${projectionSettingSql(projection)}`;
  });
  return eachShard(union.join("\nUNION ALL\n"));
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
