/**
 * Lists: in groups, long ones in an order that is the same on every machine, in parts, and in turns
 * with everything else on the event loop.
 */
import { setImmediate } from "node:timers/promises";

/** For `sort`: texts by their UTF-16 units. */
export function compare<Value extends string | bigint>(one: Value, other: Value): number {
  if (one === other) return 0;
  return one < other ? -1 : 1;
}

/** How many items come first; these stand first already. */
export function placeIn<Item>(items: readonly Item[], comesFirst: (item: Item) => boolean): number {
  let [from, to] = [0, items.length];
  while (from < to) {
    const middle = (from + to) >>> 1;
    const item = items[middle];
    if (item !== undefined && comesFirst(item)) from = middle + 1;
    else to = middle;
  }
  return from;
}

/**
 * `items` in order, in lists whose sizes add up to `sizeMax` at most, or of a single larger item.
 */
export function* chunksBySize<Item>(
  items: Iterable<Item>,
  sizeMax: number,
  sizeOf: (item: Item) => number,
): Generator<Item[]> {
  let [part, size]: [Item[], number] = [[], 0];
  for (const item of items) {
    const more = sizeOf(item);
    if (size + more > sizeMax && part.length > 0) {
      yield part;
      [part, size] = [[], 0];
    }
    part.push(item);
    size += more;
  }
  if (part.length > 0) yield part;
}

/** How long work may run without a pause, which delays every call and every socket. */
const turnMsMax = 10;
const itemsPerLook = 32;

/** `items.map(map)`, yielding to the event loop in between. */
export async function mapInTurns<Item, Result>(
  items: readonly Item[],
  map: (item: Item) => Result,
): Promise<Result[]> {
  const results: Result[] = [];
  await inTurns(items, (item) => results.push(map(item)));
  return results;
}

/** Takes each item, yielding to the event loop in between, even where items are made on demand. */
export async function inTurns<Item>(
  items: Iterable<Item>,
  take: (item: Item) => void,
): Promise<void> {
  let began = performance.now();
  let taken = 0;
  for (const item of items) {
    take(item);
    taken += 1;
    if (taken % itemsPerLook !== 0 || performance.now() - began < turnMsMax) continue;
    await setImmediate();
    began = performance.now();
  }
}

/** The items by key, in their order: `Map.groupBy`, which Node 20 does not have. */
export function grouped<Item, Key>(
  items: Iterable<Item>,
  keyOf: (item: Item) => Key,
): Map<Key, Item[]> {
  const groups = new Map<Key, Item[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group) group.push(item);
    else groups.set(key, [item]);
  }
  return groups;
}
