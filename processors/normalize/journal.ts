/**
 * Keeps the journal: one row for each raw event, where it lies and what became of it. A consumer
 * of its own, in large, unhurried batches: it explains figures and must not delay them.
 */
import type { LogRecord } from "../../log/log.js";
import type { NormalizingService } from "./normalize.js";
import { insertRawEvents, type RawEventRow, rawEventRow } from "./raw-events.js";
import { type Outcome, readRaw } from "./read-raw.js";

/**
 * What the journal has yet to write of events that were normalized; without it they are read
 * again. Null: an event that waits for its provider's API.
 */
export class RecentOutcomes {
  readonly #rows = new Map<string, RawEventRow | null>();

  keep(outcomes: readonly Outcome[]): void {
    for (const outcome of outcomes) this.#rows.set(placeOf(outcome.record), rawEventRow(outcome));
    // After a long pause of the journal the oldest are read again instead.
    for (const place of this.#rows.keys()) {
      if (this.#rows.size <= rowsKeptMax) break;
      this.#rows.delete(place);
    }
  }

  /** @returns undefined when it is not known */
  get(record: LogRecord): RawEventRow | null | undefined {
    return this.#rows.get(placeOf(record));
  }

  forget(records: readonly LogRecord[]): void {
    for (const record of records) this.#rows.delete(placeOf(record));
  }
}

/** Half a kB each. The journal falls so far behind when a full topic is worked off. */
const rowsKeptMax = 50_000;

/** A repeat of the batch replaces its rows. */
export async function keepJournal(
  service: NormalizingService,
  records: readonly LogRecord[],
): Promise<void> {
  const rows: RawEventRow[] = [];
  for (const record of records) {
    const known = service.recent.get(record);
    const row = known === undefined ? rawEventRow(await readRaw(service, record)) : known;
    // What waits for its provider's API is written when that is done (enrich-required.ts).
    if (row !== null) rows.push(row);
  }
  await insertRawEvents(service.clickhouse, rows);
  // Not before: read again, an event may come to something else than what was handed on.
  service.recent.forget(records);
}

function placeOf({ partition, offset }: LogRecord): string {
  return `${partition}/${offset}`;
}
