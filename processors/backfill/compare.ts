/** Compares what a provider lists as paid with what is booked, by month and currency. */
import type { Backfill, ComparedMonth } from "../../workspaces/history/backfills.js";
import { clickhouseTime } from "../../stores/clickhouse/rows.js";
import type { ClickHouse } from "../../stores/clickhouse/clickhouse.js";
import type { Integration } from "../../workspaces/integrations.js";
import type { ListedPayment } from "../../providers/backfill.js";
import { transactionId } from "../../schemas/ids.js";

interface Booked {
  readonly id: string;
  readonly original_currency: string;
  readonly gross_amount: string;
  readonly refunded_amount: string;
}

/** @returns the comparison with these payments added */
export async function comparePage(
  { clickhouse }: { readonly clickhouse: Pick<ClickHouse, "rows"> },
  { comparison }: Pick<Backfill, "comparison">,
  integration: Integration,
  payments: readonly ListedPayment[],
): Promise<ComparedMonth[]> {
  const booked = await bookedOf(clickhouse, integration, payments);
  const months = new Map((comparison ?? []).map((month) => [nameOf(month), month]));
  for (const { payment, at, currency, amount, refunded } of payments) {
    const month = new Date(at).toISOString().slice(0, 7);
    const known = months.get(nameOf({ month, currency })) ?? { ...nothing, month, currency };
    const found = booked.get(payment);
    // A payment booked in another currency does not count as booked.
    const same = found !== undefined && found.original_currency === currency;
    months.set(nameOf(known), {
      ...known,
      listed: plus(known.listed, amount, refunded),
      booked: same
        ? plus(known.booked, BigInt(found.gross_amount), BigInt(found.refunded_amount))
        : known.booked,
    });
  }
  return [...months.values()].sort((one, other) => (nameOf(one) < nameOf(other) ? -1 : 1));
}

export function isSame({ listed, booked }: ComparedMonth): boolean {
  return (
    listed.count === booked.count &&
    listed.amount === booked.amount &&
    listed.refunded === booked.refunded
  );
}

/** Some providers list whole seconds where a webhook has a finer time. */
const listedToMs = 1_000;

const zero = { count: 0, amount: "0", refunded: "0" };
const nothing = { listed: zero, booked: zero };

/** The newest version of each payment, looked for where it is dated. */
async function bookedOf(
  clickhouse: Pick<ClickHouse, "rows">,
  { workspace, environment, provider }: Integration,
  payments: readonly Pick<ListedPayment, "payment" | "at">[],
): Promise<ReadonlyMap<string, Booked>> {
  if (payments.length === 0) return new Map();
  const idOf = (payment: string) => transactionId(workspace, environment, provider, payment);
  const byId = new Map(payments.map(({ payment }) => [idOf(payment), payment]));
  const times = payments.map(({ at }) => at);
  const rows = await clickhouse.rows<Booked>(
    `SELECT id, original_currency, gross_amount, refunded_amount FROM transactions
     WHERE workspace = {workspace:String} AND environment = {environment:String}
       AND timestamp >= {first:DateTime64(3, 'UTC')} AND timestamp <= {last:DateTime64(3, 'UTC')}
       AND id IN {ids:Array(String)}
     ORDER BY recorded_at DESC, fact_id DESC, version DESC LIMIT 1 BY id`,
    {
      workspace,
      environment,
      first: clickhouseTime(Math.min(...times) - listedToMs),
      last: clickhouseTime(Math.max(...times) + listedToMs),
      ids: [...byId.keys()],
    },
  );
  return new Map(rows.map((row) => [byId.get(row.id) ?? "", row]));
}

function plus(sums: ComparedMonth["listed"], amount: bigint, refunded: bigint) {
  return {
    count: sums.count + 1,
    amount: `${BigInt(sums.amount) + amount}`,
    refunded: `${BigInt(sums.refunded) + refunded}`,
  };
}

function nameOf({ month, currency }: Pick<ComparedMonth, "month" | "currency">): string {
  return `${month} ${currency}`;
}
