/** Publishes the outcomes of raw events: facts for booking, questions for enrichment, rejects. */
import {
  type Fact,
  factRecords,
  incompleteRecords,
  topics,
} from "../../schemas/records/records.js";
import type { EnrichmentStep } from "../../providers/api/stored-answers.js";
import { factKey } from "./facts.js";
import { recordRejects } from "../rejects/record-reject.js";
import type { NormalizingService } from "./normalizing-service.js";
import type { Outcome, Rejected } from "./outcome.js";

type Publishing = Pick<
  NormalizingService,
  "baseCurrencyOf" | "clickhouse" | "hashAccount" | "log" | "rates"
>;

/** May be repeated: the ids are the same again. */
export async function publishOutcomes(
  service: Publishing,
  outcomes: readonly Outcome[],
): Promise<void> {
  // 1. From here on the facts are durable; a crash only repeats this batch.
  await publishFacts(
    service,
    outcomes.flatMap((outcome) => (outcome.kind === "facts" ? outcome.facts : [])),
  );

  // 2. Events whose provider must be asked wait on a topic of their own. After the facts, because
  // what enrichment adds must not be published before them.
  const incomplete = outcomes.flatMap((outcome) => {
    const step = stepOf(outcome);
    return step === null ? [] : [incompleteRecord(outcome, step)];
  });
  if (incomplete.length > 0) await service.log.append(topics.incomplete, incomplete);

  // 3. Events that cannot be booked are kept with step and reason, to be listed and replayed.
  await publishRejects(
    service,
    outcomes.filter((outcome) => outcome.kind === "rejected"),
  );
}

export async function publishFacts(
  { hashAccount, log }: Pick<Publishing, "hashAccount" | "log">,
  facts: readonly Fact[],
): Promise<void> {
  if (facts.length === 0) return;
  await log.append(
    topics.facts,
    facts.map((fact) => ({ key: factKey(fact, hashAccount), value: factRecords.encode(fact) })),
  );
}

export async function publishRejects(
  { baseCurrencyOf, clickhouse, log, rates }: Publishing,
  rejects: readonly Rejected[],
): Promise<void> {
  await recordRejects({ clickhouse, log }, rejects);
  for (const { event, missingRate } of rejects) {
    if (missingRate === undefined) continue;
    const base = await baseCurrencyOf(event.workspace);
    // Fetched in the background; a new edition replays what waits for it (retries.ts).
    if (base !== null) void rates.ensureQuote(missingRate.currency, base, missingRate.at);
  }
}

function stepOf(outcome: Outcome): EnrichmentStep | null {
  if (outcome.kind === "asking") return "complete";
  return outcome.kind === "facts" && outcome.asksOptional ? "enrich" : null;
}

function incompleteRecord({ record, event }: Outcome, step: EnrichmentStep) {
  const { partition, offset, value: raw } = record;
  const value = incompleteRecords.encode({
    step,
    partition,
    offset,
    received_at: event.received_at,
    raw,
  });
  return { key: `${event.workspace}:${event.event_id}`, value };
}
