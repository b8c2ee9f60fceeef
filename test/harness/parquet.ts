/** A CSV file's rows as the Parquet file a warehouse writes of them, in columns of their types. */
import { parse } from "csv-parse/sync";
import { parquetWriteBuffer, type SchemaElement } from "hyparquet-writer";
import { parseDecimal, rescale } from "../../schemas/money/money.js";

const isTrue = new Set(["true", "t"]);
const priceScale = 4;

/** @param csv with times in UTC, and at least one row @param rowGroupSize of each part */
export function parquetOf(csv: Buffer, rowGroupSize: number): Buffer {
  const rows: string[][] = parse(csv);
  const [names = [], ...values] = rows;
  const schema = [{ name: "rows", num_children: names.length }, ...names.map(elementOf)];
  const columnData = names.map((name, at) => ({
    name,
    data: values.map((row) => valueOf(name, row[at] ?? "")),
  }));
  return Buffer.from(parquetWriteBuffer({ columnData, schema, rowGroupSize }));
}

function elementOf(name: string): SchemaElement {
  const place = { name, repetition_type: "OPTIONAL" } as const;
  if (name.startsWith("is_")) return { ...place, type: "BOOLEAN" };
  if (/_(time|at)$/.test(name)) {
    return { ...place, type: "INT64", converted_type: "TIMESTAMP_MILLIS" };
  }
  if (name.endsWith("percentage")) return { ...place, type: "DOUBLE" };
  if (/price/.test(name)) {
    const decimal = { converted_type: "DECIMAL", precision: 38, scale: priceScale } as const;
    return { ...place, type: "FIXED_LEN_BYTE_ARRAY", type_length: 16, ...decimal };
  }
  return { ...place, type: "BYTE_ARRAY", converted_type: "UTF8" };
}

function valueOf(name: string, text: string): unknown {
  if (text === "") return null;
  if (name.startsWith("is_")) return isTrue.has(text);
  if (/_(time|at)$/.test(name)) return new Date(`${text.replace(" ", "T")}Z`);
  if (name.endsWith("percentage")) return Number(text);
  const decimal = /price/.test(name) ? parseDecimal(text) : null;
  return decimal === null ? text : rescale(decimal, priceScale).digits;
}
