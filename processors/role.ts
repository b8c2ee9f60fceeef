/** The role `processors`: normalizes raw events and books facts, as consumers of the log. */
import { setMaxListeners } from "node:events";
import { LRUCache } from "lru-cache";
import { openCustomers } from "../workspaces/customers/customers.js";
import { accountHasher } from "../stores/vault/account-hash.js";
import { lackingEventsGauge, lagGauge, rejectsGauge } from "../http/gauges.js";
import { answersOf, forgetOldAnswers, openStoredAnswers } from "../providers/api/stored-answers.js";
import { openStoredObjects } from "../providers/api/stored-objects.js";
import type { ConsumeOptions, LogRecord, LogUse } from "../stores/log/log.js";
import { Pace, type PaceOptions } from "../runtime/pace.js";
import { shareOf } from "../stores/postgres/postgres.js";
import type { Service } from "../service.js";
import { openSkus } from "../workspaces/catalogue/skus.js";
import { keepCatalogueCopy } from "../workspaces/catalogue/clickhouse-copy.js";
import { groups } from "../stores/watermark/watermark.js";
import { hadIntegration } from "../workspaces/integrations.js";
import { lackingByProvider } from "../workspaces/needed-events.js";
import { findWorkspace } from "../workspaces/workspaces.js";
import { limits } from "../config.js";
import { createProviders } from "../providers/index.js";
import { type Topic, topics } from "../schemas/records/records.js";
import { type BackfillingService, runBackfills } from "./backfill/backfill.js";
import { runPaymentLookups } from "./backfill/missing-payments.js";
import { runReconciliations } from "./reconcile/run-reconciliations.js";
import { Bookkeeper, type BookingService } from "./book/bookkeeper.js";
import { ConsumerHealth, yieldToCallers, ConcurrencyWindow, watchRetention } from "./consumers.js";
import { enrichOptional } from "./enrich/enrich-optional.js";
import { completeEvents, type EnrichingService } from "./enrich/enrich-required.js";
import { coalesced } from "./batch-coalescer.js";
import { keepJournal, normalizeInTurn } from "./normalize/normalize.js";
import { keepAudits } from "./audit/run-audits.js";
import { RecentlyPublished } from "./enrich/recently-published.js";
import { passOver, passOverMessage } from "./rejects/pass-over.js";
import { startRejectRetries } from "./rejects/retries.js";
import { RecentOutcomes } from "./normalize/outcome.js";

/** Connections for events that ask their provider's API, by step. */
const postgresConnectionsOfEnrichmentMax = 3;
/** Beyond this many waiting events a slow API holds up others. */
const enrichmentWaitingMax = { records: 2_000, bytes: 64 * 1024 * 1024 };

export const logUse: LogUse = {
  reads: [topics.raw, topics.incomplete, topics.facts],
  appends: Object.values(topics),
  consumes: [groups.journal, groups.normalize, groups.complete, groups.enrich, groups.book],
};

export async function start(service: Service): Promise<void> {
  await service.publicSchemas.announce();
  const rejects = startRejectRetries(service);
  keepAudits(service);
  watchRetention(service);
  keepCatalogueCopy(service);
  lagGauge(service);
  rejectsGauge(service);
  const stopping = new AbortController();
  // Each question under way listens; their number is limited elsewhere.
  setMaxListeners(0, stopping.signal);
  const { postgres: stored, vault } = service;
  const hashAccount = await accountHasher(stored, vault);
  const enriching: EnrichingService & BackfillingService = {
    ...service,
    providers: createProviders(service.config),
    recent: new RecentOutcomes(),
    reported: new RecentlyPublished(),
    objects: openStoredObjects(stored),
    hadIntegration: hadIntegration(stored),
    storedAnswers: openStoredAnswers(service.postgres, vault),
    baseCurrencyOf: baseCurrencies(service),
    answersKept: answersOf(service.postgres),
    stopping: stopping.signal,
    keptNews: (workspace) => rejects.replaySoon(workspace),
    ratesKnown: () => rejects.ratesKnown(),
    answered: (workspace, provider) => rejects.answered(workspace, provider),
    hashAccount,
    customers: openCustomers({ postgres: stored, vault, hashAccount }),
  };
  lackingEventsGauge(service, () => lackingByProvider(enriching));
  forgetOldAnswers(service);
  const booked = delays(service.metrics);
  const bookkeeper = new Bookkeeper({
    ...service,
    skus: openSkus(service.postgres),
    booked,
    unpublished: (message, error) => passOverMessage(service, message, error),
  });
  service.releases.push("bookkeeper", () => bookkeeper.close());
  service.readiness.add("rows", async () => bookkeeper.check());
  service.watermark.onBehind((figures) =>
    bookkeeper.hurry(figures === "transactions" ? "shown" : "all"),
  );

  const consume = (
    topic: Topic,
    group: string,
    batchRecordsMax: number,
    handle: ConsumeOptions["handle"],
    pacing: Pacing = {},
  ) => {
    const health = new ConsumerHealth();
    service.readiness.add(`consumer ${group}`, () => health.check());
    const consumer = service.log.consume({
      topic,
      group,
      batchRecordsMax,
      ...pacing,
      handle: async (records) => {
        await yieldToCallers(service.watermark);
        return health.watch(() => handle(records));
      },
      passOver: (record, error) => health.watch(() => passOver(enriching, group, record, error)),
    });
    service.releases.push(`consumer ${group}`, () => {
      // Batches under way are finished, or handled again after the next start.
      if (group === groups.book) bookkeeper.stop();
      return consumer.close();
    });
  };
  // The last to start is the first to stop, so that publishing ends before booking does.
  const { bookBatchRecordsMax, enrichmentBatchRecordsMax, normalizeBatchRecordsMax } = limits;
  const keep = (records: readonly LogRecord[]): Promise<void> => keepJournal(enriching, records);
  if (service.log.shared) {
    const { shareMax, lingerMs } = journalPacing;
    const together = coalesced({ recordsMax: bookBatchRecordsMax, shareMax }, keep);
    consume(topics.raw, groups.journal, bookBatchRecordsMax, together, { lingerMs });
  } else {
    const pace = new Pace(journalPace);
    consume(topics.raw, groups.journal, bookBatchRecordsMax, keep, { pace });
  }
  consume(topics.facts, groups.book, bookBatchRecordsMax, (records) => bookkeeper.handle(records));
  for (const [group, enrich] of [
    [groups.enrich, enrichOptional],
    [groups.complete, completeEvents],
  ] as const) {
    const window = new ConcurrencyWindow(enrichmentWaitingMax);
    // These calls come in bursts, and other users of the pool must not wait behind them.
    const share = shareOf(stored, postgresConnectionsOfEnrichmentMax);
    const asking = { ...enriching, objects: openStoredObjects(share) };
    consume(topics.incomplete, group, enrichmentBatchRecordsMax, (records) =>
      window.begin(records, () => enrich(asking, records)),
    );
  }
  const backfills = runBackfills(enriching);
  service.releases.push("backfills", () => backfills);
  const lookups = runPaymentLookups(enriching);
  service.releases.push("payment lookups", () => lookups);
  const reconciliations = runReconciliations(enriching);
  service.releases.push("reconciliations", () => reconciliations);
  service.releases.push("questions to providers", () => stopping.abort());
  consume(topics.raw, groups.normalize, normalizeBatchRecordsMax, (records) =>
    normalizeInTurn(enriching, records),
  );
}

/**
 * A batch costs the engine much the same whatever its size, so the journal rests between batches.
 */
const journalPacing = { shareMax: 1 / 10, lingerMs: 250 };
/** Where one process does everything on few cores. */
const journalPace: PaceOptions = { shareMax: 1 / 100, restMsMax: 3_000 };

type Pacing = Pick<ConsumeOptions, "shareMax" | "lingerMs" | "pace">;

/** How long each event of a batch took, counted once however many facts it held. */
function delays({
  bookingDelaySeconds,
}: Service["metrics"]): NonNullable<BookingService["booked"]> {
  return (figures, batch) => {
    const now = Date.now();
    const receivedAt = new Map(batch.map((fact) => [fact.event_id, fact.received_at]));
    for (const at of receivedAt.values())
      bookingDelaySeconds.observe({ figures }, (now - at) / 1000);
  };
}

/** A base currency is fixed at creation, so it is remembered. */
function baseCurrencies({ postgres }: Service): (workspace: string) => Promise<string | null> {
  const found = new LRUCache<string, string>({ max: workspacesKeptMax });
  return async (workspace) => {
    const known = found.get(workspace);
    if (known !== undefined) return known;
    const row = await findWorkspace(postgres, workspace);
    if (row === null) return null;
    found.set(workspace, row.base_currency);
    return row.base_currency;
  };
}

const workspacesKeptMax = 10_000;
