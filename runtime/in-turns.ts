/** Long work that yields to everything else on the event loop. */
import { setImmediate } from "node:timers/promises";

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
