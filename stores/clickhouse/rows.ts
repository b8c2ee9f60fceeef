/** Rows as text: parsed from answers, and written as SQL for statements about them. */
import { literal } from "./sql-text.js";

/** JSON, a row a line. */
export function parsedRows<T>(text: string): T[] {
  const lines = text === "" ? [] : text.trimEnd().split("\n");
  return lines.map((line): T => JSON.parse(line));
}

/** The opposite of `parsedRows`. */
export function textOfRows(rows: readonly object[]): string {
  return rows.map((row) => JSON.stringify(row)).join("\n");
}

/** Above this many groups one tuple comparison is the shorter statement. */
const groupsMax = 16;
/** Above this many values the engine's planner takes longer for a list than for a subquery. */
const listedMax = 500;

/**
 * The rows whose text columns equal one of the tuples; never true without tuples. Written as
 * `a = '1' AND b IN ('2', '3') OR …`, grouped by all but the last column, because the engine takes
 * half the time for it that it takes for `(a, b) IN (('1', '2'), …)`.
 */
export function rowsIn(columns: string, tuples: readonly (readonly string[])[]): string {
  if (tuples.length === 0) return "false";
  const names = columns.replace(/[()]/g, "").split(", ");
  const groups = new Map<string, Set<string>>();
  for (const tuple of tuples) {
    const group = tuple.slice(0, -1).map((value, index) => `${names[index]} = ${literal(value)}`);
    const key = group.join(" AND ");
    const values = groups.get(key) ?? new Set();
    values.add(tuple.at(-1) ?? "");
    groups.set(key, values);
  }
  if (groups.size > groupsMax) {
    const distinct = new Set(tuples.map((tuple) => `(${tuple.map(literal).join(", ")})`));
    return `${columns} IN (${[...distinct].join(", ")})`;
  }
  const parts = [...groups].map(([group, values]) => {
    const last = `${names.at(-1)} IN (${listed([...values])})`;
    return group === "" ? `(${last})` : `(${group} AND ${last})`;
  });
  return `(${parts.join(" OR ")})`;
}

export function matching<Column extends string>(
  rows: readonly Readonly<Record<Column, string>>[],
  ...columns: readonly Column[]
): string {
  const tuples = rows.map((row) => columns.map((column) => row[column]));
  return rowsIn(`(${columns.join(", ")})`, tuples);
}

/**
 * The values of one column, for `IN (…)`. A list of ten thousand took the planner 130 ms each time,
 * a subquery 30.
 */
function listed(values: readonly string[]): string {
  if (values.length <= listedMax) return values.map(literal).join(", ");
  return `SELECT arrayJoin(${textArray(values)})`;
}

/** A constant array of texts that is one literal to the engine's parser. */
export function textArray(values: readonly string[]): string {
  return `JSONExtract(${literal(JSON.stringify(values))}, 'Array(String)')`;
}

/** ms since 1970 as `YYYY-MM-DD hh:mm:ss.SSS` in UTC, as DateTime64(3) is written and read. */
export function clickhouseTime(at: number): string {
  return new Date(at).toISOString().slice(0, -1).replace("T", " ");
}

export function fromClickhouseTime(text: string): number {
  return Date.parse(`${text.replace(" ", "T")}Z`);
}
