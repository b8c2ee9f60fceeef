/** The rows of a CSV file of event records. */
import { createReadStream } from "node:fs";
import { limits } from "../../config.js";
import { eventRecordShape } from "../../providers/record.js";
import { csvLines } from "../../runtime/csv-lines.js";
import { ImportRefused } from "./refused.js";

export interface Row {
  /** Of the file, from 1; where the row ends, when a quoted text goes over several lines. */
  readonly line: number;
  /** By column; empty cells are left out. Null: the row has another number of cells. */
  readonly cells: ReadonlyMap<string, string> | null;
}

/** Form A of the ingest endpoint, field by field. */
export const columns: readonly string[] = Object.keys(eventRecordShape.shape);
/** What is imported is history: an event without a time would be dated by its import. */
export const requiredColumns = ["provider", "event_type", "amount", "currency", "occurred_at"];

/** @throws ImportRefused when it cannot be read, or its first line is not right */
export async function* readRows(file: string, delimiter: string): AsyncGenerator<Row> {
  let header: readonly string[] | null = null;
  for await (const { line, cells } of linesOf(file, delimiter)) {
    if (header === null) header = headerOf(cells);
    // Spreadsheets often end with rows of empty cells.
    else if (cells.some((cell) => cell !== "")) yield { line, cells: cellsOf(header, cells) };
  }
}

/** With the first line. @throws ImportRefused when it cannot be read, or is empty */
export async function* linesOf(file: string, delimiter: string): ReturnType<typeof csvLines> {
  let isEmpty = true;
  try {
    const reading = { delimiter, lineBytesMax: limits.bodyBytesMax };
    for await (const line of csvLines(createReadStream(file), reading)) {
      isEmpty = false;
      yield line;
    }
  } catch (error) {
    if (error instanceof ImportRefused || !(error instanceof Error)) throw error;
    throw new ImportRefused(`${file} cannot be read: ${error.message}`, { cause: error });
  }
  if (isEmpty) throw new ImportRefused(`${file} is empty.`);
}

function headerOf(names: readonly string[]): readonly string[] {
  const separator = otherSeparatorIn(names);
  if (separator !== undefined) {
    throw new ImportRefused(`The columns use another separator: add --delimiter ${separator}`);
  }
  const unknown = names.filter((name) => !columns.includes(name));
  const missing = requiredColumns.filter((name) => !names.includes(name));
  const twice = names.filter((name, index) => names.indexOf(name) < index);
  const problems = [
    // A file may hold what a terminal would obey.
    ...unknown.map((name) => `unknown column ${JSON.stringify(name)}`),
    ...missing.map((name) => `the column ${name} is missing`),
    ...twice.map((name) => `the column ${name} appears twice`),
  ];
  if (problems.length === 0) return names;
  throw new ImportRefused(`line 1: ${problems.join("; ")}. Columns are: ${columns.join(", ")}`);
}

/** What a shell takes for them; spreadsheets of many countries write semicolons. */
const separators = { ",": '","', ";": '";"', "\t": "$'\\t'" };

/** Where the whole line is one cell that has our columns in it, by another separator. */
function otherSeparatorIn([line = "", ...others]: readonly string[]): string | undefined {
  if (others.length > 0) return undefined;
  return Object.entries(separators).find(([separator]) => {
    const names = line.split(separator).map((name) => name.trim());
    return requiredColumns.every((name) => names.includes(name));
  })?.[1];
}

/** By column, without empty ones. Null: there are more or fewer than columns. */
export function cellsOf(header: readonly string[], cells: readonly string[]): Row["cells"] {
  if (cells.length !== header.length) return null;
  const pairs = header.map((name, index) => [name, cells[index] ?? ""] as const);
  return new Map(pairs.filter(([, text]) => text !== ""));
}
