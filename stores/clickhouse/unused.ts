/**
 * Stands for ClickHouse in a process that neither reads nor writes figures. So events are taken
 * while it is unavailable, even by a process that starts then.
 */
import type { ClickHouse } from "./clickhouse.js";

export const noClickHouse: ClickHouse = {
  isShared: true,
  rows: () => askedForNothing(),
  text: () => askedForNothing(),
  write: () => askedForNothing(),
  append: () => askedForNothing(),
  files: { write: () => askedForNothing(), read: () => askedForNothing() },
  nodes: [],
  cluster: null,
  close: () => Promise.resolve(),
};

function askedForNothing(): Promise<never> {
  return Promise.reject(new Error("a role without ClickHouse queried it"));
}
