/**
 * Books payments, purchases, links, refunds and disputes. What should be recorded about a payment
 * follows from all facts known of it; the difference that the batch makes is written and published.
 */
import { clickhouseTime } from "../../../stores/clickhouse/rows.js";
import type { Skus } from "../../../workspaces/catalogue/skus.js";
import { type Fact, topics, transactionCodec } from "../../../schemas/records/records.js";
import { transactionId } from "../../../schemas/ids.js";
import { subjects } from "../../normalize/facts.js";
import { rejectMessage, rejectRow, type RejectedEvent } from "../../rejects/record-reject.js";
import { mapInTurns } from "../../../runtime/lists.js";
import { type Booked, type Message, publishedEvent, skusOf } from "../booked.js";
import { newVersions, paymentVersions, type Version } from "../payment/payment-versions.js";
import type { Lists } from "../lists.js";
import { addFacts, isSameDelivery } from "./known-facts.js";
import {
  factRows,
  ledgerRows,
  type KnownPayment,
  type MoneyOutcome,
  versionRows,
} from "./money-tables.js";

/**
 * @param batch facts about money, each once
 * @param now ms since 1970
 */
export async function bookMoney(
  lists: Lists,
  skus: Skus,
  batch: readonly Fact[],
  now: number,
): Promise<Booked> {
  const { payments, before, missing, again } = await addFacts(lists, batch);
  const reported = new Map(batch.map((fact) => [fact.fact_id, fact]));
  const unseen = new Set(missing.map(({ fact_id }) => fact_id));
  const found = await mapInTurns(payments, (payment) =>
    outcomeOf(payment, reported, unseen, () => before(payment)),
  );
  const outcomes = found.flat();
  // SKUs named in passing get a place in the catalogue.
  await skus.see(outcomes.flatMap(({ payment, ledger }) => skusOf(payment, ledger)));
  const news = await mapInTurns(outcomes, (outcome) => newsOf(outcome, before(outcome.payment)));
  const booked_at = clickhouseTime(now);
  const rejected = rejectedIn(outcomes);
  return {
    rows: {
      transactions: news.flatMap(({ payment, versions }) =>
        versionRows(payment, versions).map((row) => ({ ...row, booked_at })),
      ),
      money_facts: factRows(missing),
      ledger: news.flatMap(({ payment, ledger }) =>
        ledgerRows(payment, ledger).map((row) => ({ ...row, booked_at })),
      ),
      rejects: rejected.map(rejectRow),
    },
    messages: [
      ...(await Promise.all(outcomes.flatMap((outcome) => messagesOf(outcome, skus)))),
      ...rejected.map(rejectMessage),
    ],
    again,
  };
}

function newsOf(outcome: MoneyOutcome, before: readonly Fact[]) {
  const { payment } = outcome;
  const { ledger, versions } = newVersions(payment.payment, payment.facts, outcome, before);
  const inserted = new Set(outcome.inserted);
  return { payment, ledger, versions: versions.filter((version) => inserted.has(version)) };
}

/**
 * What was bought often comes by another event in the same second. A message that cannot name it
 * waits a moment, because people should see a transaction within 250 ms.
 */
const invoiceWaitMs = 180;

function messagesOf(outcome: MoneyOutcome, skus: Skus): Promise<Message>[] {
  const { isFirst, payment, published } = outcome;
  const { workspace, environment, provider } = payment;
  const id = transactionId(workspace, environment, provider, payment.payment);
  const waits = waitsForInvoice(outcome)
    ? { waitsUntil: firstReceipt(outcome) + invoiceWaitMs }
    : {};
  return published.map(async ({ document, version, fact }) => {
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
      first: isFirst,
      ...document,
    });
    return { topic: topics.transactions, key: id, value, about: publishedEvent(fact), ...waits };
  });
}

function waitsForInvoice({ payment, published }: MoneyOutcome): boolean {
  const last = published.at(-1);
  if (last === undefined || last.fact.backfill || last.fact.replay) return false;
  const isUnnamed = last.document.external_id === "" && last.document.type === "one_time";
  return (
    isUnnamed &&
    payment.facts.some(({ body }) => "Payment" in body && body.Payment.invoiced === true)
  );
}

function firstReceipt({ versions: [first] }: MoneyOutcome): number {
  return first?.fact.received_at ?? 0;
}

/** What exceeds the limits of a payment is listed like any event that cannot be booked. */
function rejectedIn(outcomes: readonly MoneyOutcome[]): RejectedEvent[] {
  const facts = outcomes.flatMap(({ refused }) => refused);
  const events = new Map(facts.map((fact) => [fact.event_id, fact]));
  return Array.from(events.values(), (fact) => ({
    record: fact,
    event: fact,
    step: "book",
    reason: "payment_too_large",
    detail: "Its payment has as many facts or ledger rows, or amounts as large, as one may have.",
  }));
}

/**
 * @param batch by id
 * @param unseen ids of facts that were not known before the batch
 * @param before the facts of the payment that were known before the batch
 * @returns none for a payment about which the batch says nothing: the invoices of a subscription
 *   are loaded with each of its events
 */
function outcomeOf(
  payment: KnownPayment,
  batch: ReadonlyMap<string, Fact>,
  unseen: ReadonlySet<string>,
  before: () => readonly Fact[],
): MoneyOutcome[] {
  const { facts } = payment;
  const { versions, ledger, counted, beyond } = paymentVersions(payment.payment, facts);
  const refused = beyond.flatMap(({ fact_id }) => batch.get(fact_id) ?? []);
  // The record that was stored, or a replay, which publishes again; no other delivery.
  const isHere = (fact: Fact): boolean => {
    const here = batch.get(fact.fact_id);
    return here !== undefined && isSameDelivery(fact, here);
  };
  const counts = (fact: Fact): boolean => counted.has(fact) && batch.has(fact.fact_id);
  if (!facts.some(counts) && refused.length === 0) return [];
  const first = facts.findIndex(
    (fact) =>
      counts(fact) &&
      isHere(fact) &&
      subjects(fact.body).some((subject) => payment.keys.has(subject)),
  );
  // A late fact outdates the versions of later facts. They are inserted again with greater numbers,
  // even where the document equals the one before, or the old version would hide that one.
  const inserted =
    first < 0
      ? []
      : versions.filter(
          (version) =>
            version.version > first && (version.changed || !unseen.has(version.fact.fact_id)),
        );
  // Only the newest. An older version that a late fact adds may have a number that was published
  // before; the newest one's number is above all of those.
  const published = inserted.slice(-1);
  const isNew = ({ fact }: Version): boolean => unseen.has(fact.fact_id);
  const isFirst =
    versions.every(isNew) ||
    (versions.some(isNew) && paymentVersions(payment.payment, before()).versions.length === 0);
  return [{ payment, versions, ledger, counted, beyond, refused, inserted, published, isFirst }];
}
