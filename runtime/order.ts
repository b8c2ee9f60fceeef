/** Orders that are the same on every machine. */

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
