/** Rows as tab-separated text, by the types of their columns. */
import assert from "node:assert";
import { chunksBySize } from "../../runtime/chunk.js";
import { clickhouseTime } from "./rows.js";
import { dataMark, partLengthMax, columnNames, columnsOf, typeParts } from "./sql-text.js";

/**
 * A row a line. `structure` is `name Type, …` as in CREATE TABLE; a row is an object by column
 * name, a tuple one by the names of its parts. Decimals and 64-bit integers come as text or
 * bigint, times as text, as a Date or in ms since 1970. Where a value is missing, a column has its
 * default.
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
