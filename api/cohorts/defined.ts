/**
 * Cohorts by the definition of another tool. Sums of recorded movements know only ours, so every
 * account is read at the end of each interval: it begins in the first one at whose end it counts,
 * with what it counts then.
 */
import { exactMrr, mrrOf } from "../../schemas/money/monthly.js";
import { monthText } from "../../schemas/months.js";
import { clickhouseTime } from "../../stores/clickhouse/rows.js";
import { checkIntervals, type Defined, eachAccount } from "../mrr-compare/defined.js";
import type { AsOf } from "../reading/as-of.js";
import { intervalMonths } from "../reading/calendar.js";
import { firstRowOf } from "../reading/reading.js";
import type { CohortRow } from "./query.js";
import type { CohortInterval } from "./schema.js";
import { intervalNumber } from "./vintages.js";

/** What of an account is retained: its MRR, that as far as it began with it, or itself. */
type Measure = (mrr: bigint, began: bigint) => bigint;

const wholeOne = mrrOf("1");
const measures = {
  mrr: (mrr) => mrr,
  gross: (mrr, began) => (mrr < began ? mrr : began),
  accounts: (mrr) => (mrr > 0n ? wholeOne : 0n),
} as const satisfies Readonly<Record<string, Measure>>;

export type CohortMeasure = keyof typeof measures;

/**
 * As rows of `cohortsQuery`, of each measure.
 *
 * @param first the first vintage that is wanted; -Infinity: all
 * @throws ApiError 422 when there are more intervals or changes than one call may read
 */
export async function definedCohorts(
  defined: Defined,
  asOf: AsOf,
  { interval, first }: { readonly interval: CohortInterval; readonly first: number },
  wanted: readonly CohortMeasure[],
): Promise<CohortRow[][]> {
  const begin = await firstRowOf(defined.service, "subscription_changes", asOf);
  const earliest = begin === null ? Infinity : intervalNumber(begin, interval);
  const numbers: number[] = [];
  const last = intervalNumber(asOf.at, interval);
  checkIntervals(last - Math.max(first, earliest) + 1);
  for (let one = Math.max(first, earliest); one <= last; one += 1) numbers.push(one);
  if (numbers.length === 0) return wanted.map(() => []);
  const starts = numbers.map((one) => startOf(one, interval));
  const before = (starts[0] ?? 0) - 1;
  const ends = numbers.map((one) => Math.min(startOf(one + 1, interval) - 1, asOf.at));
  const tables = wanted.map((name) => new Table(measures[name], starts.map(dayOf)));
  await eachAccount(defined, asOf, [before, ...ends], ({ began, mrr: [earlier = 0n, ...mrr] }) => {
    const hasCounted = earlier > 0n || (began !== "" && began <= clickhouseTime(before));
    const vintage = hasCounted ? -1 : mrr.findIndex((one) => one > 0n);
    if (vintage === -1) return;
    for (const table of tables) table.add(vintage, mrr);
  });
  return tables.map((table) => table.rows());
}

/** Of one measure: what each vintage began with, and its changes in each interval. */
class Table {
  readonly #sums = new Map<number, { readonly started: bigint; readonly changes: bigint[] }>();

  /** @param days on which the intervals begin */
  constructor(
    private readonly measure: Measure,
    private readonly days: readonly string[],
  ) {}

  add(vintage: number, mrr: readonly bigint[]): void {
    const began = mrr[vintage] ?? 0n;
    const sums = this.#sums.get(vintage) ?? { started: 0n, changes: this.days.map(() => 0n) };
    let before = 0n;
    const changes = sums.changes.map((sum, index) => {
      const kept = index < vintage ? 0n : this.measure(mrr[index] ?? 0n, began);
      const change = kept - before;
      before = kept;
      return sum + change;
    });
    this.#sums.set(vintage, { started: sums.started + this.measure(began, began), changes });
  }

  rows(): CohortRow[] {
    return [...this.#sums].flatMap(([vintage, { started, changes }]) =>
      changes.slice(vintage).map((change, index) => ({
        vintage: this.days[vintage] ?? "",
        month: this.days[vintage + index] ?? "",
        started: exactMrr(index === 0 ? started : 0n),
        change: exactMrr(change),
      })),
    );
  }
}

function startOf(number: number, interval: CohortInterval): number {
  return Date.parse(`${monthText(number * intervalMonths[interval])}-01T00:00:00Z`);
}

function dayOf(at: number): string {
  return new Date(at).toISOString().slice(0, "YYYY-MM-DD".length);
}
