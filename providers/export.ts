/**
 * How a provider's history is read from a file that a person downloads: a line is a purchase, and
 * is reported as the events its webhook would have sent. The next provider's is one file.
 */
import type { HistoryPage } from "./backfill.js";

export interface HistoryExport {
  /** What a line is: a backfill counts them under it. */
  readonly name: string;
  /** Which file, for a person. */
  readonly file: string;
  /** What the file cannot report of the past: short sentences, for a person. */
  readonly missing: readonly string[];
  /** As its first line names them; cells of other columns are dropped where they are read. */
  readonly columns: { readonly required: readonly string[]; readonly optional: readonly string[] };
  /** @returns a text where it cannot be read, which says why, never what is in it */
  lineOf(cells: Cells): ExportedLine | string;
}

export interface ExportedLine {
  readonly place: ExportPlace;
  read(beside: Beside): Pick<HistoryPage, "events" | "payments">;
}

/** Of one line by column; empty ones are left out. */
export type Cells = ReadonlyMap<string, string>;

/** Where a line belongs among the others; times are ms since 1970. */
export interface ExportPlace {
  /** The provider's id of the subscription, or of the purchase itself. */
  readonly thing: string;
  /** When the purchase or its period began. */
  readonly at: number;
  /** As in `Payment` facts. One of its lines counts, the one that changed last. */
  readonly purchase: string;
  /** When the provider changed the line last: the file was written later. */
  readonly revision: number;
  readonly isSandbox: boolean;
}

/** What a line does not say by itself; ms since 1970. */
export interface Beside {
  /** When the next purchase of the same thing began; null: the file has none. */
  readonly nextAt: number | null;
  /** When the file was written, at the earliest. */
  readonly asOf: number;
}
