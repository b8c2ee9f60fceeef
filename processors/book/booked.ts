/** What a batch makes: rows of the tables, and messages, which are published here. */
import type { NewRecord, LogRecord, Log } from "../../stores/log/log.js";
import {
  type Fact,
  type Topic,
  factRecords,
  transactionCodec,
} from "../../schemas/records/records.js";
import { bookedAtColumn } from "../../schemas/booked-at.js";
import { rejectColumns } from "../../workspaces/rejects/rejects.js";
import { factColumns, ledgerColumns, versionColumns } from "./money/money-tables.js";
import { changeColumns } from "./subscriptions/changes.js";
import { movementColumns } from "./subscriptions/movements.js";
import { sideColumns } from "./subscriptions/pools.js";
import type { SkuName } from "../../workspaces/catalogue/skus.js";
import { grouped, mapInTurns } from "../../runtime/lists.js";
import { setTimeout as pause } from "node:timers/promises";
import { limits } from "../../config.js";
import type { Logger } from "../../runtime/logger.js";
import { isStoreAway } from "../../stores/store-away.js";

/**
 * The columns of the tables that booking writes, in the order in which a batch is written: a repair
 * that sees a payment's ledger then also sees its facts.
 */
export const bookedTables = {
  transactions: `${versionColumns}, ${bookedAtColumn}`,
  money_facts: factColumns,
  ledger: `${ledgerColumns}, ${bookedAtColumn}`,
  unidentified_sides: sideColumns,
  subscription_changes: `${changeColumns}, ${bookedAtColumn}`,
  mrr_movements: `${movementColumns}, ${bookedAtColumn}`,
  rejects: rejectColumns,
} as const;
export type BookedTable = keyof typeof bookedTables;
export const bookedTableNames = Object.keys(bookedTables).filter(
  (name): name is BookedTable => name in bookedTables,
);

export type BookedRows = Partial<Record<BookedTable, readonly object[]>>;

export interface Message extends NewRecord {
  readonly topic: Topic;
  /**
   * ms since 1970: until then a newer message with its key takes its place; left out: it is sent at
   * once.
   */
  readonly waitsUntil?: number;
  /** The event to list as a reject if the message can never be published. */
  readonly about?: PublishedEvent;
}

interface PublishedEvent extends Pick<
  Fact,
  | "event_id"
  | "workspace"
  | "environment"
  | "provider"
  | "native_type"
  | "received_at"
  | "partition"
> {
  readonly offset: string;
}

export function publishedEvent(fact: Fact): PublishedEvent {
  const { event_id, workspace, environment, provider, native_type, received_at } = fact;
  const { partition, offset } = fact;
  const name = { event_id, workspace, environment, provider, native_type, received_at };
  return { ...name, partition, offset: offset.toString() };
}

export interface Booked {
  readonly rows: BookedRows;
  readonly messages: readonly Message[];
  /** Facts known by the same receipt: their raw events are replayed, not delivered again. */
  readonly again: readonly Fact[];
}

/** In log order. A fact that was published twice is included once, as first reported. */
export async function readFacts(records: readonly LogRecord[]): Promise<Fact[]> {
  const facts = new Map<string, Fact>();
  for (const fact of await mapInTurns(records, ({ value }) => factRecords.decode(value))) {
    if (!facts.has(fact.fact_id)) facts.set(fact.fact_id, fact);
  }
  return [...facts.values()];
}

export function skusOf(
  { workspace, environment, provider }: Omit<SkuName, "externalId">,
  sold: readonly { readonly external_id: string }[],
): SkuName[] {
  return [...new Set(sold.map(({ external_id }) => external_id))]
    .filter((externalId) => externalId !== "")
    .map((externalId) => ({ workspace, environment, provider, externalId }));
}

const firstPauseMs = 100;

export function writeMessages(messages: readonly Message[]): Buffer {
  const texts = messages.map(({ topic, key, value, about }) => {
    return { topic, key, value: value.toString("base64"), about };
  });
  return Buffer.from(JSON.stringify(texts));
}

export function readMessages(stored: Buffer): Message[] {
  const texts: (Omit<Message, "value"> & { readonly value: string })[] = JSON.parse(
    stored.toString(),
  );
  return texts.map((text) => ({ ...text, value: Buffer.from(text.value, "base64") }));
}

interface Waiting {
  readonly message: Message;
  /** Aborted when a newer message takes its place. */
  readonly newer: AbortController;
  /** The commit of the newer one. */
  newerOf?: bigint;
}

/**
 * Publishes what each commit queued, in order and without waiting for any table. After a crash,
 * messages that may not have been published are published again, with the same ids and versions.
 */
export class Publisher {
  #turn: Promise<void> = Promise.resolve();
  readonly #waiting = new Map<string, Waiting>();
  /** Commits that are not wholly published; one that failed stays. */
  readonly #open = new Map<bigint, Promise<void>>();
  #last = 0n;
  readonly #stopping = new AbortController();

  constructor(
    private readonly log: Pick<Log, "append">,
    private readonly logger: Logger,
    /** Takes a message that cannot be published although all stores are available. */
    private readonly refuse: (message: Message, error: unknown) => Promise<void>,
  ) {}

  get published(): bigint {
    let published = this.#last;
    for (const sequence of this.#open.keys()) if (sequence <= published) published = sequence - 1n;
    return published;
  }

  /**
   * To be called commit by commit.
   * @returns `now` resolves when all is published that need not wait
   */
  publish(sequence: bigint, messages: readonly Message[]): { readonly now: Promise<void> } {
    this.#last = sequence;
    const newest = messages.map((message) => this.#inPlace(message, sequence));
    const at = Date.now();
    const waits = ({ waitsUntil = 0 }: Message): boolean => waitsUntil > at;
    const now = this.#append(newest.filter((message) => !waits(message)));
    const later = newest.filter(waits).map((message) => this.#hold(message));
    const all = Promise.all([now, ...later]).then(() => void this.#open.delete(sequence));
    this.#open.set(sequence, all);
    // Whoever waits for it gets the failure; until then it must not count as unhandled.
    all.catch(() => undefined);
    return { now };
  }

  /** Resolves when all that was given so far is published. */
  async settled(): Promise<void> {
    await Promise.all(this.#open.values());
  }

  /** What waits is sent at once. */
  close(): void {
    this.#stopping.abort();
    for (const { newer } of this.#waiting.values()) newer.abort();
  }

  /** If the message that waited was the first of its transaction, this one is the first instead. */
  #inPlace(message: Message, sequence: bigint): Message {
    const older = this.#waiting.get(message.key);
    if (older === undefined) return message;
    older.newerOf = sequence;
    older.newer.abort();
    if (!transactionCodec.decode(older.message.value).first) return message;
    const value = transactionCodec.decode(message.value);
    return { ...message, value: transactionCodec.encode({ ...value, first: true }) };
  }

  async #hold(message: Message): Promise<void> {
    const newer = new AbortController();
    const waiting: Waiting = { message, newer };
    this.#waiting.set(message.key, waiting);
    const ms = (message.waitsUntil ?? 0) - Date.now();
    await pause(ms, undefined, { signal: newer.signal }).catch(() => undefined);
    if (this.#waiting.get(message.key) === waiting) this.#waiting.delete(message.key);
    if (waiting.newerOf === undefined) return this.#append([message]);
    // The outbox keeps this one until then: after a crash it is the first of its transaction.
    await this.#open.get(waiting.newerOf);
  }

  #append(messages: readonly Message[]): Promise<void> {
    if (messages.length === 0) return this.#turn;
    this.#turn = this.#turn.then(() => this.#appendAll(messages));
    return this.#turn;
  }

  async #appendAll(messages: readonly Message[]): Promise<void> {
    const byTopic = grouped(messages, ({ topic }) => topic);
    for (const [topic, some] of byTopic) await this.#appendSome(topic, some);
  }

  /** If that fails, each message is tried alone. */
  async #appendSome(topic: Topic, messages: readonly Message[]): Promise<void> {
    const records = messages.map(({ key, value }) => ({ key, value }));
    try {
      await this.#again(() => this.log.append(topic, records));
    } catch (error) {
      const [first, ...others] = messages;
      if (isStoreAway(error) || first === undefined) throw error;
      if (others.length === 0) return this.#again(() => this.refuse(first, error));
      for (const message of messages) await this.#appendSome(topic, [message]);
    }
  }

  /**
   * Tries again while a store is unavailable, or until this process ends and the next one publishes
   * them.
   */
  async #again<T>(work: () => Promise<T>): Promise<T> {
    const { signal } = this.#stopping;
    for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(2 * pauseMs, limits.retryPauseMsMax)) {
      try {
        return await work();
      } catch (error) {
        if (signal.aborted || !isStoreAway(error)) throw error;
        this.logger.error({ err: error, pauseMs }, "messages could not be published yet");
        await pause(pauseMs, undefined, { signal }).catch(() => undefined);
      }
    }
  }
}
