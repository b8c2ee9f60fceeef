/** The lines of a CSV file, one at a time, so that a file of any size takes the same memory. */
import type { Readable } from "node:stream";
import { parse } from "csv-parse";

export interface CsvLine {
  /** In the file, from 1; the last line of a record whose quoted text has several. */
  readonly line: number;
  readonly cells: readonly string[];
}

interface Reading {
  readonly delimiter: string;
  readonly lineBytesMax: number;
  /** Wrong quotes are read as they stand, and show by the number of cells. */
  readonly isLenient?: boolean;
}

/**
 * The first line, too.
 * @throws what the source or the parser throws
 */
export async function* csvLines(
  source: Readable,
  { delimiter, lineBytesMax, isLenient = false }: Reading,
): AsyncGenerator<CsvLine> {
  const parser = source.pipe(
    parse({
      delimiter,
      bom: true,
      info: true,
      trim: true,
      skip_empty_lines: true,
      relax_column_count: true,
      relax_quotes: isLenient,
      max_record_size: lineBytesMax,
    }),
  );
  source.on("error", (error) => parser.destroy(error));
  try {
    for await (const parsed of parser) yield lineOf(parsed);
  } finally {
    source.destroy();
  }
}

/** What csv-parse emits with `info`; its types say any. */
function lineOf(parsed: unknown): CsvLine {
  if (isObject(parsed) && isObject(parsed["info"]) && Array.isArray(parsed["record"])) {
    return { line: Number(parsed["info"]["lines"]), cells: parsed["record"].map(String) };
  }
  throw new Error("csv-parse emitted no record");
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}
