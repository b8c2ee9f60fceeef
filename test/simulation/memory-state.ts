/** The state in memory (stores/state/state.ts): the books are what all processes share. */
import { randomUUID } from "node:crypto";
import {
  assertFits,
  type Commit,
  Fenced,
  type Lane,
  LaneTurns,
  type OwnedPartition,
  type Queued,
  queuedIn,
  type RowLane,
  type SealedBatch,
  sealedEntriesMax,
  type State,
} from "../../stores/state/state.js";

interface Seal {
  readonly token: string;
  readonly last: bigint;
}

export class Book {
  offset = 0n;
  sequence = 0n;
  owner: symbol | null = null;
  readonly values = new Map<string, Buffer>();
  readonly queued: Record<Lane, Queued[]> = { messages: [], shown: [], rest: [] };
  readonly sealed = new Map<RowLane, Seal>();
}

export class MemoryState implements State {
  /** Of the partitions that this process took. */
  readonly #owners = new Map<number, symbol>();
  readonly #turns = new LaneTurns();

  /** @param books by partition */
  constructor(readonly books: Map<number, Book>) {}

  async take(partition: number): Promise<OwnedPartition> {
    const book = this.#book(partition);
    const owner = Symbol(partition);
    book.owner = owner;
    this.#owners.set(partition, owner);
    let last = book.sequence;
    return {
      partition,
      offset: book.offset,
      sequence: last,
      unpublished: async () => book.queued.messages.filter(({ sequence }) => sequence <= last),
      isHeld: async () => book.owner === owner,
      read: async (keys) =>
        new Map(
          keys.flatMap((key) => {
            const value = book.values.get(key);
            return value === undefined ? [] : [[key, value]];
          }),
        ),
      commit: async (commit) => {
        assertFits(commit, last);
        const known = last;
        // Of two at once, one comes too late.
        await Promise.resolve();
        if (book.owner !== owner || book.sequence !== known) throw new Fenced(partition);
        last = commitTo(book, partition, commit);
        return last;
      },
    };
  }

  seal(lane: RowLane, bytesMax: number): Promise<SealedBatch | null> {
    return this.#turns.take(lane, async () => {
      const [sealed] = this.#taken().flatMap(([, book]) => book.sealed.get(lane) ?? []);
      if (sealed !== undefined) return this.#batch(lane, sealed.token, true);
      const token = randomUUID();
      return this.#sealOldest(lane, token, bytesMax) ? this.#batch(lane, token, false) : null;
    });
  }

  remove({ lane, token }: Pick<SealedBatch, "lane" | "token">): Promise<void> {
    return this.#turns.take(lane, async () => {
      for (const [, book, { last }] of this.#sealedBy(lane, token)) {
        book.queued[lane] = book.queued[lane].filter(({ sequence }) => sequence > last);
        book.sealed.delete(lane);
      }
    });
  }

  async queuedBytes(): Promise<number> {
    const queued = this.#taken().flatMap(([, book]) => Object.values(book.queued).flat());
    return queued.reduce((sum, { value }) => sum + value.length, 0);
  }

  async *values(partition: number): AsyncGenerator<readonly [key: string, value: Buffer]> {
    const inOrder = [...this.#book(partition).values].toSorted(([one], [other]) =>
      Buffer.compare(Buffer.from(one), Buffer.from(other)),
    );
    yield* inOrder;
  }

  async clear(): Promise<void> {
    for (const [partition, book] of this.books) {
      book.owner = null;
      this.books.set(partition, Object.assign(new Book(), { sequence: book.sequence }));
    }
  }

  async close(): Promise<void> {}

  #book(partition: number): Book {
    const known = this.books.get(partition) ?? new Book();
    this.books.set(partition, known);
    return known;
  }

  #taken(): [partition: number, book: Book][] {
    return [...this.books].filter(([partition, { owner }]) => {
      return owner !== null && owner === this.#owners.get(partition);
    });
  }

  /** Partitions take turns, so that none waits behind another's long queue. */
  #sealOldest(lane: RowLane, token: string, bytesMax: number): boolean {
    const places = this.#taken()
      .flatMap(([partition, book]) =>
        book.queued[lane].map(({ sequence, value }, place) => {
          return { partition, book, place, sequence, bytes: value.length };
        }),
      )
      .toSorted((one, other) => one.place - other.place || one.partition - other.partition);
    let bytes = 0;
    for (const [index, entry] of places.slice(0, sealedEntriesMax).entries()) {
      bytes += entry.bytes;
      if (index > 0 && bytes > bytesMax) break;
      entry.book.sealed.set(lane, { token, last: entry.sequence });
    }
    return places.length > 0;
  }

  #batch(lane: RowLane, token: string, isAgain: boolean): SealedBatch {
    const entries = this.#sealedBy(lane, token).flatMap(([, book, { last }]) =>
      book.queued[lane].filter(({ sequence }) => sequence <= last),
    );
    return { lane, token, entries, isAgain };
  }

  #sealedBy(lane: RowLane, token: string): [partition: number, book: Book, seal: Seal][] {
    const found = [...this.books].flatMap(([partition, book]): [number, Book, Seal][] => {
      const seal = book.sealed.get(lane);
      return seal?.token === token ? [[partition, book, seal]] : [];
    });
    return found.toSorted(([one], [other]) => one - other);
  }
}

function commitTo(book: Book, partition: number, commit: Commit): bigint {
  book.sequence += 1n;
  book.offset = commit.offset;
  for (const [key, value] of commit.values) book.values.set(key, value);
  const { sequence, queued } = book;
  queued.messages = queued.messages.filter((message) => message.sequence > commit.published);
  for (const [lane, value] of queuedIn(commit)) queued[lane].push({ partition, sequence, value });
  return sequence;
}
