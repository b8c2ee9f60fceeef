/** The JSON of ledger entries, of facts and of their raw events. */
import type { Catalogue } from "../../workspaces/catalogue/view.js";
import { knownExponentOf, toJsonNumber } from "../../schemas/money/money.js";
import {
  type FactView,
  type LedgerEntry,
  type RawEventView,
  ledgerEntry,
  rawEvent,
} from "./evidence-schema.js";
import { type Fact, type FactBody, topics } from "../../schemas/records/records.js";
import type { JournalRow } from "./journal-query.js";
import type { EntryRow } from "../transaction/entries-query.js";

export function presentEntry(
  row: EntryRow,
  catalogue: Catalogue,
  baseCurrency: string,
): LedgerEntry {
  const product = catalogue.productOf({ provider: row.provider, externalId: row.external_id });
  const base = knownExponentOf(baseCurrency);
  return {
    entry: row.entry,
    kind: ledgerEntry.shape.kind.parse(row.kind),
    product_id: product.id,
    product_name: product.name,
    provider: ledgerEntry.shape.provider.parse(row.provider),
    external_id: row.external_id,
    customer_country: row.country,
    original_amount: toJsonNumber(BigInt(row.original_amount), knownExponentOf(row.currency)),
    original_currency: row.currency,
    amount: toJsonNumber(BigInt(row.amount), base),
    tax_amount: toJsonNumber(BigInt(row.tax), base),
    fee_amount: toJsonNumber(BigInt(row.fee), base),
    base_currency: baseCurrency,
    sales: row.sales,
    happened_at: timeText(row.happened_at_ms),
    recorded_at: timeText(row.recorded_at_ms),
    booked_at: timeText(row.booked_at_ms),
    event_id: row.event_id,
  };
}

/** @param ms since 1970, as text */
export function timeText(ms: string): string {
  return new Date(Number(ms)).toISOString();
}

/**
 * One row for each event, in order of receipt.
 * @param journal by `event_id`
 */
export function presentRawEvents(
  facts: readonly Fact[],
  journal: readonly JournalRow[],
): RawEventView[] {
  const byEvent = new Map<string, Fact[]>();
  for (const fact of facts) {
    const same = byEvent.get(fact.event_id);
    if (same) same.push(fact);
    else byEvent.set(fact.event_id, [fact]);
  }
  return [...byEvent.values()].flatMap((reported) => {
    const [first] = reported;
    return first === undefined ? [] : [presentRawEvent(first, reported, journal)];
  });
}

function presentRawEvent(
  first: Fact,
  reported: readonly Fact[],
  journal: readonly JournalRow[],
): RawEventView {
  // An event that came twice has two rows; the facts say which one was booked.
  const row = journal.find(
    ({ event_id, partition, offset }) =>
      event_id === first.event_id &&
      partition === first.partition &&
      BigInt(offset) === first.offset,
  );
  return {
    event_id: first.event_id,
    received_at: new Date(first.received_at).toISOString(),
    topic: topics.raw,
    partition: first.partition,
    offset: Number(first.offset),
    provider: rawEvent.shape.provider.parse(first.provider),
    native_type: first.native_type,
    native_id: row?.native_id ?? null,
    form: row?.form ?? null,
    verdict: row?.verdict ?? null,
    facts: reported.map(presentFact),
  };
}

export function presentFact(fact: Fact): FactView {
  const { amount, currency, ...reported } = telling(fact.body);
  return {
    fact_id: fact.fact_id,
    ...reported,
    happened_at: new Date(fact.happened_at).toISOString(),
    amount: amount === null ? null : toJsonNumber(amount, knownExponentOf(currency ?? "")),
    currency,
    fx_rate: fact.quote === null ? null : Number(fact.quote.rate),
    fx_date: fact.quote?.date ?? null,
    fx_source: fact.quote?.source ?? null,
    fx_edition: fact.quote?.edition ?? null,
  };
}

interface Telling {
  readonly kind: FactView["kind"];
  readonly about: string;
  /** Minor units of `currency`. */
  readonly amount: bigint | null;
  readonly currency: string | null;
}

function telling(body: FactBody): Telling {
  if ("Payment" in body) return money("payment", body.Payment.payment, body.Payment);
  if ("Refund" in body) return money("refund", body.Refund.refund, body.Refund);
  if ("RefundTotal" in body) {
    return money("refund_total", body.RefundTotal.payment, body.RefundTotal);
  }
  if ("Dispute" in body) return money("dispute", body.Dispute.dispute, body.Dispute);
  const nothing = { amount: null, currency: null };
  if ("Purchase" in body) return { kind: "purchase", about: body.Purchase.purchase, ...nothing };
  if ("Link" in body) return { kind: "link", about: body.Link.purchase, ...nothing };
  if ("Subscription" in body) {
    const { subscription: about, currency } = body.Subscription;
    return { kind: "subscription", about, amount: null, currency: currency || null };
  }
  if ("Unidentified" in body) {
    return { kind: "unidentified", about: body.Unidentified.pool, ...nothing };
  }
  if ("Standing" in body) {
    return { kind: "standing", about: body.Standing.subscription, ...nothing };
  }
  if ("Customer" in body) return { kind: "customer", about: body.Customer.account, ...nothing };
  return { kind: "sku", about: body.Sku.external_id, ...nothing };
}

function money(
  kind: Telling["kind"],
  about: string,
  { amount, currency }: Readonly<{ amount: bigint; currency: string }>,
): Telling {
  return { kind, about, amount, currency };
}
