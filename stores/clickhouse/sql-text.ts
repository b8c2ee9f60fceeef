/**
 * Values as ClickHouse SQL text. Statements contain their values, because the embedded engine binds
 * parameters for one query at a time in the whole process: a slow query would hold up all others.
 */
import assert from "node:assert";
import { chunksBySize } from "../../runtime/lists.js";

/** Characters of one statement, nearly all of them rows; below `max_query_size`. */
export const statementLengthMax = 64 * 1024 * 1024;
/** Of rows that may go in several statements. The engine holds each several times in memory. */
export const partLengthMax = 8 * 1024 * 1024;

export function literal(text: string): string {
  return `'${text.replace(/[\\'\0]/g, (found) => (found === "\0" ? "\\0" : `\\${found}`))}'`;
}

/**
 * A table expression holding `rows`, for `INSERT … SELECT … FROM ${jsonRows(…)}`. `structure` is
 * `name Type, …` as in CREATE TABLE; a row is an object by column name. Dates, bigints and
 * decimals as text arrive with all their digits; times may be a Date, ISO 8601 or ms since 1970.
 * Callers send up to `statementLengthMax` characters at a time; more is their mistake.
 */
export function jsonRows(structure: string, rows: readonly object[]): string {
  // The engine rejects an empty `format()`.
  if (rows.length === 0) return `null(${literal(structure)})`;
  return jsonTable(structure, [...textsOf(structure, rows)]);
}

interface RowsPart<Row extends object> {
  readonly rows: readonly Row[];
  readonly table: string;
}

/** Divides any number of rows among statements; none without rows. */
export function* partsOf<Row extends object>(
  structure: string,
  rows: readonly Row[],
): Generator<RowsPart<Row>> {
  let first = 0;
  for (const texts of chunksBySize(
    textsOf(structure, rows),
    partLengthMax,
    (text) => text.length,
  )) {
    const end = first + texts.length;
    yield { rows: rows.slice(first, end), table: jsonTable(structure, texts) };
    first = end;
  }
}

/** From here on a statement is data. */
export const dataMark = "FORMAT TabSeparated\n";

/** Yields one at a time, so that the texts of all rows are never held at once. */
function* textsOf(structure: string, rows: readonly object[]): Generator<string> {
  const names = columnNames(structure);
  for (const row of rows) {
    const values: unknown[] = names.map((name) => digitsKept(name, Reflect.get(row, name)));
    // Twice as fast as with a function that is called for every value.
    yield values.some(Array.isArray) ? JSON.stringify(values, digitsKept) : JSON.stringify(values);
  }
}

function jsonTable(structure: string, texts: readonly string[]): string {
  const text = texts.join("\n");
  assert(text.length <= statementLengthMax, `rows of ${text.length} characters in one statement`);
  return `format(JSONCompactEachRow, ${literal(structure)}, ${asItIs(text)})`;
}

/**
 * A string literal without escapes: rows are JSON, in which escaping would add a backslash before
 * every quote. A text with the mark in it is escaped anyway.
 */
export function asItIs(text: string): string {
  const closed = text + textMark;
  return closed.indexOf(textMark) === text.length ? textMark + closed : literal(text);
}

const textMark = "$text$";

/**
 * Puts the values into the `{name:Type}` placeholders of a statement, but not inside literals,
 * quoted names and comments, so data cannot turn into a placeholder.
 * @throws AssertionError when a placeholder has no value: our own mistake.
 */
export function bind(sql: string, params: Readonly<Record<string, QueryParam>> = {}): string {
  return replaceInCode(sql, /\{(\w+):([^{}]+)\}/, ([, name = "", type = ""]) => {
    const value = params[name];
    assert(value !== undefined, `no value for {${name}:${type}}`);
    return sqlValue(value, type.trim());
  });
}

/**
 * Replaces what is `wanted` outside of literals, quoted names and comments; a comment may itself be
 * wanted.
 */
export function replaceInCode(
  sql: string,
  wanted: RegExp,
  replacement: (found: RegExpExecArray) => string,
): string {
  const parts: string[] = [];
  let copied = 0;
  const opening = new RegExp(`(?:${wanted.source})|['"\`]|--|/\\*|\\$text\\$|${dataMark}`, "g");
  for (let found = opening.exec(sql); found; found = opening.exec(sql)) {
    const [text] = found;
    if (openings.has(text)) {
      opening.lastIndex = endOfQuoted(sql, text, opening.lastIndex);
      continue;
    }
    parts.push(sql.slice(copied, found.index), replacement(found));
    copied = opening.lastIndex;
  }
  return parts.join("") + sql.slice(copied);
}

const openings: ReadonlySet<string> = new Set(["'", '"', "`", "--", "/*", textMark, dataMark]);

function digitsKept(_key: string, value: unknown): unknown {
  return typeof value === "bigint" ? value.toString() : value;
}

/** The index after what `opening` began. It searches, because rows may have megabytes. */
function endOfQuoted(sql: string, opening: string, from: number): number {
  if (opening === "--") return after(sql, "\n", from);
  if (opening === "/*") return after(sql, "*/", from);
  if (opening === textMark) return after(sql, textMark, from);
  if (opening === dataMark) return sql.length;
  const stop = new RegExp(`[\\\\${opening}]`, "g");
  stop.lastIndex = from;
  for (let found = stop.exec(sql); found; found = stop.exec(sql)) {
    // A doubled quote ends one literal and begins the next, which is the same as going on.
    if (found[0] === opening) return stop.lastIndex;
    stop.lastIndex += 1;
  }
  return sql.length;
}

function after(sql: string, end: string, from: number): number {
  const at = sql.indexOf(end, from);
  return at < 0 ? sql.length : at + end.length;
}

function sqlValue(value: QueryParam, type: string): string {
  if (type === "Identifier") {
    assert(typeof value === "string", "an identifier is a string");
    return `\`${value.replace(/[\\`]/g, "\\$&")}\``;
  }
  if (typeof value === "string" && type === "String") return literal(value);
  return `CAST(${plain(value)}, ${literal(type)})`;
}

function plain(value: QueryParam): string {
  if (typeof value === "string") return literal(value);
  if (typeof value === "boolean") return String(value);
  if (typeof value === "number") {
    assert(Number.isFinite(value), `${value} is not a number ClickHouse takes here`);
    return String(value);
  }
  return `[${value.map(plain).join(", ")}]`;
}

/** A value for a `{name:Type}` placeholder; decimals and 64-bit integers as text. */
export type QueryParam = string | number | boolean | readonly (string | number)[];

/** What columns rows have, as text: `name Type, …` as in CREATE TABLE. */
interface Column {
  readonly name: string;
  readonly type: string;
}

/** `a String, b Array(Tuple(c Int8, d Int8))` has the columns a and b. */
export function columnsOf(structure: string): readonly Column[] {
  return splitAtCommas(structure).map((column) => {
    const [name = "", ...type] = column.split(/\s+/);
    return { name, type: type.join(" ") };
  });
}

export function columnNames(structure: string): readonly string[] {
  return columnsOf(structure).map(({ name }) => name);
}

/** `Array(Tuple(a Int8))` is an Array of `Tuple(a Int8)`. */
export function typeParts(type: string): readonly [outer: string, inner: string] {
  const [, outer = type, inner = ""] = /^(\w+)\((.*)\)$/s.exec(type) ?? [];
  return [outer, inner];
}

/** Splits at commas outside of brackets. */
function splitAtCommas(text: string): readonly string[] {
  const found: string[] = [];
  let [depth, from] = [0, 0];
  for (const { 0: mark, index } of text.matchAll(/[(),]/g)) {
    if (mark === "(") depth += 1;
    else if (mark === ")") depth -= 1;
    else if (depth === 0) {
      found.push(text.slice(from, index).trim());
      from = index + 1;
    }
  }
  return [...found, text.slice(from).trim()];
}
