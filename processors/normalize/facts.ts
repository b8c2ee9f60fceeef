/**
 * Turns what an adapter read into facts ready for booking: ids, hashed accounts, base currency and
 * quote; and the order of several facts about one thing. Pure.
 */
import {
  announcedSteps,
  type ConversionBounds,
  conversionOf,
  malformedDetail,
  type Unconvertible,
} from "../../schemas/bounds.js";
import { unknownCountry } from "../../schemas/countries.js";
import { paymentKey, purchaseKey } from "../../schemas/ids.js";
import type { Fact, FactBody, RawEventMeta, BodyOf } from "../../schemas/records/records.js";
import type { HashAccount } from "../../stores/vault/account-hash.js";
import type { DecodedFact } from "../../providers/provider.js";
import { compare } from "../../runtime/lists.js";

export type Completed =
  | { readonly outcome: "facts"; readonly facts: Fact[] }
  | {
      readonly outcome: "rejected";
      readonly step: string;
      readonly reason: string;
      readonly detail: string;
      readonly missingRate?: MissingRate;
    };

/** No quote is known: that day's list is fetched, and the event is tried again. */
export interface MissingRate {
  readonly currency: string;
  readonly at: number;
}

export interface Completion extends ConversionBounds {
  readonly meta: RawEventMeta;
  readonly position: { readonly partition: number; readonly offset: bigint };
  readonly baseCurrency: string;
  readonly hashAccount: (account: string) => string;
}

export function completeFacts(decoded: readonly DecodedFact[], by: Completion): Completed {
  const facts: Fact[] = [];
  for (const [position, reported] of decoded.entries()) {
    const { happenedAt, body } = reported;
    const conversion = conversionOf(reported, by);
    if (!conversion.ok) return rejectionOf(conversion, by.baseCurrency);
    facts.push({
      fact_id: `${by.meta.event_id}:${position}`,
      event_id: by.meta.event_id,
      workspace: by.meta.workspace,
      environment: by.meta.environment,
      provider: by.meta.provider,
      partition: by.position.partition,
      offset: by.position.offset,
      native_type: by.meta.native_type,
      received_at: by.meta.received_at,
      happened_at: happenedAt,
      base_currency: by.baseCurrency,
      replay: (by.meta.first_received_at ?? null) !== null,
      backfill: by.meta.form === "history",
      quote: conversion.quote,
      body: bookable(body, by.hashAccount),
    });
  }
  return { outcome: "facts", facts: [...facts, ...customersIn(facts)] };
}

/**
 * Where the customers of an event are, each account once. A payment's country also decides where an
 * account's MRR counts, and money and subscriptions are booked from facts of their own.
 */
function customersIn(facts: readonly Fact[]): Fact[] {
  const customers = new Map<string, Fact>();
  for (const fact of facts) {
    const { account = null, country = null } = buyerIn(fact.body);
    if (account === null || country === null || country === unknownCountry) continue;
    const earlier = customers.get(account);
    if (earlier !== undefined && earlier.happened_at <= fact.happened_at) continue;
    const body = { Customer: { account, country } };
    customers.set(account, { ...fact, fact_id: `${fact.fact_id}:customer`, quote: null, body });
  }
  return [...customers.values()];
}

function buyerIn(body: FactBody): {
  readonly account?: string | null;
  readonly country?: string | null;
} {
  if ("Payment" in body) return body.Payment;
  if ("Purchase" in body) return body.Purchase;
  if ("Refund" in body) return body.Refund;
  return "Subscription" in body ? body.Subscription : {};
}

/**
 * The key of a fact on the log: its book, so that all that has to be known together has one writer
 * (docs/architecture.md). Hashed, because a sender chose its length.
 */
export function factKey({ workspace, environment, provider }: Fact, hash: HashAccount): string {
  return `${bookPrefix}${hash(workspace, environment, provider, "book")}`;
}

/** Facts of earlier versions have other keys. */
export function isBookKey(key: string): boolean {
  return key.startsWith(bookPrefix);
}

const bookPrefix = "book:";

export type Matter = "money" | "names" | "subscriptions";

export function matterOf(body: FactBody): Matter {
  if ("Sku" in body) return "names";
  const others = ["Subscription", "Customer", "Unidentified", "Standing"];
  return others.some((kind) => kind in body) ? "subscriptions" : "money";
}

/** What a fact is about; `money_facts` has these as keys. */
export function subjects(body: FactBody): string[] {
  if ("Payment" in body) return [paymentKey(body.Payment.payment)];
  if ("Purchase" in body) return [purchaseKey(body.Purchase.purchase)];
  if ("Link" in body) return [paymentKey(body.Link.payment), purchaseKey(body.Link.purchase)];
  if ("Refund" in body) {
    const { payment, refund, purchase = null } = body.Refund;
    const key = paymentKey(payment ?? unnamed(refund));
    return purchase === null ? [key] : [key, purchaseKey(purchase)];
  }
  if ("RefundTotal" in body) return [paymentKey(body.RefundTotal.payment)];
  if ("Dispute" in body) return [paymentKey(body.Dispute.payment)];
  if ("Subscription" in body) return [`account:${body.Subscription.account}`];
  if ("Customer" in body) return [`account:${body.Customer.account}`];
  if ("Standing" in body) return [`account:${body.Standing.account}`];
  if ("Unidentified" in body) return [`pool:${body.Unidentified.pool}`];
  return [skuKey(body.Sku.external_id)];
}

/**
 * A refund that names no sale is a transaction of its own. Refunds and sales may share numbers, so
 * it gets a prefix.
 */
function unnamed(refund: string): string {
  return `refund:${refund}`;
}

function skuKey(externalId: string): string {
  return `sku:${externalId}`;
}

/** A key of `money_facts` as one text. */
export function nameOf(
  { workspace, environment, provider }: Pick<Fact, "workspace" | "environment" | "provider">,
  key: string,
): string {
  return JSON.stringify([workspace, environment, provider, key]);
}

/** With hashed accounts, and without announcements beyond the bounds of facts. */
function bookable(body: FactBody, hash: (account: string) => string): FactBody {
  const hashed = (account: string | null) => (account === null ? null : hash(account));
  if ("Payment" in body) {
    return { Payment: { ...body.Payment, account: hashed(body.Payment.account) } };
  }
  if ("Purchase" in body) {
    return { Purchase: { ...body.Purchase, account: hashed(body.Purchase.account) } };
  }
  if ("Refund" in body) {
    return { Refund: { ...body.Refund, account: hashed(body.Refund.account) } };
  }
  if ("Subscription" in body) {
    const { Subscription: state } = body;
    const steps = announcedSteps(state);
    return { Subscription: { ...state, account: hash(state.account), steps } };
  }
  if ("Unidentified" in body) {
    return { Unidentified: { ...body.Unidentified, account: hash(body.Unidentified.account) } };
  }
  if ("Standing" in body) {
    return { Standing: { ...body.Standing, account: hash(body.Standing.account) } };
  }
  if ("Customer" in body) {
    return { Customer: { ...body.Customer, account: hash(body.Customer.account) } };
  }
  return body;
}

function rejectionOf(refused: Unconvertible, baseCurrency: string): Completed {
  switch (refused.reason) {
    case "currency_unknown":
      return rejected("complete", refused.reason, `${refused.currency} is no ISO 4217 currency.`);
    case "dated_too_early":
    case "dated_too_late":
      return rejected("complete", "date_out_of_range", `An event dated ${iso(refused.at)}.`);
    case "fx_rate_missing": {
      const { reason, currency, at } = refused;
      const detail = `No rate from ${currency} to ${baseCurrency} before ${iso(at)}.`;
      return { ...rejected("convert", reason, detail), missingRate: { currency, at } };
    }
    case "malformed":
      return rejected("complete", refused.reason, malformedDetail(refused.field));
    case "amount_too_large":
      break;
  }
  return rejected("convert", refused.reason, "An amount beyond what can be shown exactly.");
}

function rejected(step: string, reason: string, detail: string) {
  return { outcome: "rejected", step, reason, detail } as const;
}

function iso(at: number): string {
  return Number.isFinite(at) && Math.abs(at) <= 8.64e15 ? new Date(at).toISOString() : String(at);
}

/** One of several readings of one thing: the newest counts. */
export interface Reading<Body> {
  readonly fact: Fact;
  readonly body: Body;
}

/** The bodies that `bodyIn` finds, in the order of the facts. */
export function readingsOf<Body>(
  facts: readonly Fact[],
  bodyIn: (body: FactBody) => Body | null,
): Reading<Body>[] {
  const readings: Reading<Body>[] = [];
  for (const fact of facts) {
    const body = bodyIn(fact.body);
    if (body !== null) readings.push({ fact, body });
  }
  return readings;
}

export function refundIn(body: FactBody): BodyOf<"Refund"> | null {
  return "Refund" in body ? body.Refund : null;
}

/**
 * By the provider's time; at the same moment the greater event id; of one event the later reading,
 * which knows what the provider's API added.
 */
export function byNewest(one: Fact, other: Fact): number {
  return (
    other.happened_at - one.happened_at ||
    compare(other.event_id, one.event_id) ||
    byReceipt(other, one)
  );
}

/**
 * As `byNewest`, but of several events of one moment the greatest amount is newer: a payment grows
 * by captures, which Stripe dates by whole seconds.
 */
export function paymentsNewestFirst(facts: readonly Fact[]): Fact[] {
  const readings = facts.toSorted(byNewest);
  const amounts = new Map<string, bigint>();
  for (const { event_id: event, body } of readings) {
    // A later reading of one event may correct it.
    if ("Payment" in body && !amounts.has(event)) amounts.set(event, body.Payment.amount);
  }
  const amountOf = (fact: Fact): bigint => amounts.get(fact.event_id) ?? 0n;
  return readings.sort(
    (one, other) => other.happened_at - one.happened_at || compare(amountOf(other), amountOf(one)),
  );
}

/** The order in which facts became known. */
export function byReceipt(one: Fact, other: Fact): number {
  return one.received_at - other.received_at || compare(one.fact_id, other.fact_id);
}
