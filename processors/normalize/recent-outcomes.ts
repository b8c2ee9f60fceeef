import type { LogRecord } from "../../stores/log/log.js";
import { type RawEventRow, rawEventRow } from "./raw-events.js";
import type { Outcome } from "./outcome.js";

/**
 * Outcomes that the journal has yet to write, so that it need not read the events again. Null: the
 * event waits for its provider's API.
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

/** Half a kB each. The journal falls this far behind when a full topic is worked off. */
const rowsKeptMax = 50_000;

function placeOf({ partition, offset }: LogRecord): string {
  return `${partition}/${offset}`;
}
