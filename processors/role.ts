/** The role `processors`: normalizes raw events and books facts, as consumers of the log. */
import { setMaxListeners } from "node:events";
import { LRUCache } from "lru-cache";
import { accountHasher } from "../vault/account-hash.js";
import { lackingEventsGauge, lagGauge, rejectsGauge } from "../runtime/gauges.js";
import { answersOf, forgetOldAnswers } from "../provider-api/stored-answers.js";
import type { ConsumeOptions, LogUse } from "../log/log.js";
import { shareOf } from "../postgres/connection-share.js";
import { openProviderApis } from "../provider-api/provider-api.js";
import { Pace, type PaceOptions } from "../runtime/pace.js";
import type { Service } from "../runtime/service.js";
import { openSkus } from "../catalogue/skus.js";
import { keepCatalogueCopy } from "../catalogue/clickhouse-copy.js";
import { groups } from "../watermark/watermark.js";
import { lackingByProvider } from "../workspaces/needed-events.js";
import { findWorkspace } from "../workspaces/workspaces.js";
import { limits } from "../config.js";
import { createProviders } from "../providers/index.js";
import { type Topic, topics } from "../schemas/records/records.js";
import { HeldMessages } from "./book/money/held-messages.js";
import { AccountSizes } from "./book/subscriptions/account-quota.js";
import { type BackfillingService, runBackfills } from "./backfill/backfill.js";
import { runPaymentLookups } from "./backfill/missing-payments.js";
import { type BookingService, bookMoney, openSoleWriter } from "./book/money/book-money.js";
import { bookSubscriptions } from "./book/subscriptions/book-subscriptions.js";
import { ConsumerHealth } from "./consumer-health.js";
import { enrichOptional } from "./enrich/enrich-optional.js";
import { completeEvents, type EnrichingService } from "./enrich/enrich-required.js";
import { coalesced } from "./batch-coalescer.js";
import { yieldToCallers } from "./yield-to-event-loop.js";
import { keepJournal } from "./normalize/journal.js";
import { normalize } from "./normalize/normalize.js";
import { keepAudits } from "./audit/run-audits.js";
import { ConcurrencyWindow } from "./concurrency-window.js";
import { RecentlyPublished } from "./enrich/recently-published.js";
import { passOver } from "./rejects/pass-over.js";
import { startRejectRetries } from "./rejects/retries.js";
import { watchRetention } from "./retention-watch.js";
import { RecentOutcomes } from "./normalize/recent-outcomes.js";

/** So many of them wait for their answers; only beyond it does a slow API hold up others'. */
const enrichmentWaitingMax = { records: 2_000, bytes: 64 * 1024 * 1024 };
/** Working out movements costs a statement much the same for many accounts as for a few. */
const bookSubscriptionsBatchRecordsMax = 10_000;
/** Of them, those that events which ask their provider's API may have at a time, by step. */
const postgresConnectionsOfEnrichmentMax = 3;

export const logUse: LogUse = {
  reads: [topics.raw, topics.incomplete, topics.facts],
  appends: Object.values(topics),
  consumes: true,
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
  // Each question under way listens; how many there are has its own limits.
  setMaxListeners(0, stopping.signal);
  const enriching: EnrichingService & BackfillingService = {
    ...service,
    providers: createProviders(service.config),
    recent: new RecentOutcomes(),
    reported: new RecentlyPublished(),
    baseCurrencyOf: baseCurrencies(service),
    apis: openProviderApis(service.config, { metrics: service.metrics }),
    answersKept: answersOf(service.postgres),
    stopping: stopping.signal,
    keptNews: (workspace) => rejects.replaySoon(workspace),
    ratesKnown: () => rejects.ratesKnown(),
    answered: (workspace, provider) => rejects.answered(workspace, provider),
    hashAccount: await accountHasher(service.postgres, service.vault),
  };
  lackingEventsGauge(service, () => lackingByProvider(enriching));
  forgetOldAnswers(service);
  const soleWriter = await openSoleWriter(service);
  const accountSizes = AccountSizes.over(service);
  const skus = openSkus(service.postgres);
  const booked = delays(service.metrics);
  const held = new HeldMessages();
  const booking = { ...service, skus, soleWriter, accountSizes, booked, held };
  const paces = { subscriptions: new Pace(subscriptionsPace), journal: new Pace(journalPace) };
  service.watermark.onBehind((figures) => {
    soleWriter?.hurry(figures === "transactions" ? "shown" : "all");
    if (figures === "all") paces.subscriptions.hurry();
  });

  const consume = (
    topic: Topic,
    group: string,
    batchRecordsMax: number,
    handle: ConsumeOptions["handle"],
    haste: Haste = {},
  ) => {
    const health = new ConsumerHealth();
    service.readiness.add(`consumer ${group}`, () => health.check());
    const consumer = service.log.consume({
      topic,
      group,
      batchRecordsMax,
      ...haste,
      handle: async (records) => {
        await yieldToCallers(service.watermark);
        return health.watch(() => handle(records));
      },
      passOver: (record, error) =>
        health.watch(async () => {
          await passOver(enriching, group, record, error);
          if (group === groups.money) soleWriter?.passOver(record);
        }),
    });
    service.releases.push(`consumer ${group}`, () => {
      // What was handled is finished at once.
      if (group === groups.money) soleWriter?.close();
      return consumer.close();
    });
  };
  /** What writes to the store. A sole writer books one batch at a time by itself. */
  const consumeTogether = (...words: Parameters<typeof consume>) => {
    const [topic, group, recordsMax, handle, { shareMax = 1, lingerMs } = {}] = words;
    if (!service.log.shared) return consume(...words);
    const together = coalesced({ recordsMax, shareMax }, handle);
    const haste = lingerMs === undefined ? {} : { lingerMs };
    return consume(topic, group, recordsMax, together, haste);
  };
  // The last to start is the first to stop, so that publishing ends before booking does.
  const { bookBatchRecordsMax, enrichmentBatchRecordsMax, normalizeBatchRecordsMax } = limits;
  consumeTogether(
    topics.raw,
    groups.journal,
    bookBatchRecordsMax,
    (records) => keepJournal(enriching, records),
    { ...journalHaste, pace: paces.journal },
  );
  consumeTogether(topics.facts, groups.money, bookBatchRecordsMax, (records) =>
    bookMoney(booking, records),
  );
  consumeTogether(
    topics.facts,
    groups.subscriptions,
    bookSubscriptionsBatchRecordsMax,
    (records) => bookSubscriptions(booking, records),
    { ...subscriptionsHaste, pace: paces.subscriptions },
  );
  for (const [group, enrich] of [
    [groups.enrich, enrichOptional],
    [groups.complete, completeEvents],
  ] as const) {
    const window = new ConcurrencyWindow(enrichmentWaitingMax);
    // These calls come in bursts, and other users of the pool must not wait behind them.
    const postgres = shareOf(service.postgres, postgresConnectionsOfEnrichmentMax);
    consume(topics.incomplete, group, enrichmentBatchRecordsMax, (records) =>
      window.begin(records, () => enrich({ ...enriching, postgres }, records)),
    );
  }
  const backfills = runBackfills(enriching);
  service.releases.push("backfills", () => backfills);
  const lookups = runPaymentLookups(enriching);
  service.releases.push("payment lookups", () => lookups);
  service.releases.push("questions to providers", () => stopping.abort());
  consume(topics.raw, groups.normalize, normalizeBatchRecordsMax, (records) =>
    normalize(enriching, records),
  );
}

/**
 * A batch costs the engine much the same however large it is, so these consumers rest between
 * batches: what is urgent (money) has the processor, and under load their batches grow instead.
 */
const subscriptionsHaste: Haste = { shareMax: 1 / 3, lingerMs: 100 };
const journalHaste: Haste = { shareMax: 1 / 10, lingerMs: 250 };
/** Where one process does everything on few cores. Who asks for MRR hurries it. */
const subscriptionsPace: PaceOptions = {
  shareMax: 1 / 16,
  hurriedShareMax: 1 / 2,
  restMsMax: 2_000,
};
const journalPace: PaceOptions = { shareMax: 1 / 100, restMsMax: 2_000 };

type Haste = Pick<ConsumeOptions, "shareMax" | "lingerMs" | "pace">;

/** How long each event of a batch took, once however many facts it reported. */
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

/** A base currency is fixed at creation, so what was found once is kept. */
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
