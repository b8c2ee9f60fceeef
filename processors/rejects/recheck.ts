/**
 * Rechecks rejects that were just listed. Data that arrives replays the listed rejects that wait
 * for it; what arrived between reading an event and listing its reject would be missed.
 */
import { conclude, openRaw } from "../normalize/read-raw.js";
import type { NormalizingService } from "../normalize/normalizing-service.js";
import type { Outcome, Rejected } from "../normalize/outcome.js";

export async function recheckRejects(
  service: NormalizingService,
  outcomes: readonly Outcome[],
): Promise<void> {
  for (const outcome of outcomes) {
    if (outcome.kind !== "rejected") continue;
    if (await isRateKnown(service, outcome)) service.ratesKnown();
    // Those of enrichment wait for an API, which is retried now and then (api-rejects.ts).
    if (outcome.step !== "decode" || outcome.reason !== "enrichment_unavailable") continue;
    const opened = await openRaw(service, outcome.record);
    if (opened.kind === "rejected") continue;
    // Its questions were asked, or nobody can be asked: its outcome without answers counts.
    const again = await conclude(service, opened, new Map());
    if (again.kind === "facts") service.keptNews(outcome.event.workspace);
  }
}

/**
 * By the newest edition, which the replay uses; the event itself uses the one stamped at ingest.
 */
async function isRateKnown(
  { baseCurrencyOf, rates }: NormalizingService,
  { event, missingRate }: Rejected,
): Promise<boolean> {
  if (missingRate === undefined) return false;
  const base = await baseCurrencyOf(event.workspace);
  return base !== null && rates.quote(missingRate.currency, base, missingRate.at) !== null;
}
