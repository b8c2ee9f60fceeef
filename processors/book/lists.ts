/**
 * What is known of payments, accounts, subscriptions and pools, as lists that only grow: adding to
 * a long one costs no more than to a short one. Each batch works on its own `Lists`; what it adds
 * is stored with its commit, or forgotten.
 */
import { hash } from "node:crypto";
import { LRUCache } from "lru-cache";
import type { OwnedPartition } from "../../stores/state/state.js";
import { type Fact, factRecords } from "../../schemas/records/records.js";
import type { RecordedRow } from "./account/recorded.js";
import type { Change } from "../../schemas/subscriptions/change.js";
import type { Side } from "./subscriptions/pairing.js";
import type { EndRevision } from "./subscriptions/pools.js";

export interface Kind<Item> {
  /** Begins the keys of its lists; no other kind has it. */
  readonly letter: string;
  encode(item: Item): Buffer;
  decode(stored: Buffer): Item;
}

/** The key is a hash, because names may be long and personal. */
export function keyOf<Item>({ letter }: Kind<Item>, name: string): string {
  return letter + hash("sha256", name, "base64url");
}

/** A list in parts, of which the last grows until it is full. */
interface Stored<Item> {
  readonly items: readonly Item[];
  readonly parts: number;
  readonly last: Buffer;
}

const partBytesMax = 32 * 1024;
const lengthBytes = 4;
/** Bytes of the lists used last; they take several times as much in memory. */
const keptBytesMax = 8 * 1024 * 1024;
/** What a list takes in memory beside its items. */
const listBytes = 512;

/**
 * Stored lists of all partitions that a process owns. Each owner of a partition begins anew,
 * because another process may have changed them.
 */
export class KeptLists {
  #owner = 0;

  constructor(
    private readonly kept = new LRUCache<string, Stored<unknown>>({
      maxSize: keptBytesMax,
      sizeCalculation: ({ last, parts }) => last.length + (parts - 1) * partBytesMax + listBytes,
    }),
    private readonly owners = { count: 0 },
  ) {}

  ofOwner(): KeptLists {
    const own = new KeptLists(this.kept, this.owners);
    this.owners.count += 1;
    own.#owner = this.owners.count;
    return own;
  }

  get(key: string): Stored<unknown> | undefined {
    return this.kept.get(`${this.#owner} ${key}`);
  }

  set(key: string, list: Stored<unknown>): void {
    this.kept.set(`${this.#owner} ${key}`, list);
  }
}

export class Lists {
  /** By key: as stored, and with what the batch added. */
  readonly #lists = new Map<string, Stored<unknown>>();
  readonly #grown = new Map<string, Grown>();
  /** By kind and name: a batch asks for each list several times. */
  readonly #keys = new Map<string, string>();

  constructor(
    private readonly partition: Pick<OwnedPartition, "read">,
    private readonly kept: KeptLists,
  ) {}

  /** To be called before `of` and `add`. */
  async load<Item>(kind: Kind<Item>, names: Iterable<string>): Promise<void> {
    const wanted = new Set<string>();
    for (const name of names) {
      const key = this.#key(kind, name);
      if (this.#lists.has(key)) continue;
      const known = this.kept.get(key);
      if (known === undefined) wanted.add(key);
      else this.#lists.set(key, known);
    }
    if (wanted.size === 0) return;
    for (const [key, parts] of await this.#read([...wanted])) {
      const items = parts.flatMap((part) => [...itemsOfPart(kind, part)]);
      const list = { items, parts: parts.length, last: parts.at(-1) ?? nothing };
      this.#lists.set(key, list);
      if (parts.length > 0) this.kept.set(key, list);
    }
  }

  /** The parts of each list; those of long ones are read in ever larger groups. */
  async #read(keys: readonly string[]): Promise<Map<string, Buffer[]>> {
    const found = new Map<string, Buffer[]>(keys.map((key) => [key, []]));
    let unread = keys;
    for (let asked = 1; unread.length > 0; asked *= 2) {
      const wanted = unread.flatMap((key) => {
        const from = found.get(key)?.length ?? 0;
        return Array.from({ length: asked }, (_, index) => ({
          key,
          at: partKey(key, from + index),
        }));
      });
      const read = await this.partition.read(wanted.map(({ at }) => at));
      for (const { key, at } of wanted) {
        const part = read.get(at);
        if (part !== undefined) found.get(key)?.push(part);
      }
      // After a full part there may be others.
      unread = wanted.flatMap(({ key, at }, index) => {
        const isLast = wanted[index + 1]?.key !== key;
        return isLast && isFull(read.get(at)) ? [key] : [];
      });
    }
    return found;
  }

  /** With those that the batch added. */
  of<Item>(kind: Kind<Item>, name: string): readonly Item[] {
    const key = this.#key(kind, name);
    return itemsIn(kind, (this.#grown.get(key) ?? this.#storedAt(key)).items);
  }

  /** As stored, without what the batch added. */
  before<Item>(kind: Kind<Item>, name: string): readonly Item[] {
    return itemsIn(kind, this.#storedAt(this.#key(kind, name)).items);
  }

  add<Item>(kind: Kind<Item>, name: string, items: readonly Item[]): void {
    if (items.length === 0) return;
    const key = this.#key(kind, name);
    const stored = this.#storedAt(key);
    const grown = this.#grown.get(key) ?? grownFrom(key, kind, stored);
    for (const item of items) grown.items.push(item);
    this.#grown.set(key, grown);
  }

  #key<Item>(kind: Kind<Item>, name: string): string {
    const named = kind.letter + name;
    const known = this.#keys.get(named);
    if (known !== undefined) return known;
    const key = keyOf(kind, name);
    this.#keys.set(named, key);
    return key;
  }

  #storedAt(key: string): Stored<unknown> {
    const stored = this.#lists.get(key);
    if (stored === undefined) throw new Error("a list is used before it is loaded");
    return stored;
  }

  /**
   * What the batch changes, by key of the state.
   * @returns also `keep`, to be called when the values are stored
   */
  changes(): { readonly values: Map<string, Buffer>; readonly keep: () => void } {
    const values = new Map<string, Buffer>();
    const lists = Array.from(this.#grown, ([key, { store }]) => [key, store(values)] as const);
    const keep = (): void => {
      for (const [key, list] of lists) this.kept.set(key, list);
    };
    return { values, keep };
  }
}

interface Grown {
  readonly items: unknown[];
  /** Puts the changed parts into the values. */
  readonly store: (values: Map<string, Buffer>) => Stored<unknown>;
}

function grownFrom<Item>(key: string, kind: Kind<Item>, stored: Stored<unknown>): Grown {
  const items = [...itemsIn(kind, stored.items)];
  return { items, store: (values) => withItems(key, stored, kind, items, values) };
}

function itemsIn<Item>(_kind: Kind<Item>, items: readonly unknown[]): readonly Item[] {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return items as readonly Item[];
}

const nothing = Buffer.alloc(0);

function partKey(key: string, part: number): string {
  return part === 0 ? key : `${key}/${part}`;
}

function isFull(part: Buffer | undefined): boolean {
  return part !== undefined && part.length >= partBytesMax;
}

/** The list that a value of the state is a part of. */
export function listOf(key: string): string {
  return key.split("/", 1)[0] ?? key;
}

export function* itemsOfPart<Item>(kind: Kind<Item>, part: Buffer): Generator<Item> {
  for (let at = 0; at < part.length;) {
    const from = at + lengthBytes;
    at = from + part.readUInt32BE(at);
    yield kind.decode(part.subarray(from, at));
  }
}

/**
 * @param items with those that are stored
 * @param values gets the changed parts, by key
 */
function withItems<Item>(
  key: string,
  stored: Stored<unknown>,
  kind: Kind<Item>,
  items: readonly Item[],
  values: Map<string, Buffer>,
): Stored<unknown> {
  let parts = Math.max(1, stored.parts);
  let [part, bytes] = [[stored.last], stored.last.length];
  const end = (): Buffer => {
    const last = Buffer.concat(part);
    values.set(partKey(key, parts - 1), last);
    return last;
  };
  for (const item of items.slice(stored.items.length)) {
    if (bytes >= partBytesMax) {
      end();
      [part, bytes, parts] = [[], 0, parts + 1];
    }
    const encoded = kind.encode(item);
    const length = Buffer.alloc(lengthBytes);
    length.writeUInt32BE(encoded.length);
    part.push(length, encoded);
    bytes += lengthBytes + encoded.length;
  }
  return { items, parts, last: end() };
}

/** The facts of a payment or purchase, by its key (`schemas/ids.ts`), in order of arrival. */
export const moneyFacts: Kind<Fact> = {
  letter: "m",
  encode: (fact) => factRecords.encode(fact),
  decode: (stored) => factRecords.decode(stored),
};

/**
 * By account: its changes, and the corrections among its movements. What its events recorded first
 * follows from these.
 */
export type AccountItem = { readonly change: Change } | { readonly correction: RecordedRow };
export const accounts: Kind<AccountItem> = {
  letter: "a",
  ...asJson<AccountItem>(),
  decode(stored) {
    const item: AccountItem = JSON.parse(stored.toString());
    if ("change" in item) return item;
    // Earlier versions kept corrections without an interval.
    return {
      correction: { ...item.correction, plan_interval: item.correction.plan_interval ?? "unknown" },
    };
  },
};

/** By subscription: the accounts it was reported under. */
export const subscriptionAccounts: Kind<string> = { letter: "s", ...asJson<string>() };

/**
 * By pool of unidentified churns: its sides, the revisions of the ends they made, and which churns
 * are listed as waiting.
 */
type PoolItem =
  | { readonly side: Side }
  | { readonly end: EndRevision }
  | { readonly listed: string; readonly isListed: boolean };
export const pools: Kind<PoolItem> = { letter: "p", ...asJson<PoolItem>() };

function asJson<Item>(): Pick<Kind<Item>, "encode" | "decode"> {
  return {
    encode: (item) => Buffer.from(JSON.stringify(item)),
    decode: (stored): Item => JSON.parse(stored.toString()),
  };
}
