/**
 * The rows of a Parquet file as the cells that the same export has as CSV, a row group at a time.
 * Its index comes last, so the whole file is held; a file that was cut short has none.
 */
import type { FileMetaData, parquetRead, SchemaElement } from "hyparquet";
import { decimalText, parseDecimal, rescale } from "../../schemas/money/money.js";
import { ExportRefused } from "./export-lines.js";

export const parquetMagic = Buffer.from("PAR1");
/** Packed, of one file. */
const fileBytesMax = 256 * 1024 * 1024;
/** Unpacked, of one row group. */
const groupBytesMax = 1024 * 1024 * 1024;
const rowsMax = 2_000_000;

/** @throws ExportRefused */
export async function* parquetLines(
  chunks: AsyncIterable<Buffer>,
  { required, optional }: Record<"required" | "optional", readonly string[]>,
): AsyncGenerator<{ readonly line: number; readonly cells: ReadonlyMap<string, string> }> {
  const file = await bufferOf(chunks);
  // Loaded by the first such file: most installations never read one.
  const { parquetMetadata } = await import("hyparquet");
  const metadata = readable(() => parquetMetadata(file));
  const elements = new Map(metadata.schema.map((element) => [element.name, element]));
  const missing = required.filter((name) => !elements.has(name));
  if (missing.length > 0) {
    throw new ExportRefused(`The file lacks these columns: ${missing.join(", ")}.`);
  }
  const columns = [...required, ...optional].filter((name) => elements.has(name));
  checkSize(metadata);
  let line = 0;
  for (const { num_rows: count } of metadata.row_groups) {
    const [rowStart, rowEnd] = [line, line + Number(count)];
    const rows = await rowsOf(file, { metadata, columns, rowStart, rowEnd });
    for (const row of rows) {
      line += 1;
      const pairs = columns.map((name) => [name, textOf(row[name], elements.get(name))] as const);
      yield { line, cells: new Map(pairs.filter(([, text]) => text !== "")) };
    }
  }
}

async function bufferOf(chunks: AsyncIterable<Buffer>): Promise<ArrayBuffer> {
  const all: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of chunks) {
    all.push(chunk);
    bytes += chunk.length;
    if (bytes > fileBytesMax) throw new ExportRefused("The file is too large: split it.");
  }
  return new Uint8Array(Buffer.concat(all)).buffer;
}

/** What it says of itself, before anything of that size is held. */
function checkSize({ num_rows: rows, row_groups: groups }: FileMetaData): void {
  const sum = groups.reduce((all, { num_rows: count }) => all + count, 0n);
  if (sum !== rows)
    throw new ExportRefused("The file cannot be read: its row groups do not add up.");
  const isLarge = groups.some(({ total_byte_size: size }) => size > BigInt(groupBytesMax));
  if (rows > BigInt(rowsMax) || isLarge)
    throw new ExportRefused("The file is too large: split it.");
}

type Part = Pick<Parameters<typeof parquetRead>[0], "metadata" | "columns" | "rowStart" | "rowEnd">;

async function rowsOf(file: ArrayBuffer, part: Part): Promise<Record<string, unknown>[]> {
  const { parquetRead: read } = await import("hyparquet");
  let rows: Record<string, unknown>[] = [];
  try {
    await read({
      ...part,
      file,
      rowFormat: "object",
      onComplete: (all) => {
        rows = all;
      },
    });
  } catch (error) {
    throw refused(error);
  }
  return rows;
}

function readable<Result>(read: () => Result): Result {
  try {
    return read();
  } catch (error) {
    throw refused(error);
  }
}

/** All that the reader throws is about the file: nothing else is done meanwhile. */
function refused(error: unknown): ExportRefused {
  const why = error instanceof Error ? error.message : String(error);
  return new ExportRefused(`The file cannot be read: ${why}`, { cause: error });
}

/** As CSV has it. */
function textOf(value: unknown, element: SchemaElement | undefined): string {
  if (value === null || value === undefined) return "";
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? "" : value.toISOString();
  if (typeof value === "number" && element?.converted_type === "DECIMAL") {
    // The reader makes doubles of decimals: 1999 × 0.01 is 19.990000000000002.
    const decimal = parseDecimal(String(value));
    return decimal === null ? String(value) : decimalText(rescale(decimal, element.scale ?? 0));
  }
  if (typeof value === "string") return value;
  // A list or an object is in no column that is read.
  const isPlain =
    typeof value === "number" || typeof value === "bigint" || typeof value === "boolean";
  return isPlain ? String(value) : "";
}
