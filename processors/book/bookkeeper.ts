/**
 * Books facts. All facts of a book (a provider of a workspace and environment) lie in one
 * partition, and a partition has one bookkeeper. It reads what is known, works out what follows,
 * and commits it with its rows and messages in one transaction of the state.
 */
import { setTimeout as pause } from "node:timers/promises";
import type { ClickHouse } from "../../stores/clickhouse/clickhouse.js";
import { tabSeparated } from "../../stores/clickhouse/rows.js";
import { limits } from "../../config.js";
import { chunksBySize, mapInTurns } from "../../runtime/lists.js";
import type { Log, LogRecord } from "../../stores/log/log.js";
import type { Logger } from "../../runtime/logger.js";
import { type Fact, topics } from "../../schemas/records/records.js";
import {
  Fenced,
  type Lane,
  type OwnedPartition,
  type RowLane,
  rowLanes,
  type State,
} from "../../stores/state/state.js";
import type { NamedSku, Skus } from "../../workspaces/catalogue/skus.js";
import type { Left } from "../batch-coalescer.js";
import { isBookKey, matterOf } from "../normalize/facts.js";
import {
  type Booked,
  type BookedRows,
  bookedTableNames,
  bookedTables,
  type Message,
  readFacts,
  Publisher,
  readMessages,
  writeMessages,
} from "./booked.js";
import { KnownBooks } from "./known-books.js";
import { bookMoney } from "./money/book-money.js";
import { repairTables } from "./repair-tables.js";
import { KeptLists, Lists } from "./lists.js";
import { bookSubscriptions } from "./subscriptions/book-subscriptions.js";
import { type RowsText, TableWriter, writeRows } from "./table-writer.js";

export interface BookingService {
  readonly clickhouse: ClickHouse;
  readonly log: Pick<Log, "append" | "ends" | "partitionOf" | "shared">;
  readonly logger: Logger;
  readonly skus: Skus;
  readonly state: State;
  /** Called for each batch once its changes are published. */
  readonly booked?: (figures: "transactions" | "mrr", batch: readonly Fact[]) => void;
  /** Called for a message that cannot be published although all stores are available. */
  readonly unpublished?: (message: Message, error: unknown) => Promise<void>;
}

export class Bookkeeper {
  readonly #books = new Map<number, Promise<PartitionBooks>>();
  readonly #kept = new KeptLists();
  readonly #writer: TableWriter;

  constructor(private readonly service: BookingService) {
    this.#writer = new TableWriter(service);
  }

  /**
   * @param records of one partition
   * @returns what is still to be finished
   */
  async handle(records: readonly LogRecord[]): Promise<Left | undefined> {
    const [first] = records;
    if (first === undefined) return undefined;
    const { partition } = first;
    const known = this.#books.get(partition);
    const opening = known ?? PartitionBooks.open(this.service, this.#writer, this.#kept, partition);
    if (known === undefined) this.#books.set(partition, opening);
    const forget = (): void => {
      if (this.#books.get(partition) === opening) this.#books.delete(partition);
    };
    try {
      const left = await (await opening).book(records);
      // Another process has taken the partition: if it comes back here, it has to be opened anew.
      left.finished.catch((error: unknown) => {
        if (error instanceof Fenced) forget();
      });
      return left;
    } catch (error) {
      // What is in memory may differ from what is stored.
      forget();
      throw error;
    }
  }

  /** Called when somebody waits for what is shown, or for all that is written. */
  hurry(what: "shown" | "all"): void {
    this.#writer.hurry(what);
  }

  /** @throws why nothing can be written to ClickHouse now */
  check(): void {
    if (this.#writer.failure !== null) throw this.#writer.failure;
  }

  /** Rows are written as soon as they can be from now on. */
  hasten(): void {
    this.#writer.hasten();
  }

  /** As `hasten`; whoever waits for rows that cannot be written now gets an error. */
  stop(): void {
    this.#writer.stop();
  }

  /** To be called once no batch is handled any more. */
  async close(): Promise<void> {
    for (const opening of this.#books.values()) {
      await opening.then((books) => books.close()).catch(() => undefined);
    }
    await this.#writer.close();
  }
}

class PartitionBooks {
  readonly #kept: KeptLists;
  readonly #publisher: Publisher;
  #offset: bigint;
  #sequence: bigint;

  private constructor(
    private readonly service: BookingService,
    private readonly writer: TableWriter,
    private readonly owned: OwnedPartition,
    private readonly known: KnownBooks,
    kept: KeptLists,
  ) {
    this.#kept = kept.ofOwner();
    this.#offset = owned.offset;
    this.#sequence = owned.sequence;
    const { log, logger, unpublished = async () => undefined } = service;
    this.#publisher = new Publisher(log, logger, unpublished);
  }

  static async open(
    service: BookingService,
    writer: TableWriter,
    kept: KeptLists,
    partition: number,
  ): Promise<PartitionBooks> {
    const owned = await service.state.take(partition);
    const known = await KnownBooks.open(service, owned);
    const books = new PartitionBooks(service, writer, owned, known, kept);
    await books.#begin();
    return books;
  }

  async #begin(): Promise<void> {
    const { logger, log } = this.service;
    const { partition } = this.owned;
    const end = (await log.ends(topics.facts))[partition] ?? 0n;
    if (this.#offset > end) {
      logger.warn(
        { partition },
        "the facts topic begins anew: what comes is compared with the state",
      );
      this.#offset = 0n;
    }
    // Earlier owners may not have published these.
    for (const { sequence, value } of await this.owned.unpublished()) {
      await this.#publisher.publish(sequence, readMessages(value)).now;
    }
  }

  async book(records: readonly LogRecord[]): Promise<Left> {
    const { state } = this.service;
    while ((await state.queuedBytes()) > limits.outboxBytesMax) await pause(roomEveryMs);
    // Records under other keys are of earlier versions, which booked them.
    const fresh = records.filter(({ key, offset }) => isBookKey(key) && offset >= this.#offset);
    const last = records.at(-1);
    if (last === undefined || last.offset < this.#offset) return this.#left();
    const own = await this.#sortOut(fresh);
    const batch = await readFacts(own);
    const found = await this.known.find(batch, (values) => this.#commit({ values }));
    const doubtful = await readFacts(own.filter(({ offset }) => this.known.isDoubtful(offset)));
    const end = last.offset + 1n;
    const again = await this.#book(batch, found, doubtful.length > 0 ? this.#offset : end);
    const repaired = new Set([...doubtful, ...again]);
    if (repaired.size > 0) {
      await this.#repair([...repaired]);
      await this.#commit({ values: new Map(), offset: end });
    }
    return this.#left();
  }

  /**
   * Facts from a log with other partitions may lie in a partition that their book does not. They
   * are appended again to its own.
   * @returns the others
   */
  async #sortOut(records: readonly LogRecord[]): Promise<LogRecord[]> {
    const { log } = this.service;
    const isOwn = ({ key, partition }: LogRecord): boolean =>
      log.partitionOf(topics.facts, key) === partition;
    const misplaced = records.filter((record) => !isOwn(record));
    const again = misplaced.map(({ key, value }) => ({ key, value }));
    if (again.length > 0) await log.append(topics.facts, again);
    return records.filter(isOwn);
  }

  /**
   * @param found what is to be stored with it
   * @param end of the batch; where something has to be repaired, the offset stays
   * @returns facts that came again
   */
  async #book(
    batch: readonly Fact[],
    found: ReadonlyMap<string, Buffer>,
    end: bigint,
  ): Promise<Fact[]> {
    const { skus, booked } = this.service;
    // Names first: a payment may be the first to mention its SKU.
    await skus.name(batch.flatMap(skuNamed));
    const lists = new Lists(this.owned, this.#kept);
    const now = Date.now();
    const [money, subscriptions] = [about(batch, "money"), about(batch, "subscriptions")];
    const parts: Booked[] = [];
    if (money.length > 0) parts.push(await bookMoney(lists, skus, money, now));
    if (subscriptions.length > 0) {
      parts.push(await bookSubscriptions(lists, skus, subscriptions, now));
    }
    const again = parts.flatMap((part) => part.again);
    const { values, keep } = lists.changes();
    for (const [key, value] of found) values.set(key, value);
    const messages = parts.flatMap((part) => part.messages);
    const rows = await rowsText(parts.map((part) => part.rows));
    const offset = again.length > 0 ? this.#offset : end;
    const sequence = await this.#commit({ values, offset, rows, messages });
    keep();
    await this.#publisher.publish(sequence, messages).now;
    booked?.("transactions", money);
    booked?.("mrr", subscriptions);
    return again;
  }

  async #commit(given: {
    readonly values: ReadonlyMap<string, Buffer>;
    readonly offset?: bigint;
    readonly rows?: ReadonlyMap<RowLane, RowsText>;
    readonly messages?: readonly Message[];
  }): Promise<bigint> {
    const { values, offset = this.#offset, rows, messages = [] } = given;
    const queued: Partial<Record<Lane, Buffer>> = {};
    if (messages.length > 0) queued.messages = writeMessages(messages);
    for (const [lane, text] of rows ?? []) queued[lane] = writeRows(text);
    const { published } = this.#publisher;
    this.#sequence = await this.owned.commit({ offset, values, queued, published });
    this.#offset = offset;
    return this.#sequence;
  }

  /** Inserts what may be missing in the tables, once all that is queued is written. */
  async #repair(facts: readonly Fact[]): Promise<void> {
    await Promise.all(rowLanes.map((lane) => this.#written(lane)));
    await repairTables(this.service, new Lists(this.owned, this.#kept), facts);
  }

  #written(lane: RowLane): Promise<void> {
    return this.writer.written(lane, this.owned, this.#sequence);
  }

  #left(): Left {
    const shown = this.#written("shown");
    const finished = Promise.all([shown, this.#written("rest"), this.#publisher.settled()]);
    return { shown, finished: finished.then(() => undefined) };
  }

  async close(): Promise<void> {
    this.#publisher.close();
    await this.#commit({ values: new Map() });
  }
}

const roomEveryMs = 100;

function skuNamed({ workspace, environment, provider, happened_at: at, body }: Fact): NamedSku[] {
  if (!("Sku" in body)) return [];
  const { external_id: externalId, name } = body.Sku;
  return [{ workspace, environment, provider, externalId, name, at }];
}

function about(batch: readonly Fact[], matter: "money" | "subscriptions"): Fact[] {
  return batch.filter(({ body }) => matterOf(body) === matter);
}

/** Rows written as text before other work gets its turn. */
const rowsAtOnce = 100;

async function rowsText(parts: readonly BookedRows[]): Promise<Map<RowLane, RowsText>> {
  const lanes = new Map<RowLane, RowsText>();
  for (const table of bookedTableNames) {
    const rows = parts.flatMap((part) => part[table] ?? []);
    if (rows.length === 0) continue;
    const lane = table === "transactions" ? "shown" : "rest";
    const chunks = [...chunksBySize(rows, rowsAtOnce, () => 1)];
    const texts = await mapInTurns(chunks, (some) => tabSeparated(bookedTables[table], some));
    lanes.set(lane, { ...lanes.get(lane), [table]: texts.join("") });
  }
  return lanes;
}
