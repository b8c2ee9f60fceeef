/**
 * Parquet, one row group after another. Its index comes last, so a file that was cut short cannot
 * be opened. Amounts are decimals of a fixed scale, never doubles.
 */
import { ByteWriter, ParquetWriter, type SchemaElement } from "hyparquet-writer";
import { parseDecimal, powerOfTen, rescale } from "../../schemas/money/money.js";
import { type Column, type Encoder, type ExportRow, valueIn } from "./columns.js";

/** Rows of one row group; encoding it blocks everything else (100 ms). */
const parquetGroupRows = 2_500;

export function parquetEncoder(columns: readonly Column[]): Encoder {
  const bytes = new ByteWriter();
  const schema = [{ name: "rows", num_children: columns.length }, ...columns.map(elementOf)];
  const writer = new ParquetWriter({ writer: bytes, schema, createdBy: "revenue" });
  let waiting: ExportRow[] = [];

  function writeGroup(): void {
    if (waiting.length === 0) return;
    void writer.write({
      columnData: columns.map((column) => ({
        name: column.name,
        data: waiting.map((row) => parquetValue(column, valueIn(row, column))),
      })),
      rowGroupSize: waiting.length,
    });
    waiting = [];
  }
  /** What was written since the last call. */
  function taken(): Uint8Array {
    const piece = bytes.getBytes().slice();
    bytes.index = 0;
    return piece;
  }
  return {
    begin: taken,
    rows(rows) {
      waiting.push(...rows);
      if (waiting.length >= parquetGroupRows) writeGroup();
      return taken();
    },
    end() {
      writeGroup();
      void writer.finish();
      return taken();
    },
  };
}

/** Digits of a decimal of 16 bytes, which every reader knows. */
const decimalDigits = 38;
const decimalBytes = 16;

function elementOf({ name, kind, scale, isNullable }: Column): SchemaElement {
  const place = { name, repetition_type: isNullable ? "OPTIONAL" : "REQUIRED" } as const;
  switch (kind) {
    case "integer":
      return { ...place, type: "INT64" };
    case "decimal":
      return {
        ...place,
        type: "FIXED_LEN_BYTE_ARRAY",
        type_length: decimalBytes,
        converted_type: "DECIMAL",
        precision: decimalDigits,
        scale,
      };
    case "time":
      return {
        ...place,
        type: "INT64",
        converted_type: "TIMESTAMP_MILLIS",
        logical_type: { type: "TIMESTAMP", isAdjustedToUTC: true, unit: "MILLIS" },
      };
    case "date":
      return { ...place, type: "INT32", converted_type: "DATE" };
    case "text":
    case "json":
      return { ...place, type: "BYTE_ARRAY", converted_type: "UTF8" };
    default:
      return kind satisfies never;
  }
}

function parquetValue(column: Column, value: string | number | null) {
  if (value === null) return null;
  switch (column.kind) {
    case "integer":
      return BigInt(value);
    case "decimal":
      return unscaled(String(value), column);
    case "time":
      return new Date(value);
    case "date":
      return value === "" ? null : new Date(value);
    case "text":
    case "json":
      return value;
    default:
      return column.kind satisfies never;
  }
}

/** The digits of a decimal without its point, with as many places as the column has. */
function unscaled(text: string, { name, scale }: Column): bigint {
  const decimal = parseDecimal(text);
  const digits = decimal === null ? null : rescale(decimal, scale).digits;
  const isExact =
    decimal !== null &&
    digits !== null &&
    digits * powerOfTen(decimal.scale) === decimal.digits * powerOfTen(scale);
  if (!isExact) throw new Error(`${name} of an export does not fit: ${text}`);
  return digits;
}
