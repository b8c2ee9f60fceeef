/**
 * The state port: what booking knows of payments, accounts and pools, how far each partition of the
 * facts topic is booked, and what is still to be published and written to ClickHouse (the outbox).
 *
 * Contract, the same for every adapter (test/state/state-contract.ts):
 *
 * - A commit is one transaction: values, outbox and the partition's offset, all or nothing. When it
 *   resolves it is durable: a `kill -9` right after loses nothing of it.
 * - A partition has one owner. When another takes it, commits of the earlier one reject with Fenced
 *   and change nothing, and nothing more is sealed for that one.
 * - The outbox has lanes. What was queued in a lane is taken in sealed batches: a batch keeps its
 *   token and its entries until it is removed, whoever has the partitions by then, so that writing
 *   it a second time can be recognized by its token. A batch may hold entries of several
 *   partitions; all entries of a batch are given to each one who asks for it.
 * - Messages are queued, too, but belong to the partition's owner, who publishes them commit after
 *   commit. A later commit says up to which one they are published, and they are gone with it.
 */
import { TryLater } from "../store-away.js";
import assert from "node:assert";

/** `shown`: rows that lists show. `rest`: all other rows. */
export const rowLanes = ["shown", "rest"] as const;
export type RowLane = (typeof rowLanes)[number];
/** `messages`: for the public topics; they are not taken in batches. */
export type Lane = RowLane | "messages";

export interface Queued {
  readonly partition: number;
  /** Grows by one with each commit of its partition. */
  readonly sequence: bigint;
  readonly value: Buffer;
}

/** Entries of one lane, in the order of partition and sequence. */
export interface SealedBatch {
  readonly lane: RowLane;
  /** Unique for ever. Letters, digits, `-` and `:`. */
  readonly token: string;
  readonly entries: readonly Queued[];
  /** It may have been given before, here or to another process, and be partly written. */
  readonly isAgain: boolean;
}

export interface Commit {
  /** Of the next fact to be booked. */
  readonly offset: bigint;
  /** What changes, by key (`keyBytesMax`). */
  readonly values: ReadonlyMap<string, Buffer>;
  readonly queued: Readonly<Partial<Record<Lane, Buffer>>>;
  /** The messages of all commits up to this earlier one are published, and are removed. */
  readonly published: bigint;
}

/** Of a key, in UTF-8; at least one, and none is NUL. */
export const keyBytesMax = 200;

export const sealedEntriesMax = 1_000;

/** A partition of the facts topic and its state, for its owner. */
export interface OwnedPartition {
  readonly partition: number;
  /** Of the next fact to be booked; 0 before the first. */
  readonly offset: bigint;
  /** Of the last commit; 0 before the first. */
  readonly sequence: bigint;
  /**
   * The queued messages that no commit has marked as published, in order; none of commits that
   * another process made since it took the partition.
   */
  unpublished(): Promise<Queued[]>;
  /** False: another process has taken it since. */
  isHeld(): Promise<boolean>;
  /** By key; missing ones are left out. */
  read(keys: readonly string[]): Promise<Map<string, Buffer>>;
  /**
   * One at a time: of two at once, one is fenced. After any failure but Fenced it may be repeated
   * as it was: if the first try succeeded after all (a server's answer may be lost), the second is
   * fenced, and the partition has to be taken again.
   * @returns its sequence.
   * @throws Fenced
   */
  commit(commit: Commit): Promise<bigint>;
}

export interface State {
  /** No earlier owner can commit from now on. */
  take(partition: number): Promise<OwnedPartition>;
  /**
   * The next batch of a lane, of all partitions taken by this process: one that was sealed and not
   * removed yet, else a new one of the oldest entries of each partition, at least one and up to
   * `bytesMax` and `sealedEntriesMax`. Partitions that another process took since are left out.
   * @returns null when nothing is queued
   */
  seal(lane: RowLane, bytesMax: number): Promise<SealedBatch | null>;
  /** To be called when all of it is written. May be repeated. */
  remove(batch: Pick<SealedBatch, "lane" | "token">): Promise<void>;
  /**
   * Bytes queued by the partitions of this process, all lanes together. Cheap enough to be asked
   * before each commit: for a second it may include what others removed or took over.
   */
  queuedBytes(): Promise<number>;
  /** All values of a partition, in the order of their keys, for rebuilding. */
  values(partition: number): AsyncIterable<readonly [key: string, value: Buffer]>;
  /**
   * Forgets all values, offsets and queued entries; nobody may be booking. Partitions have to be
   * taken again.
   */
  clear(): Promise<void>;
  close(): Promise<void>;
}

/** Another process took the partition, or a commit succeeded that seemed to have failed. */
export class Fenced extends TryLater {
  override readonly name = "Fenced";

  constructor(partition: number) {
    super(`partition ${partition} was taken or booked by another meanwhile`);
  }
}

const lanes: readonly Lane[] = ["messages", ...rowLanes];

/**
 * Every adapter checks a commit before anything is written, so that a mistake of the caller leaves
 * nothing half done.
 * @param last sequence of the last commit that the partition's owner knows of
 */
export function assertFits({ values, published }: Commit, last: bigint): void {
  assert(published <= last, `published up to ${published}, committed up to ${last}`);
  for (const key of values.keys()) {
    const bytes = Buffer.byteLength(key);
    assert(bytes >= 1 && bytes <= keyBytesMax, `a key of ${bytes} bytes`);
    assert(!key.includes("\0"), "a key with NUL");
  }
}

export function queuedIn({ queued }: Commit): [lane: Lane, value: Buffer][] {
  return lanes.flatMap((lane): [Lane, Buffer][] => {
    const value = queued[lane];
    return value === undefined ? [] : [[lane, value]];
  });
}

export function bytesOf(values: Iterable<readonly [string, Buffer]>): number {
  let sum = 0;
  for (const [, value] of values) sum += value.length;
  return sum;
}

/** Work on one lane of the outbox runs in sequence; lanes run side by side. */
export class LaneTurns {
  readonly #last = new Map<RowLane, Promise<unknown>>();

  /** Begins when all earlier work in this lane has ended, successful or not. */
  take<T>(lane: RowLane, work: () => Promise<T>): Promise<T> {
    const turn = (this.#last.get(lane) ?? Promise.resolve()).then(work);
    this.#last.set(
      lane,
      turn.catch(() => undefined),
    );
    return turn;
  }
}
