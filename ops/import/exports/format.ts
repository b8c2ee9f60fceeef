/** What the import knows of one tool's export. */
import type { Dataset, LeftOut, Tables } from "./tables.js";

export interface ExportedEvents {
  /** Form A by column, with an `event_id` and without its provider. */
  readonly events: readonly Readonly<Record<string, string | undefined>>[];
  /** For a person, beside the sums. */
  readonly notes: readonly string[];
}

export interface ExportFormat<Name extends string> {
  /** By what they are called for a person; a file is the first one whose columns it has. */
  readonly datasets: Readonly<Record<Name, Dataset>>;
  readonly required: readonly Name[];
  /** What the files cannot say: short sentences, for a person. */
  readonly missing: readonly string[];
  events(tables: Tables<Name>, leftOut: LeftOut): ExportedEvents;
}
