/** How a table becomes bytes, piece by piece: `begin` once, `rows` any number of times, `end`. */
import type { ExportRow } from "./columns.js";

export interface Encoder {
  begin(): Piece;
  rows(rows: readonly ExportRow[]): Piece;
  end(): Piece;
}

/** Text is UTF-8. */
export type Piece = string | Uint8Array;

/** A line of JSON for each row, the same object as in `data`. */
export function ndjsonEncoder(): Encoder {
  return {
    begin: () => "",
    rows: (rows) => rows.map((row) => `${JSON.stringify(row)}\n`).join(""),
    end: () => "",
  };
}
