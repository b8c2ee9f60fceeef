/**
 * Revenue as of two moments, as a sum over the ledger. Where it begins on a day, of whole days;
 * where it begins with a month and tells no days, currencies or countries apart, of whole months.
 * The ledger is additive, so what was recorded after `known_at` is subtracted, too: that is little,
 * and it leaves the projections, which know no receipt times, in use.
 */
import { eachShard } from "../../stores/clickhouse/cluster/shard-statements.js";
import type { AsOf } from "./as-of.js";
import { additiveTable, fromDaySql } from "./parts.js";
import { fromSql, knownAtSql } from "./query.js";

/** Minor units of base currency, but for sales. */
type LedgerMeasure = "amount" | "tax" | "fee" | "sales";

interface LedgerSums {
  /** Columns of `ledger` other than times, or expressions with a name over them and over `day`. */
  readonly columnsOf: (day: string) => readonly string[];
  readonly measures: readonly LedgerMeasure[];
  /** On the entries summed, on such columns too. */
  readonly condition?: string;
  /**
   * Where the sum begins: at the parameter `from`; the same, which begins a month, and
   * by_month_and_sku has all that is asked for; or with the first entry.
   */
  readonly since: "day" | "month" | "ever";
}

/** What adds up to the sums, for each value of some columns. */
export function ledgerPartsSql(
  asOf: AsOf,
  { columnsOf, measures, condition, since }: LedgerSums,
): string {
  const { rows, time, upToAt } = ledger;
  const months = () =>
    ledger.monthParts("by_month_and_sku", asOf, since === "month" ? fromDaySql : undefined);
  const stored = since === "day" ? ledger.dayParts(fromDaySql) : months();
  const begun = since === "ever" ? "" : ` AND ${time} >= ${fromSql}`;
  const learned = `${rows} AND recorded_at > ${knownAtSql}${begun} AND ${upToAt}`;
  const parts =
    asOf.knownAt === null ? stored : [...stored, { source: learned, values: "-" } as const];
  return eachShard(ledger.partsSql(parts, columnsOf, measures, condition, wide));
}

const ledger = additiveTable("ledger", "happened_at");

/** As the projections have it: an amount is 64 bits, thousands of the largest are more. */
function wide(measure: LedgerMeasure): string {
  return measure === "sales" ? measure : `toInt128(${measure})`;
}
