/**
 * CSV as in RFC 4180, in UTF-8: a header line, CRLF, amounts as plain decimals. Spreadsheets run a
 * cell that begins with = + - @ (some: also with their wide forms, or after white space) as a
 * formula, and others choose names of products. Such a text gets an apostrophe in front (OWASP, CSV
 * Injection), even after other apostrophes, so that removing one gives the text back.
 */
import { parseDecimal, trimmedText } from "../../schemas/money/money.js";
import { type Column, type Encoder, type ExportRow, valueIn } from "./columns.js";

export function csvEncoder(columns: readonly Column[]): Encoder {
  return {
    begin: () => `${columns.map(({ name }) => name).join(",")}${lineEnd}`,
    rows: (rows) => rows.map((row) => csvLine(columns, row)).join(""),
    end: () => "",
  };
}

const lineEnd = "\r\n";

function csvLine(columns: readonly Column[], row: ExportRow): string {
  return columns.map((column) => csvCell(column, row)).join(",") + lineEnd;
}

/** Null is an empty cell, an empty text is `""`. */
function csvCell(column: Column, row: ExportRow): string {
  const value = valueIn(row, column);
  if (value === null) return "";
  if (typeof value === "number") return plainNumber(value);
  if (column.kind === "text") return quoted(formula.test(value) ? `'${value}` : value);
  // Spreadsheets read 2026-01-31T12:00:00.000Z as a text.
  if (column.kind === "time") return value.replace("T", " ").replace("Z", "");
  return column.kind === "json" ? quoted(value) : value;
}

const formula = /^'*[=+\-@＝＋－＠\t\r\n]/;

/** Semicolons and tabs, too, because some spreadsheets split by them. */
function quoted(text: string): string {
  return text === "" || /[",;\t\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Without the exponent of very small or large numbers. */
function plainNumber(value: number): string {
  const text = String(value);
  if (!text.includes("e")) return text;
  const decimal = parseDecimal(text);
  if (decimal === null) throw new Error(`No decimal: ${value}`);
  return trimmedText(decimal);
}
