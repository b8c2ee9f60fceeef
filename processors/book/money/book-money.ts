/**
 * Books money: payments, purchases, links, refunds, disputes, and what SKUs are called, since a
 * published payment carries the name of what was bought. The steps below are the whole of it;
 * each may be repeated at any time (docs/architecture.md).
 */
import { allEnded } from "../../../runtime/all-settled.js";
import type { LogRecord } from "../../../log/log.js";
import type { Service } from "../../../runtime/service.js";
import { type Fact, topics, transactionCodec } from "../../../schemas/records/records.js";
import { transactionId } from "../../../schemas/ids.js";
import { matterOf, subjects } from "../../normalize/facts.js";
import { lookFirst, namesOf, writeThenLook } from "./payment-fact-loader.js";
import {
  appendLedger,
  appendVersions,
  insertFacts,
  insertLedger,
  insertVersions,
  type KnownPayment,
  type MoneyOutcome,
  type NewPaymentVersions,
} from "./money-tables.js";
import { readFacts, skusOf } from "../fact-batch.js";
import type { Left } from "../../batch-coalescer.js";
import { mapInTurns } from "../../yield-to-event-loop.js";
import { recordRejects } from "../../rejects/record-reject.js";
import { newVersions, paymentVersions, type Version } from "../payment/payment-versions.js";
import type { HeldMessages } from "./held-messages.js";
import type { KnownKeys } from "./known-keys.js";
import { SoleWriter } from "../sole-writer.js";
import type { NamedSku, Skus } from "../../../catalogue/skus.js";

export type BookingService = Pick<Service, "clickhouse" | "log" | "logger"> & {
  readonly skus: Skus;
  /** Left out: no message waits for an invoice. */
  readonly held?: HeldMessages;
  /** Left out where others write, too. */
  readonly soleWriter?: SoleWriter<FollowingRows> | null;
  /** Called for each batch once its changes are published. */
  readonly booked?: (figures: "transactions" | "mrr", batch: readonly Fact[]) => void;
};

/** @returns what is still to be finished before the offset may move */
export async function bookMoney(
  service: BookingService,
  records: readonly LogRecord[],
): Promise<Left | undefined> {
  // 1. Read the facts of this batch. Names come first: a payment may be the first reported its SKU.
  await service.skus.name((await readFacts(records, "names")).flatMap(skuNamed));
  const batch = await readFacts(records, "money");
  if (batch.length === 0) return undefined;
  if (service.soleWriter) {
    return service.soleWriter.run(
      records.filter(({ key }) => matterOf(key) === "money"),
      (known) => bookAsSoleWriter(service, batch, known),
      async (known) => {
        for (const name of namesOf(batch)) known.stored.add(name);
        await (
          await bookBesideOthers(service, batch)
        ).finished;
      },
      // What is replayed may be booked in part.
      batch.some(({ replay }) => replay),
    );
  }
  // 8. Acknowledge: the consumer moves the offset when what is left is finished.
  return bookBesideOthers(service, batch);
}

function skuNamed({ workspace, environment, provider, happened_at: at, body }: Fact): NamedSku[] {
  if (!("Sku" in body)) return [];
  const { external_id: externalId, name } = body.Sku;
  return [{ workspace, environment, provider, externalId, name, at }];
}

/** Others may write meanwhile, or some of this batch may be there already. */
async function bookBesideOthers(service: BookingService, batch: readonly Fact[]): Promise<Left> {
  const { clickhouse, log } = service;
  const shared = log.shared || clickhouse.isShared;

  // 2. – 3. Insert the batch's facts, so that every writer can see them, and load all that is known
  //    of the payments they touch.
  const payments = await writeThenLook(clickhouse, batch, shared);

  // 4. – 5. A link, reported to two partitions, both may book at once: others may have seen any.
  const outcomes = await workOut(service, batch, payments, null);

  // 6. Insert what is missing: the versions, which people wait for, and the ledger. A payment that
  //    has newer facts by now is left to the process that wrote them, which checks as well.
  const written = insertLedger(clickhouse, outcomes, shared);
  // The caller awaits it later; until then a failure must not count as unhandled.
  written.catch(() => undefined);
  await insertVersions(clickhouse, outcomes);

  const { published } = await report(service, batch, outcomes);
  return { finished: allEnded([written, published]), written };
}

/**
 * Nobody else writes and nothing of the batch is written yet, so what is missing follows from what
 * was known before, and messages wait for no table. A crash between the steps leaves the batch to
 * the careful way above, which repeats the messages.
 * @returns what follows later, with that of other batches
 */
async function bookAsSoleWriter(
  service: BookingService,
  batch: readonly Fact[],
  keys: KnownKeys,
): Promise<FollowingRows> {
  const { payments, before, missing, remember } = await lookFirst(service.clickhouse, batch, keys);
  const unseen = new Set(missing.map(({ fact_id }) => fact_id));
  const outcomes = await workOut(service, batch, payments, unseen);
  const news = await mapInTurns(outcomes, (outcome) => newsOf(outcome, before(outcome.payment)));
  const { published } = await report(service, batch, outcomes);
  remember();
  return { missing, news, published };
}

/** What a sole writer writes a moment after its messages: versions first, which lists show. */
interface FollowingRows {
  readonly missing: readonly Fact[];
  readonly news: readonly NewPaymentVersions[];
  /** Its messages, of which some may wait. */
  readonly published: Promise<void>;
}

/** For `BookingService.soleWriter`; to be called before the first record is booked. */
export function openSoleWriter(
  service: Pick<BookingService, "clickhouse" | "log" | "logger">,
): Promise<SoleWriter<FollowingRows> | null> {
  const { clickhouse } = service;
  type Batches = readonly FollowingRows[];
  const newsOfAll = (batches: Batches) => batches.flatMap(({ news }) => news);
  const follow = async (batches: Batches): Promise<void> => {
    const facts = batches.flatMap(({ missing }) => missing);
    const published = batches.map((batch) => batch.published);
    // After a failure the tables are read, so no write may still be running.
    const ledger = appendLedger(clickhouse, newsOfAll(batches));
    await allEnded([insertFacts(clickhouse, facts, false), ledger, ...published]);
  };
  return SoleWriter.over(service, follow, (batches) =>
    appendVersions(clickhouse, newsOfAll(batches)),
  );
}

/** @param unseen ids of facts that nobody can have made a version of; null: others may, of any */
async function workOut(
  service: BookingService,
  batch: readonly Fact[],
  payments: readonly KnownPayment[],
  unseen: ReadonlySet<string> | null,
): Promise<MoneyOutcome[]> {
  // 4. Work out what should be recorded about each payment.
  const reported = new Map(batch.map((fact) => [fact.fact_id, fact]));
  const outcomes = await mapInTurns(payments, (payment) => outcomeOf(payment, reported, unseen));

  // 5. SKUs named in passing get a place in the catalogue.
  const all = outcomes.flat();
  await service.skus.see(all.flatMap(({ payment, ledger }) => skusOf(payment, ledger)));
  return all;
}

/** @param before facts of the payment that are booked */
function newsOf(outcome: MoneyOutcome, before: readonly Fact[]): NewPaymentVersions {
  const { payment } = outcome;
  const { ledger, versions } = newVersions(payment.payment, payment.facts, outcome, before);
  const inserted = new Set(outcome.inserted);
  return { payment, ledger, versions: versions.filter((version) => inserted.has(version)) };
}

/** 7. Publish, and list what one payment cannot hold. */
async function report(
  service: BookingService,
  batch: readonly Fact[],
  outcomes: readonly MoneyOutcome[],
): Promise<{ readonly published: Promise<void> }> {
  const { published } = await publish(service, batch, outcomes);
  await rejectBeyond(service, outcomes);
  return { published };
}

interface Message {
  /** Its id. */
  readonly transaction: string;
  readonly payment: KnownPayment;
  readonly version: Version;
  readonly waitMs: number;
}

/**
 * After a crash before the acknowledgement this repeats, with the same id and version.
 * @returns once all is published but what waits for its invoice; `published` when that is, too
 */
async function publish(
  service: BookingService,
  batch: readonly Fact[],
  outcomes: readonly MoneyOutcome[],
): Promise<{ readonly published: Promise<void> }> {
  const { held } = service;
  const messages = outcomes.flatMap((outcome): Message[] => {
    const { payment, published } = outcome;
    const { workspace, environment, provider } = payment;
    const transaction = transactionId(workspace, environment, provider, payment.payment);
    const waitMs = held?.waitMsOf(outcome) ?? 0;
    return published.map((version) => ({ transaction, payment, version, waitMs }));
  });
  for (const { transaction } of messages) held?.replace(transaction);
  await append(
    service,
    messages.filter(({ waitMs }) => waitMs === 0),
  );
  const waiting = messages.filter(({ waitMs }) => waitMs > 0);
  const published = publishLater(service, waiting);
  // The caller awaits it later; until then a failure must not count as unhandled.
  published.catch(() => undefined);
  const later = new Set(waiting.map(({ version }) => version.fact.event_id));
  service.booked?.(
    "transactions",
    batch.filter(({ event_id }) => !later.has(event_id)),
  );
  return { published };
}

async function publishLater(service: BookingService, waiting: readonly Message[]): Promise<void> {
  const { held, booked } = service;
  if (held === undefined || waiting.length === 0) return;
  const isNewest = await Promise.all(
    waiting.map(({ transaction, waitMs }) => held.hold(transaction, waitMs)),
  );
  await append(
    service,
    waiting.filter((_, index) => isNewest[index]),
  );
  booked?.(
    "transactions",
    waiting.map(({ version }) => version.fact),
  );
}

async function append({ log, skus }: BookingService, messages: readonly Message[]): Promise<void> {
  if (messages.length === 0) return;
  const records = messages.map(async ({ transaction: id, payment, version: made }) => {
    const { workspace, environment, provider } = payment;
    const { document, version, fact } = made;
    const { external_id: externalId } = document;
    const value = transactionCodec.encode({
      workspace,
      environment,
      provider,
      id,
      version,
      product_name: await skus.productName({ workspace, environment, provider, externalId }),
      recorded_at: fact.received_at,
      event_id: fact.event_id,
      backfill: fact.backfill,
      ...document,
    });
    return { key: id, value };
  });
  await log.append(topics.transactions, await Promise.all(records));
}

/** What is beyond the limits of one payment is listed like any event that cannot be booked. */
async function rejectBeyond(
  { clickhouse, log }: BookingService,
  outcomes: readonly MoneyOutcome[],
): Promise<void> {
  const facts = outcomes.flatMap(({ refused }) => refused);
  const events = new Map(facts.map((fact) => [fact.event_id, fact]));
  const rejects = Array.from(events.values(), (fact) => ({
    record: fact,
    event: fact,
    step: "book",
    reason: "payment_too_large",
    detail: "Its payment has as many facts or ledger rows, or amounts as large, as one may have.",
  }));
  await recordRejects({ clickhouse, log }, rejects);
}

/**
 * @param batch by id
 * @param unseen ids of facts that nobody can have made a version of; null: others may have, of any
 * @returns none of a payment about which the batch says nothing: the invoices of a subscription
 *   are met with each of its events, most of which are later than they
 */
function outcomeOf(
  payment: KnownPayment,
  batch: ReadonlyMap<string, Fact>,
  unseen: ReadonlySet<string> | null,
): MoneyOutcome[] {
  const { facts } = payment;
  const { versions, ledger, counted, beyond } = paymentVersions(payment.payment, facts);
  const refused = beyond.flatMap(({ fact_id }) => batch.get(fact_id) ?? []);
  const counts = (fact: Fact): boolean => counted.has(fact) && batch.has(fact.fact_id);
  // A payment none of whose facts count here stays as it is. Beside others its ledger is brought to
  // what it should be all the same: one who has not seen these facts leaves it to this batch.
  if (!facts.some(counts) && refused.length === 0 && unseen !== null) return [];
  const first = facts.findIndex(
    (fact) =>
      counts(fact) &&
      isFirstDelivery(fact, batch) &&
      subjects(fact.body).some((subject) => payment.keys.has(subject)),
  );
  // A version made before of a later fact did not know the batch's facts: it is made again with a
  // greater number, also where its document stays as the one before, or it would hide that one.
  const inserted =
    first < 0
      ? []
      : versions.filter(
          (version) =>
            version.version > first && (version.changed || !unseen?.has(version.fact.fact_id)),
        );
  // Only the last of them. A version from the middle, made by a fact that came late, may have the
  // number of what another process reported without that fact: the last is above all that was
  // reported.
  const published = inserted.slice(-1);
  return [{ payment, versions, ledger, counted, beyond, refused, inserted, published }];
}

/**
 * The batch has the very record that was stored, not another delivery of its event; or a replay,
 * since the record that was stored may have been passed over before all of it was booked.
 */
function isFirstDelivery(stored: Fact, batch: ReadonlyMap<string, Fact>): boolean {
  const reported = batch.get(stored.fact_id);
  return reported !== undefined && (reported.replay || reported.received_at === stored.received_at);
}
