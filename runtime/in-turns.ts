/** Long work in turns with everything else that waits for the event loop. */
import { setImmediate } from "node:timers/promises";

/** Work without a pause delays every call and every socket this long. */
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

/** Takes each item, yielding to the event loop in between, also where items are work to make. */
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
