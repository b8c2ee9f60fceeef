/** Small pieces of SQL text for statements about given rows. */
import { literal } from "./clickhouse-text.js";

/** `(a, b) IN (('1', '2'), …)`, over text columns; never true without tuples. */
export function rowsIn(columns: string, tuples: readonly (readonly string[])[]): string {
  if (tuples.length === 0) return "false";
  const distinct = new Set(tuples.map((tuple) => `(${tuple.map(literal).join(", ")})`));
  return `${columns} IN (${[...distinct].join(", ")})`;
}

/** ms since 1970 as `YYYY-MM-DD hh:mm:ss.SSS` in UTC, as DateTime64(3) is written and read. */
export function clickhouseTime(at: number): string {
  return new Date(at).toISOString().replace("T", " ").replace("Z", "");
}

/** The other way round. */
export function fromClickhouseTime(text: string): number {
  return Date.parse(`${text.replace(" ", "T")}Z`);
}
