/** Rows as text: parsed from answers, written for statements, and appended in batches. */
import {
  literal,
  dataMark,
  partLengthMax,
  columnNames,
  columnsOf,
  typeParts,
  asItIs,
  statementLengthMax,
} from "./sql-text.js";
import assert from "node:assert";
import { chunksBySize } from "../../runtime/lists.js";
import type { RowsBatch } from "./clickhouse.js";
import type { Reader, Writer } from "./connections.js";

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

/**
 * Tab-separated, a row a line. `structure` is `name Type, …` as in CREATE TABLE; a row is an object
 * by column name, a tuple one by the names of its parts. Decimals and 64-bit integers come as text
 * or bigint, times as text, as a Date or in ms since 1970. Where a value is missing, a column has
 * its default.
 */
export function tabSeparated(structure: string, rows: Iterable<object>): string {
  return [...linesOf(structure, rows)].join("");
}

/**
 * Statements that append rows as data, for the embedded engine. 500 rows take it two thirds of what
 * they take as a table expression. (A cluster divides rows by SELECT.)
 */
export function* appendsOf(
  table: string,
  structure: string,
  rows: Iterable<object>,
): Generator<string> {
  const names = columnNames(structure);
  const lines = linesOf(structure, rows);
  for (const part of chunksBySize(lines, partLengthMax, (line) => line.length)) {
    yield `INSERT INTO ${table} (${names.join(", ")}) ${dataMark}${part.join("")}`;
  }
}

/** Structures are constants, and reading one takes as long as writing a row. */
const known = new Map<string, readonly Field[]>();

interface Field {
  readonly name: string;
  readonly text: ToText;
}

function fieldsOf(structure: string): readonly Field[] {
  const found = known.get(structure);
  if (found !== undefined) return found;
  const fields = columnsOf(structure).map(({ name, type }) => ({ name, text: fieldOf(type) }));
  known.set(structure, fields);
  return fields;
}

function* linesOf(structure: string, rows: Iterable<object>): Generator<string> {
  const columns = fieldsOf(structure);
  for (const row of rows) {
    yield `${columns.map(({ name, text }) => text(Reflect.get(row, name))).join("\t")}\n`;
  }
}

type ToText = (value: unknown) => string;

/** Of a whole field. Inside arrays and tuples, texts have quotes and no value is missing. */
function fieldOf(type: string): ToText {
  const [outer, inner] = typeParts(type);
  if (outer === "Nullable") return fieldOf(inner);
  const text = outer === "Array" || outer === "Tuple" ? nestedOf(type) : scalarOf(outer, escaped);
  return (value) => (value === null || value === undefined ? "\\N" : text(value));
}

function nestedOf(type: string): ToText {
  const [outer, inner] = typeParts(type);
  if (outer === "Array") {
    const item = nestedOf(inner);
    return (value) => {
      assert(Array.isArray(value), `a value of ${type} is a list`);
      return `[${value.map(item).join(",")}]`;
    };
  }
  if (outer === "Tuple") {
    const parts = columnsOf(inner).map((part) => ({ name: part.name, text: nestedOf(part.type) }));
    return (value) => {
      assert(typeof value === "object" && value !== null, `a value of ${type} is an object`);
      return `(${parts.map(({ name, text }) => text(Reflect.get(value, name))).join(",")})`;
    };
  }
  // Numbers are written without quotes, even when they are given as text.
  const isBare = /^(?:U?Int|Decimal)/.test(outer);
  return scalarOf(outer, isBare ? escaped : (text) => `'${escaped(text).replaceAll("'", "\\'")}'`);
}

function scalarOf(type: string, written: (text: string) => string): ToText {
  const isTime = type === "DateTime64";
  return (value) => {
    if (typeof value === "string") return written(value);
    if (value instanceof Date) return written(clickhouseTime(value.getTime()));
    assert(typeof value === "number" || typeof value === "bigint", `no value of ${type}`);
    return isTime ? written(clickhouseTime(Number(value))) : value.toString();
  };
}

function escaped(text: string): string {
  // Asking this first takes a quarter of the time.
  if (!special.test(text)) return text;
  return text.replace(specials, (found) => escapes[found] ?? found);
}

const special = /[\\\t\n\r\0]/;
const specials = new RegExp(special, "g");
const escapes: Readonly<Record<string, string>> = {
  "\\": "\\\\",
  "\t": "\\t",
  "\n": "\\n",
  "\r": "\\r",
  "\0": "\\0",
};

/** The part of a batch that goes to one engine. */
export interface Share {
  /** What follows the settings of the INSERT. */
  readonly source: string;
  /** A table expression with one of the rows; empty when there are none. */
  readonly sample: string;
}

/** As data, rows take the engine two thirds of what a SELECT takes. */
export function wholeOf({ structure, rows }: RowsBatch): Share {
  const first = rows.slice(0, rows.indexOf("\n") + 1);
  return { source: `${dataMark}${rows}`, sample: tabSeparatedTable(structure, first) };
}

export function tabSeparatedTable(structure: string, rows: string): string {
  return `format(TabSeparated, ${literal(structure)}, ${asItIs(rows)})`;
}

/** Tokens without rows: for each, an engine was killed at the same instant. */
const attemptsMax = 3;

/**
 * Appends a batch of rows once, however often and by how many processes it is sent. The engine
 * ignores an insert whose token it has noted, even while the first one is under way. The note alone
 * is not enough. The engine (26.7) writes it before the rows are in place: if it is killed in
 * between, it ignores every repeat, and the rows are lost. It also does not sync the note: after a
 * power cut a repeat may double the rows. So a batch that may have been sent before is looked for
 * before and after it is sent, and gets another token when an earlier one stands for missing rows.
 * @throws when the rows may be missing: the same batch succeeds later
 */
export async function appendTo(
  engine: Reader & Writer,
  batch: RowsBatch,
  share: Share,
): Promise<void> {
  const { token, rows, mayBeThere } = batch;
  assert(rows.endsWith("\n") && rows.length <= statementLengthMax, `${rows.length} characters`);
  if (!mayBeThere) return engine.write(insertOf(batch, share, token));
  for (let attempt = 0; !(await isThere(engine, batch, share)); attempt += 1) {
    if (attempt === attemptsMax) throw new Error(`${batch.table} does not take the batch ${token}`);
    const attemptToken = attempt === 0 ? token : `${token}/${attempt}`;
    await engine.write(insertOf(batch, share, attemptToken));
  }
}

function insertOf({ table, structure }: RowsBatch, { source }: Share, token: string): string {
  const settings = `${appendSettings}, insert_deduplication_token = ${literal(token)}`;
  const columns = columnNames(structure).join(", ");
  return `INSERT INTO ${table} (${columns}) SETTINGS ${settings} ${source}`;
}

const appendSettings = Object.entries({
  deduplicate_insert: "'enable'",
  // Otherwise it refuses a SELECT whose rows may change order; the usual setting ignores the token.
  deduplicate_insert_select: "'force_enable'",
  // One block, so that it is there whole or not at all, whatever the server's profile. A row has at
  // least one character; in memory it may be several times as large.
  max_insert_block_size: statementLengthMax,
  min_insert_block_size_rows: statementLengthMax,
  min_insert_block_size_bytes: 16 * statementLengthMax,
})
  .map(([name, value]) => `${name} = ${value}`)
  .join(", ");

/** A block is there whole or not at all, so one row is enough. */
async function isThere(
  engine: Reader,
  { table, structure }: RowsBatch,
  { sample }: Share,
): Promise<boolean> {
  const names = columnsOf(structure).flatMap(({ name, type }) =>
    incomparable.has(typeParts(type)[0]) ? [] : [name],
  );
  const columns = names.join(", ");
  const found = await engine.text(
    `WITH sample AS (SELECT ${columns} FROM ${sample})
     SELECT 1 FROM sample
     WHERE (
       SELECT count() FROM ${table} WHERE (${columns}) IN (SELECT ${columns} FROM sample)
     ) = 0`,
  );
  return found === "";
}

/** `IN` does not find these as written. */
const incomparable: ReadonlySet<string> = new Set(["Array", "Nullable", "Tuple"]);
