/** Compares what a provider lists as paid with what is booked, by month and currency. */
import {
  type Backfill,
  type ComparedMonth,
  uploadedIds,
} from "../../workspaces/history/backfills.js";
import { clickhouseTime } from "../../stores/clickhouse/rows.js";
import type { ClickHouse } from "../../stores/clickhouse/clickhouse.js";
import type { Integration } from "../../workspaces/integrations.js";
import type { ListedPayment, BookedKind } from "../../providers/backfill.js";
import { transactionId } from "../../schemas/ids.js";
import { LRUCache } from "lru-cache";
import { compare } from "../../runtime/lists.js";
import type { Postgres } from "../../stores/postgres/postgres.js";

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

/**
 * The ids about which a provider without lists is asked: those that are booked and those that a
 * person uploaded, in the order of their bytes.
 */
interface Stores {
  readonly clickhouse: Pick<ClickHouse, "rows">;
  readonly postgres: Postgres;
}

/** A look goes through all that is booked of the workspace, so many ids are taken at once. */
const idsAtOnce = 1_000;
const backfillsMax = 100;

export class KnownIds {
  readonly #next = new LRUCache<string, readonly string[]>({ max: backfillsMax });

  /** @returns the next id after `after`; null when there are no more */
  async next(
    stores: Stores,
    { id, state, list }: Pick<Backfill, "id" | "state" | "list">,
    integration: Integration,
    kinds: readonly BookedKind[],
    after: string,
  ): Promise<string | null> {
    const name = `${id} ${state} ${list}`;
    const isBehind = (one: string): boolean => compare(one, after) > 0;
    const remembered = this.#next.get(name)?.find(isBehind);
    if (remembered !== undefined) return remembered;
    const [booked, uploaded] = await Promise.all([
      bookedIds(stores.clickhouse, integration, kinds, after),
      uploadedIds(stores.postgres, id, after, idsAtOnce),
    ]);
    // Either list may go on behind its last id, so only the first of both together are certain to
    // be all.
    const all = [...new Set([...booked, ...uploaded])].sort(compare).slice(0, idsAtOnce);
    this.#next.set(name, all);
    return all[0] ?? null;
  }
}

/** The column of our tables that has the provider's id. */
const columnsOf: Readonly<Record<BookedKind, string>> = {
  subscription: "SELECT subscription AS id FROM subscription_changes WHERE ",
  one_time_payment: "SELECT payment AS id FROM transactions WHERE type = 'one_time' AND ",
};

async function bookedIds(
  clickhouse: Stores["clickhouse"],
  { workspace, environment, provider }: Integration,
  kinds: readonly BookedKind[],
  after: string,
): Promise<string[]> {
  if (kinds.length === 0) return [];
  const selects = kinds.map(
    (kind) =>
      `${columnsOf[kind]} workspace = {workspace:String} AND environment = {environment:String}
         AND provider = {provider:String}`,
  );
  const rows = await clickhouse.rows<{ id: string }>(
    `SELECT DISTINCT id FROM (${selects.join(" UNION ALL ")})
     WHERE id > {after:String} AND match(id, '^[!-~]+$') ORDER BY id LIMIT {ids:UInt32}`,
    { workspace, environment, provider, after, ids: idsAtOnce },
  );
  return rows.map(({ id }) => id);
}
