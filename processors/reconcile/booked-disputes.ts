/** Reads what is booked of disputes in a month: the ledger's entries of their money. */
import { limits } from "../../config.js";
import type { Span } from "../../providers/backfill.js";
import { chunksBySize } from "../../runtime/chunk.js";
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
