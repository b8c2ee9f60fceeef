/**
 * Keeps the journal: one row for each raw event, where it lies and what became of it. A consumer
 * of its own, in large, unhurried batches: it explains figures and must not delay them.
 */
import type { LogRecord } from "../backends/log.js";
import type { NormalizingService } from "./normalize.js";
import { insertRawEvents } from "./raw-events.js";
import { type Outcome, readRaw } from "./read-raw.js";

/** A repeat of the batch replaces its rows. */
export async function keepJournal(
  service: NormalizingService,
  records: readonly LogRecord[],
): Promise<void> {
  const outcomes: Outcome[] = [];
  for (const record of records) outcomes.push(await readRaw(service, record));
  await insertRawEvents(service.clickhouse, outcomes);
}
