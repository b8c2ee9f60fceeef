/**
 * Keeps the journal: one row for each raw event, where it lies and what became of it. A consumer
 * of its own, in large, unhurried batches: it explains figures and must not delay them.
 */
import type { LogRecord } from "../backends/log.js";
import type { NormalizingService } from "./normalize.js";
import { insertRawEvents } from "./raw-events.js";
import { type Outcome, readRaw } from "./read-raw.js";

/** What normalizing made of events the journal has yet to write; without it they are read again. */
export class RecentOutcomes {
  readonly #outcomes = new Map<string, Outcome>();

  keep(outcomes: readonly Outcome[]): void {
    for (const outcome of outcomes) this.#outcomes.set(placeOf(outcome.record), outcome);
    // After a long pause of the journal the oldest are read again instead.
    for (const place of this.#outcomes.keys()) {
      if (this.#outcomes.size <= outcomesKeptMax) break;
      this.#outcomes.delete(place);
    }
  }

  take(record: LogRecord): Outcome | null {
    const place = placeOf(record);
    const outcome = this.#outcomes.get(place) ?? null;
    this.#outcomes.delete(place);
    return outcome;
  }
}

const outcomesKeptMax = 10_000;

/** A repeat of the batch replaces its rows. */
export async function keepJournal(
  service: NormalizingService,
  records: readonly LogRecord[],
): Promise<void> {
  const outcomes: Outcome[] = [];
  for (const record of records) {
    const outcome = service.recent.take(record) ?? (await readRaw(service, record));
    // What waits for its provider's API is written when that is done (enrich-complete.ts).
    if (outcome.kind !== "asking") outcomes.push(outcome);
  }
  if (outcomes.length === 0) return;
  await insertRawEvents(service.clickhouse, outcomes);
}

function placeOf({ partition, offset }: LogRecord): string {
  return `${partition}/${offset}`;
}
