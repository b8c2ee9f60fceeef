/** Reads what is booked of disputes in a month: the ledger's entries of their money. */
import { limits } from "../../config.js";
import type { Span, ListedPayment } from "../../providers/backfill.js";
import { chunksBySize, grouped, inTurns } from "../../runtime/lists.js";
import { transactionId } from "../../schemas/ids.js";
import type { ClickHouse } from "../../stores/clickhouse/clickhouse.js";
import { clickhouseTime, fromClickhouseTime } from "../../stores/clickhouse/rows.js";
import { besideMonthMs, idsAtOnce, type Of } from "./booked.js";
import type { BookedPayment, Pair } from "./compare-month.js";

interface Row {
  readonly payment: string;
  readonly entry: string;
  readonly currency: string;
  readonly happened_at: string;
  readonly original: string;
  readonly event: string;
  readonly recorded: string;
}

/**
 * One for each time that money of a dispute moved, whatever entries it is in. What was taken back,
 * such as a date that was corrected, adds up to nothing.
 * @returns null: there are more than can be compared
 */
export async function bookedDisputes(
  clickhouse: Pick<ClickHouse, "rows">,
  { workspace, environment, provider }: Of,
  { from, to }: Span,
): Promise<BookedPayment[] | null> {
  const rows = await clickhouse.rows<Row>(
    `SELECT payment, entry, currency, happened_at,
       toString(sum(toInt128(original_amount))) AS original,
       argMax(event_id, (recorded_at, fact_id)) AS event, max(recorded_at) AS recorded
     FROM ledger
     WHERE workspace = {workspace:String} AND environment = {environment:String}
       AND startsWith(payment, {prefix:String}) AND kind IN ('dispute', 'dispute_won')
       AND happened_at >= {from:DateTime64(3, 'UTC')} AND happened_at < {to:DateTime64(3, 'UTC')}
     GROUP BY payment, entry, currency, happened_at HAVING sum(toInt128(original_amount)) != 0
     ORDER BY happened_at, payment, entry LIMIT {rows:UInt32}`,
    {
      workspace,
      environment,
      prefix: `${provider}:`,
      from: clickhouseTime(from - besideMonthMs),
      to: clickhouseTime(to + besideMonthMs),
      rows: limits.reconciledPaymentsMax + 1,
    },
  );
  if (rows.length > limits.reconciledPaymentsMax) return null;
  return rows.map((row) => {
    const payment = row.payment.slice(provider.length + 1);
    const moved = BigInt(row.original);
    return {
      payment,
      dispute: row.entry.replace(/^dispute(_won)?:/, ""),
      at: fromClickhouseTime(row.happened_at),
      currency: row.currency,
      amount: moved < 0n ? -moved : 0n,
      refunded: moved < 0n ? 0n : moved,
      transaction: transactionId(workspace, environment, provider, payment),
      event: row.event,
      recordedAt: fromClickhouseTime(row.recorded),
      isRefundAlone: false,
    };
  });
}

/** The transactions of the disputed payments: those that are booked. */
export async function transactionsOf(
  clickhouse: Pick<ClickHouse, "rows">,
  { workspace, environment, provider }: Of,
  disputed: readonly Pair[],
): Promise<ReadonlyMap<string, string>> {
  const idOf = (payment: string) => transactionId(workspace, environment, provider, payment);
  const named = new Map(
    disputed.flatMap(({ listed, booked }) => {
      const payment = (listed ?? booked)?.payment;
      return payment === undefined ? [] : [[idOf(payment), payment] as const];
    }),
  );
  const found = new Map<string, string>();
  for (const ids of chunksBySize([...named.keys()], idsAtOnce, () => 1)) {
    const rows = await clickhouse.rows<{ id: string }>(
      `SELECT DISTINCT id FROM transactions
       WHERE workspace = {workspace:String} AND environment = {environment:String}
         AND id IN {ids:Array(String)}`,
      { workspace, environment, ids },
    );
    for (const { id } of rows) found.set(named.get(id) ?? "", id);
  }
  return found;
}

/**
 * Pairs the money of disputes that a provider lists in a month with what is booked of it. A return
 * may have another id than what it returns (Paddle), so payment and amount count, too. The pairs
 * are of what is dated in the month by the provider, or by us alone. Both sides also have what is
 * beside it: they may date money on either side of the month's end. Pure.
 * @param month ms since 1970; the end is exclusive
 */
export async function disputePairsOf(
  listed: Iterable<ListedPayment>,
  booked: Iterable<BookedPayment>,
  month: Span,
): Promise<Pair[]> {
  const left = grouped(booked, keyOf);
  const pairs: Pair[] = [];
  await inTurns(grouped(listed, keyOf), ([key, all]) => {
    const others = left.get(key) ?? [];
    const same = all.map((one) => taken(others, (other) => isSame(one, other)));
    for (const [place, one] of all.entries()) {
      // Else of the same payment, with another amount.
      pairs.push({ listed: one, booked: same[place] ?? taken(others, () => true) });
    }
  });
  for (const one of [...left.values()].flat()) pairs.push({ listed: null, booked: one });
  return pairs.filter((pair) => {
    const at = (pair.listed ?? pair.booked)?.at ?? 0;
    return at >= month.from && at < month.to;
  });
}

function keyOf({ payment, amount }: ListedPayment): string {
  return `${payment} ${amount > 0n ? "out" : "back"}`;
}

function isSame(one: ListedPayment, other: ListedPayment): boolean {
  if (one.dispute === other.dispute) return true;
  return (
    one.currency === other.currency &&
    one.amount === other.amount &&
    one.refunded === other.refunded
  );
}

/** The first that fits, which is then no longer among them. */
function taken(
  others: BookedPayment[],
  fits: (other: BookedPayment) => boolean,
): BookedPayment | null {
  const place = others.findIndex(fits);
  return place === -1 ? null : (others.splice(place, 1)[0] ?? null);
}
