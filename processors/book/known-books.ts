/**
 * Which books (a provider of a workspace and environment) the state holds. A book that is new to it
 * may be in the tables already: after a restore, or when the state was lost. Then what booking
 * needs is read from there, once.
 */
import { LRUCache } from "lru-cache";
import { matching } from "../../stores/clickhouse/rows.js";
import { literal } from "../../stores/clickhouse/sql-text.js";
import type { ClickHouse } from "../../stores/clickhouse/clickhouse.js";
import type { Log } from "../../stores/log/log.js";
import { grouped } from "../../runtime/lists.js";
import type { Logger } from "../../runtime/logger.js";
import { type Fact, factCodec, topics } from "../../schemas/records/records.js";
import type { OwnedPartition } from "../../stores/state/state.js";
import { nameOf } from "../normalize/facts.js";
import { movementDimensions, type RecordedRow } from "./account/recorded.js";
import {
  accounts,
  moneyFacts,
  pools,
  subscriptionAccounts,
  KeptLists,
  keyOf,
  type Kind,
  Lists,
} from "./lists.js";
import { nameOfAccount } from "./subscriptions/accounts.js";
import { changesOf } from "./subscriptions/changes.js";
import type { Side } from "./subscriptions/pairing.js";
import { endId, nameOfPool } from "./subscriptions/pools.js";
import { nameOfSubscription } from "./subscriptions/transfer-rules.js";

type Book = Pick<Fact, "workspace" | "environment" | "provider">;

interface Stores {
  readonly clickhouse: ClickHouse;
  readonly log: Pick<Log, "ends">;
  readonly logger: Logger;
}

type Commit = (values: ReadonlyMap<string, Buffer>) => Promise<unknown>;

const pageRows = 10_000;
const booksKeptMax = 10_000;
/** Its lists have no items: that one exists says that the book is known. */
const books: Kind<Book> = {
  letter: "b",
  encode: (book) => Buffer.from(JSON.stringify(book)),
  // It was written by `encode`.
  decode: (stored): Book => JSON.parse(stored.toString()),
};
const doubtfulKey = "doubtful";

export class KnownBooks {
  readonly #known = new LRUCache<string, true>({ max: booksKeptMax });

  private constructor(
    private readonly stores: Stores,
    private readonly owned: OwnedPartition,
    private doubtfulBelow: bigint,
  ) {}

  static async open(stores: Stores, owned: OwnedPartition): Promise<KnownBooks> {
    const stored = (await owned.read([doubtfulKey])).get(doubtfulKey);
    return new KnownBooks(stores, owned, stored === undefined ? 0n : BigInt(stored.toString()));
  }

  /** Facts that lay on the topic when a book was read from the tables may be there in part. */
  isDoubtful(offset: bigint): boolean {
    return offset < this.doubtfulBelow;
  }

  /**
   * To be called before facts are booked.
   * @returns what is to be stored with them
   */
  async find(facts: readonly Fact[], commit: Commit): Promise<ReadonlyMap<string, Buffer>> {
    const named = new Map<string, Book>();
    for (const { workspace, environment, provider } of facts) {
      const name = nameOf({ workspace, environment, provider }, "book");
      if (!this.#known.has(name)) named.set(name, { workspace, environment, provider });
    }
    if (named.size === 0) return new Map();
    const stored = await this.owned.read(Array.from(named.keys(), (name) => keyOf(books, name)));
    const found = this.#blank();
    await found.load(books, named.keys());
    for (const [name, book] of named) {
      if (stored.has(keyOf(books, name))) continue;
      const isThere = await this.#readFromTables(book, commit);
      found.add(books, name, [book]);
      if (!isThere) continue;
      const end = (await this.stores.log.ends(topics.facts))[this.owned.partition] ?? 0n;
      if (end > this.doubtfulBelow) this.doubtfulBelow = end;
    }
    for (const name of named.keys()) this.#known.set(name, true);
    const { values } = found.changes();
    if (values.size > 0) values.set(doubtfulKey, Buffer.from(this.doubtfulBelow.toString()));
    return values;
  }

  /** Lists as if none were stored, because the tables have all of them. */
  #blank(): Lists {
    return new Lists({ read: async () => new Map() }, new KeptLists());
  }

  /** @returns whether anything was there */
  async #readFromTables(book: Book, commit: Commit): Promise<boolean> {
    const { clickhouse, logger } = this.stores;
    const condition = matching([book], "workspace", "environment", "provider");
    const tables = ["money_facts", "subscription_changes", "unidentified_sides"];
    const counts = tables.map((table) => `(SELECT count() FROM ${table} WHERE ${condition})`);
    const [row] = await clickhouse.rows<{ n: string }>(`SELECT ${counts.join(" + ")} AS n`);
    const rows = Number(row?.n ?? 0);
    if (rows === 0) return false;
    logger.info({ ...book, rows }, "a book is read from the tables");
    await this.#readMoney(condition, commit);
    await this.#readAccounts(book, condition, commit);
    await this.#readSubscriptions(book, condition, commit);
    await this.#readPools(condition, commit);
    logger.info({ ...book, rows }, "the book is read");
    return true;
  }

  async #readMoney(condition: string, commit: Commit): Promise<void> {
    for await (const keys of this.#pages("money_facts", "key", condition)) {
      const rows = await this.stores.clickhouse.rows<{ key: string; fact: string }>(
        `SELECT key, fact FROM money_facts WHERE ${condition} AND ${matching(keys, "key")}
         ORDER BY key, received_at, fact_id LIMIT 1 BY key, fact_id`,
      );
      const lists = this.#blank();
      for (const [key, some] of grouped(rows, (each) => each.key)) {
        const facts = some.map(({ fact }) => factCodec.fromText(fact));
        const [first] = facts;
        if (first === undefined) continue;
        await lists.load(moneyFacts, [nameOf(first, key)]);
        lists.add(moneyFacts, nameOf(first, key), facts);
      }
      await commit(lists.changes().values);
    }
  }

  async #readAccounts(book: Book, condition: string, commit: Commit): Promise<void> {
    const { clickhouse } = this.stores;
    for await (const names of this.#pages("subscription_changes", "account", condition)) {
      const inPage = `${condition} AND ${matching(names, "account")}`;
      const known = await changesOf(clickhouse, inPage);
      const corrections = await clickhouse.rows<RecordedRow>(
        `SELECT ${movementDimensions.join(", ")}, mrr, accounts, subscriptions, correction
         FROM mrr_movements WHERE ${inPage} AND correction > 0`,
      );
      const byAccount = grouped(corrections, ({ account }) => account);
      const lists = this.#blank();
      for (const changes of known) {
        const [first] = changes;
        if (first === undefined) continue;
        const name = nameOfAccount({ ...book, account: first.account });
        const corrected = byAccount.get(first.account) ?? [];
        await lists.load(accounts, [name]);
        lists.add(accounts, name, [
          ...changes.map((change) => ({ change })),
          ...corrected.map((correction) => ({ correction })),
        ]);
      }
      await commit(lists.changes().values);
    }
  }

  async #readSubscriptions(book: Book, condition: string, commit: Commit): Promise<void> {
    for await (const names of this.#pages("subscription_changes", "subscription", condition)) {
      const rows = await this.stores.clickhouse.rows<{ subscription: string; account: string }>(
        `SELECT DISTINCT subscription, account FROM subscription_changes
         WHERE ${condition} AND ${matching(names, "subscription")}`,
      );
      const lists = this.#blank();
      for (const [subscription, some] of grouped(rows, (row) => row.subscription)) {
        const name = nameOfSubscription({ ...book, subscription });
        await lists.load(subscriptionAccounts, [name]);
        lists.add(
          subscriptionAccounts,
          name,
          some.map(({ account }) => account),
        );
      }
      await commit(lists.changes().values);
    }
  }

  async #readPools(condition: string, commit: Commit): Promise<void> {
    const { clickhouse } = this.stores;
    const listed = await clickhouse.rows<{ event_id: string }>(
      `SELECT event_id FROM rejects FINAL
       WHERE ${condition} AND reason = 'no_open_subscription' AND state = 'open'`,
    );
    const open = new Set(listed.map(({ event_id: id }) => id));
    for await (const names of this.#pages("unidentified_sides", "pool", condition)) {
      const sides = await clickhouse.rows<Side>(
        `SELECT workspace, environment, pool, at, fact_id, side, provider, subscription, account,
                event_id, recorded_at, native_type, partition, offset
         FROM unidentified_sides WHERE ${condition} AND ${matching(names, "pool")}`,
      );
      const starts = sides.filter(({ side }) => side === "start");
      const ids = starts.map((start) => ({ change_id: endId(start), account: start.account }));
      const ends =
        ids.length === 0
          ? []
          : (
              await changesOf(
                clickhouse,
                `${condition} AND ${matching(ids, "account")} AND ${matching(ids, "change_id")}`,
              )
            ).flat();
      const endsOf = grouped(ends, ({ change_id: id }) => id);
      const lists = this.#blank();
      for (const [name, some] of grouped(sides, nameOfPool)) {
        await lists.load(pools, [name]);
        lists.add(pools, name, [
          ...some.map((side) => ({ side })),
          ...some.flatMap((side) => endsOf.get(endId(side)) ?? []).map((end) => ({ end })),
          ...some
            .filter(({ side, event_id: id }) => side === "churn" && open.has(id))
            .map(({ event_id }) => ({ listed: event_id, isListed: true })),
        ]);
      }
      await commit(lists.changes().values);
    }
  }

  /** Values of a column in their order, of some thousand rows at a time. */
  async *#pages<Column extends string>(
    table: string,
    column: Column,
    condition: string,
  ): AsyncGenerator<Record<Column, string>[]> {
    for (let after = "", more = true; more;) {
      const page = await this.stores.clickhouse.rows<Record<Column, string> & { n: string }>(
        `SELECT ${column}, count() AS n FROM ${table}
         WHERE ${condition} AND ${column} > ${literal(after)}
         GROUP BY ${column} ORDER BY ${column} LIMIT ${pageRows}`,
      );
      more = page.length === pageRows;
      after = page.at(-1)?.[column] ?? after;
      let [from, rows] = [0, 0];
      for (const [index, { n }] of page.entries()) {
        rows += Number(n);
        if (rows < pageRows && index + 1 < page.length) continue;
        yield page.slice(from, index + 1);
        [from, rows] = [index + 1, 0];
      }
    }
  }
}
