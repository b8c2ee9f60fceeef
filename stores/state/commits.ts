/** Checks that every adapter makes of a commit before it is written. */
import assert from "node:assert";
import { type Commit, type Lane, keyBytesMax, rowLanes } from "./state.js";

const lanes: readonly Lane[] = ["messages", ...rowLanes];

/**
 * Before anything is written, so that a mistake of the caller leaves nothing half done.
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
