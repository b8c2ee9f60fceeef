/**
 * Publishes what each commit queued, in order and without waiting for any table. After a crash,
 * messages that may not have been published are published again, with the same ids and versions.
 */
import { setTimeout as pause } from "node:timers/promises";
import { limits } from "../../config.js";
import type { Log } from "../../stores/log/log.js";
import { type Topic, transactionCodec } from "../../schemas/records/records.js";
import { grouped } from "../../runtime/grouped.js";
import type { Logger } from "../../runtime/logger.js";
import { isStoreAway } from "../../stores/store-away.js";
import type { Message } from "./booked.js";

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
