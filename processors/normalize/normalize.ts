/**
 * Normalizes raw events into facts. Nothing here depends on another event, and each step may be
 * repeated at any time.
 */
import { setTimeout as pause } from "node:timers/promises";
import { bulkPartition, type LogRecord } from "../../stores/log/log.js";
import { chunksBySize } from "../../runtime/lists.js";
import {
  topics,
  type Fact,
  factRecords,
  incompleteRecords,
} from "../../schemas/records/records.js";
import { recordsBehind } from "../../stores/watermark/backlog.js";
import { groups } from "../../stores/watermark/watermark.js";
import {
  type NormalizingService,
  type Outcome,
  type Rejected,
  insertRawEvents,
  type RawEventRow,
  rawEventRow,
} from "./outcome.js";
import { Slices } from "../consumers.js";
import { readRaw, conclude, openRaw } from "./read-raw.js";
import { isStoreAway } from "../../stores/store-away.js";
import type { EnrichmentStep } from "../../providers/api/stored-answers.js";
import { factKey } from "./facts.js";
import { recordRejects } from "../rejects/record-reject.js";

/** A slow machine books as many in about a quarter of a second. */
const bulkRecordsAtOnce = 250;
/** Facts that may wait for booking when the next ones are added. */
const factsWaitingMax = 500;
/** After this it goes on, because others may be busy for hours, and a store may be unavailable. */
const waitMsMax = 1_000;
const lookEveryMs = 20;

/**
 * Bulk a little at a time, behind what others sent (stores/log/log.ts).
 * @param records of one partition
 */
export async function normalizeInTurn(
  service: NormalizingService,
  records: readonly LogRecord[],
): Promise<void> {
  if (records[0]?.partition !== bulkPartition(service.log)) return normalize(service, records);
  for (const some of chunksBySize(records, bulkRecordsAtOnce, () => 1)) {
    await othersAreBooked(service);
    await normalize(service, some);
  }
}

async function othersAreBooked({ log, stopping, watermark }: NormalizingService): Promise<void> {
  const until = performance.now() + waitMsMax;
  while (!stopping.aborted && performance.now() < until) {
    watermark.hurry("transactions");
    const waiting = await recordsBehind(log, topics.facts, groups.book, "handled");
    if (waiting <= factsWaitingMax) return;
    await pause(lookEveryMs);
  }
}

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

  // 2. Publish them; from here on all of it is durable.
  await publishOutcomes(service, outcomes);
  service.recent.keep(outcomes);

  // 3. Acknowledge: the consumer moves the offset when this resolves.
}

/** May be repeated: the ids are the same again. */
export async function publishOutcomes(
  service: NormalizingService,
  outcomes: readonly Outcome[],
): Promise<void> {
  // 1. Keep the customers. Before the facts, so that these are published once, however long
  // Postgres is unavailable.
  await keepCustomers(service, outcomes);

  // 2. From here on the facts are durable; a crash only repeats this batch.
  await publishFacts(
    service,
    outcomes.flatMap((outcome) => (outcome.kind === "facts" ? outcome.facts : [])),
  );

  // 3. Events whose provider must be asked wait on a topic of their own. After the facts, because
  // what enrichment adds must not be published before them.
  const incomplete = outcomes.flatMap((outcome) => {
    const step = stepOf(outcome);
    return step === null ? [] : [incompleteRecord(outcome, step)];
  });
  if (incomplete.length > 0) await service.log.append(topics.incomplete, incomplete);

  // 4. Events that cannot be booked are kept with step and reason, to be listed and replayed.
  const rejects = outcomes.filter((outcome) => outcome.kind === "rejected");
  await publishRejects(service, rejects);
  await recheckRejects(service, rejects);
}

/**
 * Keeps the customers that events name (workspaces/customers/customers.ts). No figure depends on
 * them, so a failure here holds up nothing.
 * @throws PostgresUnavailable, and the batch is tried again
 */
async function keepCustomers(
  { customers, logger }: Pick<NormalizingService, "customers" | "logger">,
  outcomes: readonly Outcome[],
): Promise<void> {
  const reported = outcomes.flatMap((outcome) => ("customers" in outcome ? outcome.customers : []));
  if (reported.length === 0) return;
  try {
    await customers.keep(reported);
  } catch (error) {
    if (isStoreAway(error)) throw error;
    // Our own mistake costs a name, not a booking. The message may quote personal data, so it is
    // left out.
    const { name, code } = Object(error);
    logger.error({ error: name, code, customers: reported.length }, "customers were not kept");
  }
}

type Publishing = Pick<
  NormalizingService,
  "baseCurrencyOf" | "clickhouse" | "hashAccount" | "log" | "rates"
>;

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
  if (rejects.length === 0) return;
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

/**
 * Rechecks rejects that were just listed. Data that arrives replays the listed rejects that wait
 * for it; what arrived between reading an event and listing its reject would be missed.
 */
export async function recheckRejects(
  service: NormalizingService,
  rejects: readonly Rejected[],
): Promise<void> {
  for (const reject of rejects) {
    if (await isRateKnown(service, reject)) service.ratesKnown();
    // Those of enrichment wait for an API, which is retried now and then (retries.ts).
    if (reject.step !== "decode" || reject.reason !== "enrichment_unavailable") continue;
    const opened = await openRaw(service, reject.record);
    if (opened.kind === "rejected") continue;
    // Its questions were asked, or nobody can be asked: its outcome without answers counts.
    const again = await conclude(service, opened, new Map());
    if (again.kind === "facts") service.keptNews(reject.event.workspace);
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

/**
 * Keeps the journal: one row for each raw event, where it lies and what became of it. A consumer of
 * its own, in large batches, because it explains figures and must not delay them.
 */
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
  const until = performance.now() + journalWaitMsMax;
  while (performance.now() < until && !stopping.aborted) {
    const handled = await log.handled(topics.raw, groups.normalize);
    const isBehind = ({ partition, offset }: LogRecord) => offset < (handled[partition] ?? 0n);
    if (records.every((record) => recent.get(record) !== undefined || isBehind(record))) return;
    await pause(journalPollMs);
  }
}

/** Then these are read once more, so that nothing holds up the journal for long. */
const journalWaitMsMax = 10_000;
const journalPollMs = 50;
