/**
 * Keeps the journal: one row for each raw event, where it lies and what became of it. A consumer of
 * its own, in large batches, because it explains figures and must not delay them.
 */
import { setTimeout as pause } from "node:timers/promises";
import type { LogRecord } from "../../stores/log/log.js";
import { topics } from "../../schemas/records/records.js";
import { groups } from "../../stores/watermark/watermark.js";
import {
  insertRawEvents,
  type RawEventRow,
  rawEventRow,
  type NormalizingService,
} from "./outcome.js";
import { readRaw } from "./read-raw.js";

export async function keepJournal(
  service: NormalizingService,
  records: readonly LogRecord[],
): Promise<void> {
  await untilNormalized(service, records);
  const rows: RawEventRow[] = [];
  for (const record of records) {
    const known = service.recent.get(record);
    const row = known === undefined ? rawEventRow(await readRaw(service, record)) : known;
    // An event that waits for its provider's API is written when that is done (enrich-required.ts).
    if (row !== null) rows.push(row);
  }
  await insertRawEvents(service.clickhouse, rows);
  // Not earlier: if an event is read again, its outcome may differ from the published one.
  service.recent.forget(records);
}

/** Outcomes that `normalize` has found need not be found again. */
async function untilNormalized(
  { log, recent, stopping }: Pick<NormalizingService, "log" | "recent" | "stopping">,
  records: readonly LogRecord[],
): Promise<void> {
  const until = performance.now() + waitMsMax;
  while (performance.now() < until && !stopping.aborted) {
    const handled = await log.handled(topics.raw, groups.normalize);
    const isBehind = ({ partition, offset }: LogRecord) => offset < (handled[partition] ?? 0n);
    if (records.every((record) => recent.get(record) !== undefined || isBehind(record))) return;
    await pause(pollMs);
  }
}

/** Then these are read once more, so that nothing holds up the journal for long. */
const waitMsMax = 10_000;
const pollMs = 50;
