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
