/**
 * Revenue as of two moments, as a sum over the ledger. Where it begins on a day, of whole days;
 * where it begins with a month and tells no days, currencies or countries apart, of whole months.
 * The ledger is additive, so what was recorded after `known_at` is subtracted, too: that is little,
 * and it leaves the projections, which know no receipt times, in use.
 */
import { eachShard } from "../../stores/clickhouse/cluster/shard-statements.js";
import type { AsOf } from "./as-of.js";
import { accountsSql, isAcrossShards } from "./accounts.js";
import type { Cell } from "./metric-filters.js";
import { additiveTable, fromDaySql } from "./parts.js";
import { allOf, fromSql, knownAtSql, tenantSql } from "./query.js";

/** Minor units of base currency, but for sales. */
type LedgerMeasure = "amount" | "tax" | "fee" | "sales";

interface LedgerSums {
  /** Columns of `ledger` other than times, or expressions with a name over them and over `day`. */
  readonly columnsOf: (day: string) => readonly string[];
  readonly measures: readonly LedgerMeasure[];
  /** On the entries summed, on such columns too. */
  readonly condition: string;
  /** Of some: no projection knows them, so entries are read once, one by one. */
  readonly accounts: Cell["accounts"];
  /**
   * Where the sum begins: at the parameter `from`; the same, which begins a month, and
   * by_month_and_sku has all that is asked for; or with the first entry.
   */
  readonly since: "day" | "month" | "ever";
}

/** What adds up to the sums, for each value of some columns. */
export function ledgerPartsSql(
  asOf: AsOf,
  { columnsOf, measures, condition, accounts, since }: LedgerSums,
): string {
  const { rows, time, upToAt } = ledger;
  const begun = since === "ever" ? "" : ` AND ${time} >= ${fromSql}`;
  if (accounts !== undefined) {
    const known = asOf.knownAt === null ? "" : ` AND recorded_at <= ${knownAtSql}`;
    const all = { source: `${rows}${begun} AND ${upToAt}${known}`, values: "sum" } as const;
    const sql = ledger.partsSql([all], columnsOf, measures, condition, wide);
    return isAcrossShards(accounts) ? `(${sql})` : eachShard(sql);
  }
  const months = () =>
    ledger.monthParts("by_month_and_sku", asOf, since === "month" ? fromDaySql : undefined);
  const stored = since === "day" ? ledger.dayParts(fromDaySql) : months();
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

/**
 * Of the ledger, which knows payments and no accounts: those whose transaction names one of them,
 * in the version that counts. What names no sale is of nobody.
 */
export function ledgerCondition(
  { partCondition, accounts }: Pick<Cell, "partCondition" | "accounts">,
  { knownAt }: Pick<AsOf, "knownAt">,
): string {
  if (accounts === undefined) return partCondition;
  const known = allOf(tenantSql, knownAt !== null && `recorded_at <= ${knownAtSql}`);
  const ids = `SELECT id FROM transactions WHERE ${known} AND ${accountsSql(accounts)}`;
  const shown = accountsSql(accounts, "argMax(account, (recorded_at, fact_id, version))");
  return `${partCondition} AND payment GLOBAL IN (
  SELECT concat(any(provider), ':', any(payment)) FROM transactions
  WHERE ${known} AND id GLOBAL IN (${ids})
  GROUP BY timestamp, id HAVING ${shown})`;
}
