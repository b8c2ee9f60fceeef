/**
 * The ids about which a provider without lists is asked: those that are booked and those that a
 * person uploaded, in the order of their bytes.
 */
import { LRUCache } from "lru-cache";
import type { BookedKind } from "../../providers/backfill.js";
import { compare } from "../../runtime/order.js";
import type { ClickHouse } from "../../stores/clickhouse/clickhouse.js";
import type { Postgres } from "../../stores/postgres/postgres.js";
import { type Backfill, uploadedIds } from "../../workspaces/history/backfills.js";
import type { Integration } from "../../workspaces/integrations.js";

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
