/**
 * The state in the LMDB environment of the embedded log, by the log's own writer, so that a commit
 * shares a transaction with the records appended meanwhile. One process has it, so owners of
 * partitions need not be stored.
 */
import { randomUUID } from "node:crypto";
import type { Database, RootDatabase } from "lmdb";
import type { Writer } from "../log/lmdb/partition.js";
import {
  assertFits,
  bytesOf,
  queuedIn,
  LaneTurns,
  type Commit,
  Fenced,
  type Lane,
  type RowLane,
  type OwnedPartition,
  type Queued,
  type SealedBatch,
  sealedEntriesMax,
  type State,
} from "./state.js";

interface Book {
  /** Of the next fact to be booked. */
  readonly offset: number;
  /** Of the last commit; 0 before the first. */
  readonly sequence: number;
  readonly queuedBytes: number;
  readonly sealed: Readonly<Partial<Record<RowLane, Seal | undefined>>>;
}

/** A partition's part of a lane's batch: its oldest entries, up to `last`. */
interface Seal {
  readonly token: string;
  readonly last: number;
  readonly bytes: number;
}

type Share = Omit<Seal, "token">;

const newBook: Book = { offset: 0, sequence: 0, queuedBytes: 0, sealed: {} };

export class LmdbState implements State {
  readonly #values: Database<Buffer, [partition: number, key: string]>;
  readonly #outbox: Database<Buffer, [lane: Lane, partition: number, sequence: number]>;
  readonly #stored: Database<Book, number>;
  /** As they are on disk. */
  readonly #books: Map<number, Book>;
  readonly #staged = new Map<number, Book>();
  /** Of the taken partitions; a new one each time. */
  readonly #owners = new Map<number, symbol>();
  readonly #turns = new LaneTurns();

  constructor(
    root: RootDatabase,
    private readonly writer: Writer,
  ) {
    this.#values = root.openDB({ name: "state/values", encoding: "binary" });
    this.#outbox = root.openDB({ name: "state/outbox", encoding: "binary" });
    this.#stored = root.openDB({ name: "state/partitions", encoding: "json" });
    const stored = this.#stored.getRange();
    this.#books = new Map(Array.from(stored, ({ key, value }) => [key, value]));
  }

  /** Called after each transaction of the writer, before its callers resolve. */
  ended(durable: boolean): void {
    if (durable) for (const [partition, book] of this.#staged) this.#books.set(partition, book);
    this.#staged.clear();
  }

  async take(partition: number): Promise<OwnedPartition> {
    const owner = Symbol(partition);
    // In sequence behind the former owner's commits: none of them can come after it.
    const { offset, sequence } = await this.writer.write({
      apply: () => {
        this.#owners.set(partition, owner);
        return this.#change(partition, {});
      },
    });
    let last = sequence;
    return {
      partition,
      offset: BigInt(offset),
      sequence: BigInt(sequence),
      unpublished: async () => this.#queued("messages", partition, last),
      isHeld: async () => this.#owners.get(partition) === owner,
      read: async (keys) => this.#read(partition, keys),
      commit: async (commit) => {
        last = await this.#commit(partition, owner, last, commit);
        return BigInt(last);
      },
    };
  }

  seal(lane: RowLane, bytesMax: number): Promise<SealedBatch | null> {
    return this.#turns.take(lane, async () => {
      const sealed = this.#sealedToken(lane);
      const token = sealed ?? (await this.#sealOldest(lane, bytesMax));
      if (token === null) return null;
      return { lane, token, entries: this.#entries(lane, token), isAgain: sealed !== null };
    });
  }

  remove({ lane, token }: Pick<SealedBatch, "lane" | "token">): Promise<void> {
    return this.#turns.take(lane, async () => {
      const removed = this.#seals(lane, token).map(([partition, { last, bytes }]) => ({
        partition,
        bytes,
        keys: [...this.#outbox.getKeys(rangeOf(lane, partition, last))],
      }));
      if (removed.length === 0) return;
      await this.writer.write({
        records: removed.reduce((sum, { keys }) => sum + keys.length, 0),
        apply: () => {
          for (const { partition, bytes, keys } of removed) {
            for (const key of keys) void this.#outbox.remove(key);
            const book = this.#book(partition);
            this.#change(partition, {
              queuedBytes: book.queuedBytes - bytes,
              sealed: { ...book.sealed, [lane]: undefined },
            });
          }
        },
      });
    });
  }

  async queuedBytes(): Promise<number> {
    return this.#taken().reduce((sum, [, book]) => sum + book.queuedBytes, 0);
  }

  async *values(partition: number): AsyncGenerator<readonly [key: string, value: Buffer]> {
    for (let after = ""; ;) {
      // A page at a time: LMDB cannot reuse what is freed while a read goes on.
      const page = this.#page(partition, after);
      yield* page;
      const last = page.at(-1);
      if (last === undefined) return;
      [after] = last;
    }
  }

  async clear(): Promise<void> {
    await this.writer.write({
      records: this.#books.size,
      apply: () => {
        this.#owners.clear();
        void this.#values.clearAsync();
        void this.#outbox.clearAsync();
        for (const partition of this.#books.keys()) {
          this.#change(partition, { offset: 0, queuedBytes: 0, sealed: {} });
        }
      },
    });
  }

  /** The environment is closed with the log. */
  async close(): Promise<void> {}

  #read(partition: number, keys: readonly string[]): Map<string, Buffer> {
    return new Map(
      keys.flatMap((key) => {
        const value = this.#values.get([partition, key]);
        return value === undefined ? [] : [[key, value]];
      }),
    );
  }

  /** @param last the sequence that its owner knows of */
  async #commit(partition: number, owner: symbol, last: number, commit: Commit): Promise<number> {
    assertFits(commit, BigInt(last));
    const { offset, values, published } = commit;
    const queued = queuedIn(commit);
    // Read before the transaction, and still exact within it: only commits of this partition remove
    // messages, and after such a commit this one is fenced.
    const gone = this.#queued("messages", partition, Number(published));
    const bytes = bytesOf(queued);
    const goneBytes = gone.reduce((sum, { value }) => sum + value.length, 0);
    const sequence = await this.writer.write({
      records: 1 + values.size + queued.length + gone.length,
      bytes: bytes + bytesOf(values),
      apply: () => {
        const book = this.#book(partition);
        // Not thrown, which would leave the transaction of all who share it half written.
        if (this.#owners.get(partition) !== owner || book.sequence !== last) return null;
        const next = last + 1;
        for (const [key, value] of values) void this.#values.put([partition, key], value);
        for (const [lane, value] of queued) void this.#outbox.put([lane, partition, next], value);
        for (const { sequence: before } of gone) {
          void this.#outbox.remove(["messages", partition, Number(before)]);
        }
        this.#change(partition, {
          offset: Number(offset),
          sequence: next,
          queuedBytes: book.queuedBytes + bytes - goneBytes,
        });
        return next;
      },
    });
    if (sequence === null) throw new Fenced(partition);
    return sequence;
  }

  /** Of a batch that has entries of the taken partitions. */
  #sealedToken(lane: RowLane): string | null {
    const sealed = this.#taken().map(([, book]) => book.sealed[lane]?.token);
    return sealed.find((token) => token !== undefined) ?? null;
  }

  async #sealOldest(lane: RowLane, bytesMax: number): Promise<string | null> {
    const shares = this.#oldest(lane, bytesMax);
    if (shares.size === 0) return null;
    const token = randomUUID();
    await this.writer.write({
      records: shares.size,
      apply: () => {
        for (const [partition, share] of shares) {
          const { sealed } = this.#book(partition);
          this.#change(partition, { sealed: { ...sealed, [lane]: { token, ...share } } });
        }
      },
    });
    return token;
  }

  /** Partitions take turns, so that none waits behind another's long queue. */
  #oldest(lane: RowLane, bytesMax: number): Map<number, Share> {
    const queued = this.#taken()
      .flatMap(([partition]) => this.#first(lane, partition, bytesMax))
      .toSorted((one, other) => one.place - other.place || one.partition - other.partition);
    const shares = new Map<number, Share>();
    let sum = 0;
    for (const { partition, sequence, bytes } of queued.slice(0, sealedEntriesMax)) {
      sum += bytes;
      if (sum > bytesMax && shares.size > 0) break;
      const before = shares.get(partition)?.bytes ?? 0;
      shares.set(partition, { last: sequence, bytes: before + bytes });
    }
    return shares;
  }

  /** What one partition could add to a batch, and its place in the partition's queue. */
  #first(lane: RowLane, partition: number, bytesMax: number) {
    const first: { partition: number; place: number; sequence: number; bytes: number }[] = [];
    let sum = 0;
    const range = { ...rangeOf(lane, partition), limit: sealedEntriesMax };
    for (const { key, value } of this.#outbox.getRange(range)) {
      first.push({ partition, place: first.length, sequence: key[2], bytes: value.length });
      sum += value.length;
      if (sum > bytesMax) break;
    }
    return first;
  }

  #entries(lane: RowLane, token: string): Queued[] {
    return this.#seals(lane, token).flatMap(([partition, { last }]) =>
      this.#queued(lane, partition, last),
    );
  }

  #queued(lane: Lane, partition: number, last: number): Queued[] {
    return Array.from(this.#outbox.getRange(rangeOf(lane, partition, last)), ({ key, value }) => ({
      partition,
      sequence: BigInt(key[2]),
      value,
    }));
  }

  #seals(lane: RowLane, token: string): [partition: number, seal: Seal][] {
    const seals = [...this.#books].flatMap(([partition, { sealed }]): [number, Seal][] => {
      const seal = sealed[lane];
      return seal?.token === token ? [[partition, seal]] : [];
    });
    return seals.toSorted(([one], [other]) => one - other);
  }

  #taken(): [partition: number, book: Book][] {
    return [...this.#books].filter(([partition]) => this.#owners.has(partition));
  }

  #page(partition: number, after: string): [key: string, value: Buffer][] {
    const page: [string, Buffer][] = [];
    let bytes = 0;
    const range = { start: [partition, after], end: [partition + 1, ""], exclusiveStart: true };
    for (const { key, value } of this.#values.getRange({ ...range, limit: pageEntriesMax })) {
      page.push([key[1], value]);
      bytes += value.length;
      if (bytes > pageBytesMax) break;
    }
    return page;
  }

  /** Inside a transaction: with its own changes. */
  #book(partition: number): Book {
    return this.#staged.get(partition) ?? this.#books.get(partition) ?? newBook;
  }

  /** Inside a transaction. */
  #change(partition: number, change: Partial<Book>): Book {
    const book = { ...this.#book(partition), ...change };
    this.#staged.set(partition, book);
    void this.#stored.put(partition, book);
    return book;
  }
}

function rangeOf(lane: Lane, partition: number, last = Number.POSITIVE_INFINITY) {
  return { start: [lane, partition, 0], end: [lane, partition, last + 1] };
}

const pageEntriesMax = 1_000;
const pageBytesMax = 4 * 1024 ** 2;
