/**
 * Books money: payments, purchases, links, refunds, disputes. The steps below are the whole of it;
 * each may be repeated at any time (`design.md`, Exactly once).
 */
import { limits } from "../config.js";
import type { LogRecord } from "../backends/log.js";
import type { Service } from "../backends/service.js";
import { type Fact, topics, transactionCodec } from "../schemas/records.js";
import { transactionId } from "../schemas/ids.js";
import { subjects } from "./facts.js";
import { type KnownPayment, writeThenLook } from "./known-facts.js";
import { insertLedger, insertVersions } from "./money-tables.js";
import { readFacts } from "./fact-batch.js";
import { recordings, type Version } from "./recordings.js";
import { transactionRecord } from "./transaction-record.js";
import type { Skus } from "../backends/skus.js";

export type BookingService = Pick<Service, "clickhouse" | "log" | "logger"> & {
  readonly skus: Skus;
};

export async function bookMoney(
  service: BookingService,
  records: readonly LogRecord[],
): Promise<void> {
  // 1. Read the facts of this batch that are about money.
  const batch = readFacts(records, "money");
  if (batch.length === 0) return;

  // 2. Insert those that are not there yet: from now on every writer can see them.
  // 3. Look: all that is known of the payments they touch, through links both ways. What was
  //    told before by another delivery of the same event is of no consequence.
  const { shared } = service.log;
  const payments = await writeThenLook(service.clickhouse, batch, shared);

  // 4. Work out what should be recorded about each payment.
  const outcomes = payments.map((payment) => outcomeOf(service, payment, batch));

  // 5. SKUs named in passing get a place in the catalogue.
  await service.skus.see(outcomes.flatMap(({ skus }) => skus));

  // 6. Bring the ledger to what it should be and insert the versions that are not there yet. A
  //    payment about which more is known by now is left to whoever wrote that: they look too.
  await Promise.all([
    insertLedger(service.clickhouse, outcomes, shared),
    insertVersions(service.clickhouse, outcomes),
  ]);

  // 7. Publish. After a crash before the acknowledgement this repeats, with the same id and
  //    version.
  const messages = await Promise.all(
    outcomes.flatMap(({ payment, published }) =>
      published.map(async (version) => ({
        key: transactionId(
          payment.workspace,
          payment.environment,
          payment.provider,
          payment.payment,
        ),
        value: transactionCodec.encode(await transactionRecord(service.skus, payment, version)),
      })),
    ),
  );
  if (messages.length > 0) await service.log.append(topics.transactions, messages);

  // 8. Acknowledge: the consumer moves the offset when this resolves.
}

/** What one payment needs: rows, messages, SKUs. */
export interface MoneyOutcome extends ReturnType<typeof recordings> {
  readonly payment: KnownPayment;
  /** Versions that may be missing in the table. */
  readonly inserted: readonly Version[];
  readonly published: readonly Version[];
  readonly skus: readonly {
    workspace: string;
    environment: Fact["environment"];
    provider: string;
    externalId: string;
  }[];
}

function outcomeOf(
  { logger }: BookingService,
  payment: KnownPayment,
  batch: readonly Fact[],
): MoneyOutcome {
  const facts = payment.facts.slice(0, limits.factsPerPaymentMax);
  if (facts.length < payment.facts.length) {
    // Deterministic (the earliest by receipt count), so a replay gives the same figures.
    logger.error(
      { payment: payment.payment, provider: payment.provider, facts: payment.facts.length },
      "a payment has more facts than factsPerPaymentMax; later ones are not booked",
    );
  }
  const { versions, ledger } = recordings(facts);
  const here = new Set(
    batch
      .filter((fact) => isFirstDelivery(fact, facts))
      .filter((fact) => subjects(fact.body).some((subject) => payment.keys.has(subject)))
      .map(({ fact_id }) => fact_id),
  );
  const first = facts.findIndex((fact) => here.has(fact.fact_id));
  const isHere = (version: Version) => here.has(version.fact.fact_id);
  // A version made before this batch by a later fact did not know the batch's facts: it is made
  // again with a greater number, also where its document stays the same.
  const inserted =
    first < 0
      ? []
      : versions.filter(
          (version) => version.version > first && (version.changed || !isHere(version)),
        );
  const newest = inserted.findLast((version) => version.changed);
  const published = inserted.filter(
    (version) => version.changed && (isHere(version) || version === newest),
  );
  const { workspace, environment, provider } = payment;
  const skus = [...new Set(ledger.map(({ external_id }) => external_id))]
    .filter((externalId) => externalId !== "")
    .map((externalId) => ({ workspace, environment, provider, externalId }));
  return { payment, versions, ledger, inserted, published, skus };
}

/** The very record that was stored, not another delivery of its event. */
function isFirstDelivery(fact: Fact, known: readonly Fact[]): boolean {
  const stored = known.find(({ fact_id }) => fact_id === fact.fact_id);
  return stored !== undefined && stored.received_at === fact.received_at;
}
