/** The columns of a table, from the zod schema of its rows: an export has what JSON shows. */
import { z } from "zod";

export interface Column {
  readonly name: string;
  readonly field: string;
  readonly kind: Kind;
  readonly isNullable: boolean;
  /** Decimals that a Parquet file keeps of a `decimal`; more are our own mistake. */
  readonly scale: number;
}

/** `time`: ISO 8601; `date`: `YYYY-MM-DD`, or empty for none; `json`: what is no single value. */
type Kind = "text" | "integer" | "decimal" | "time" | "date" | "json";

export type ExportRow = Readonly<Record<string, unknown>>;

/** Turns a table into bytes, piece by piece: `begin` once, `rows` any number of times, `end`. */
export interface Encoder {
  begin(): Piece;
  rows(rows: readonly ExportRow[]): Piece;
  end(): Piece;
}

export type Piece = string | Uint8Array;

/** No currency has more decimals (`schemas/money/money.ts`). */
const amountScale = 4;

/** Other names for what SQL reserves; it does not reserve `timestamp`. */
const columnNames: Readonly<Record<string, string>> = {
  from: "period_start",
  to: "period_end",
  at: "happened_at",
};

/** @param special what the schema does not say of a column */
export function columnsOf(
  schema: z.ZodObject,
  special: Readonly<Record<string, Partial<Column>>> = {},
): Column[] {
  return Object.entries(schema.shape).map(([name, field]) => ({
    name: columnNames[name] ?? name,
    field: name,
    kind: kindOf(field),
    isNullable: z.safeParse(field, null).success || z.safeParse(field, undefined).success,
    scale: amountScale,
    ...special[name],
  }));
}

/** @throws when the row does not fit its schema */
export function valueIn(row: ExportRow, column: Column): string | number | null {
  const value = row[column.field] ?? null;
  if (value === null || typeof value === "string" || typeof value === "number") return value;
  if (column.kind === "json") return JSON.stringify(value);
  throw new Error(`${column.name} of an export is no single value`);
}

function kindOf(field: z.core.$ZodType): Kind {
  if (field instanceof z.ZodNullable || field instanceof z.ZodOptional) {
    return kindOf(field.unwrap());
  }
  if (field instanceof z.ZodNumberFormat) return "integer";
  if (field instanceof z.ZodNumber) return "decimal";
  if (field instanceof z.ZodISODateTime) return "time";
  if (field instanceof z.ZodISODate) return "date";
  return field instanceof z.ZodString || field instanceof z.ZodEnum ? "text" : "json";
}
