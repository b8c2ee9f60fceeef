/**
 * Normalizes raw events into facts. Nothing here depends on another event, and each step below may
 * be repeated at any time.
 */
import type { LogRecord } from "../../stores/log/log.js";
import { Slices } from "../yield-to-event-loop.js";
import { keepCustomers } from "./keep-customers.js";
import { publishOutcomes } from "./publish-facts.js";
import { recheckRejects } from "../rejects/recheck.js";
import { readRaw } from "./read-raw.js";
import type { NormalizingService } from "./normalizing-service.js";
import type { Outcome } from "./outcome.js";

/** About 10 ms of work; then calls to this process get their turn. */
const recordsAtOnce = 25;

export async function normalize(
  service: NormalizingService,
  records: readonly LogRecord[],
): Promise<void> {
  // 1. Open the seal, decode, complete, convert: each event becomes facts, nothing, a reject, or
  //    waits for its provider's API.
  const outcomes: Outcome[] = [];
  const slices = new Slices(service.watermark);
  for (const [index, record] of records.entries()) {
    if (index % recordsAtOnce === recordsAtOnce - 1) await slices.letOthersRun();
    outcomes.push(await readRaw(service, record));
  }

  // 2. Keep the customers. Before the facts, so that these are published once, however long
  // Postgres is unavailable.
  await keepCustomers(service, outcomes);

  // 3. Publish; from here on all of it is durable.
  await publishOutcomes(service, outcomes);
  await recheckRejects(service, outcomes);
  service.recent.keep(outcomes);

  // 4. Acknowledge: the consumer moves the offset when this resolves.
}
