/**
 * The state port: what booking knows of payments, accounts and pools, how far each partition of the
 * facts topic is booked, and what is still to be published and written to ClickHouse (the outbox).
 *
 * Contract, the same for every adapter (test/state/state.test.ts runs it):
 *
 * - A commit is one transaction: values, outbox and the partition's offset, all or nothing. When it
 *   resolves it is durable: a `kill -9` right after loses nothing of it.
 * - A partition has one owner. Who takes it gets a new epoch; a commit under an old one rejects with
 *   Fenced and changes nothing, and nothing is sealed under an old one.
 * - The outbox has lanes. What was queued in a lane is taken in sealed batches: a batch keeps its
 *   token and its entries until it is removed, whoever has the partitions by then, so that writing
 *   it a second time can be recognized by its token. A batch may hold entries of several partitions;
 *   all entries of a batch are given to each one who asks for it.
 */
import { TryLater } from "../runtime/store-away.js";

/** `messages`: for the public topics. `shown`: rows that lists show. `rest`: all other rows. */
export const lanes = ["messages", "shown", "rest"] as const;
export type Lane = (typeof lanes)[number];

export interface Queued {
  readonly partition: number;
  /** Grows by one with each commit of its partition. */
  readonly sequence: bigint;
  readonly value: Buffer;
}

/** Entries of one lane, in the order of partition and sequence. */
export interface SealedBatch {
  readonly lane: Lane;
  /** No other batch has or had it. Letters, digits, `-` and `:`. */
  readonly token: string;
  readonly entries: readonly Queued[];
}

export interface Commit {
  /** Of the next fact to be booked. */
  readonly offset: bigint;
  /** What changes, by key (`keyBytesMax`). */
  readonly values: ReadonlyMap<string, Buffer>;
  readonly queued: Readonly<Partial<Record<Lane, Buffer>>>;
}

/** Of a key, in UTF-8. */
export const keyBytesMax = 200;

/** A partition of the facts topic, in the hands of one owner. */
export interface OwnedPartition {
  readonly partition: number;
  /** Of the next fact to be booked; 0 when none ever was. */
  readonly offset: bigint;
  /** The values there are, by key. */
  read(keys: readonly string[]): Promise<Map<string, Buffer>>;
  /** @returns its sequence. @throws Fenced */
  commit(commit: Commit): Promise<bigint>;
}

export interface State {
  /** From now on nobody who had it before can commit. */
  take(partition: number): Promise<OwnedPartition>;
  /**
   * The next batch of a lane, of all partitions taken by this process: one that was sealed and not
   * removed yet, else a new one of the oldest entries, one at least and else up to `bytesMax`.
   * Partitions that another process took since are left out.
   * @returns null when nothing is queued
   */
  seal(lane: Lane, bytesMax: number): Promise<SealedBatch | null>;
  /** All of it is published or written. Repeated, it changes nothing. */
  remove(batch: Pick<SealedBatch, "lane" | "token">): Promise<void>;
  /** Bytes that are queued of the partitions taken by this process, all lanes together. */
  queuedBytes(): Promise<number>;
  /** All values of a partition, in the order of their keys, for rebuilding. */
  values(partition: number): AsyncIterable<readonly [key: string, value: Buffer]>;
  /** Forgets all values, offsets and what is queued; nobody may be booking. */
  clear(): Promise<void>;
  close(): Promise<void>;
}

/** Another process has taken the partition. */
export class Fenced extends TryLater {
  override readonly name = "Fenced";

  constructor(partition: number) {
    super(`another process books partition ${partition} now`);
  }
}
