/**
 * The facts an event record stands for (`definitions.md`, Interface). A pure function: the endpoint
 * computes its answer from it and the processor books the same.
 */
import { fraction } from "../schemas/money/monthly.js";
import type { FactBody } from "../schemas/records/records.js";
import type { DecodedFact, NamedCustomer } from "./provider.js";
import type { EventRecord } from "./record.js";
import { monthlyItem, nothingFrom } from "./worth.js";

/** What was reported and who reported it: the event's identity, and when it happened. */
interface Reported {
  readonly record: EventRecord;
  readonly identity: string;
  readonly at: number;
  readonly account: string;
}

/**
 * @param identity `event_id`, else the Idempotency-Key, else drawn by the endpoint
 * @param firstReceivedAt ms since 1970: when it happened if the record does not say
 */
export function recordToFacts(
  record: EventRecord,
  identity: string,
  firstReceivedAt: number,
): DecodedFact[] {
  const at = record.occurred_at ?? firstReceivedAt;
  const reported: Reported = { record, identity, at, account: accountOf(record, identity) };
  const bodies = [...meanings[record.event_type](reported), ...nameOf(record)];
  return bodies.map((body) => ({ happenedAt: reported.at, body }));
}

function accountOf(record: EventRecord, identity: string): string {
  return record.customer_id ?? record.subscription_id ?? identity;
}

/** Whom the record names; parameters as of `recordToFacts`. */
export function recordToCustomers(
  record: EventRecord,
  identity: string,
  firstReceivedAt: number,
): NamedCustomer[] {
  const {
    customer_id: id = null,
    customer_name: name = null,
    customer_email: email = null,
  } = record;
  if (id === null && name === null && email === null) return [];
  const at = record.occurred_at ?? firstReceivedAt;
  return [{ account: accountOf(record, identity), id, name, email, at }];
}

const meanings: Readonly<Record<EventRecord["event_type"], (reported: Reported) => FactBody[]>> = {
  "transaction.sale": (reported) => [
    ...payment(reported, reported.record.subscription_id !== undefined),
    ...renewed(reported),
  ],
  "subscription.new": (reported) => [
    ...payment(reported, true),
    ...start(reported),
    ...sold(reported),
  ],
  "transaction.refund": refund,
  "subscription.churn": churn,
};

/** A sale of nothing is no payment. */
function payment({ record, identity, at, account }: Reported, ofSubscription: boolean): FactBody[] {
  if (record.amount_minor === 0n) return [];
  return [
    {
      Payment: {
        payment: paymentOf(record, identity),
        at,
        amount: record.amount_minor,
        currency: record.currency,
        account,
        country: record.customer_country ?? null,
        type: ofSubscription ? "subscription" : "one_time",
        tax: null,
        fee: null,
        lines: isBareRenewal(record)
          ? []
          : [{ external_id: record.product_id ?? "", weight: record.amount_minor }],
      },
    },
  ];
}

function paymentOf(record: EventRecord, identity: string): string {
  return record.transaction_id ?? identity;
}

/** One that does not say of what: it is of the product its subscription had then. */
function isBareRenewal(record: EventRecord): record is BareRenewal {
  const { event_type: type, subscription_id: subscription, product_id: product } = record;
  return type === "transaction.sale" && subscription !== undefined && product === undefined;
}

type BareRenewal = EventRecord & { readonly subscription_id: string };

function renewed({ record, identity, at }: Reported): FactBody[] {
  if (!isBareRenewal(record) || record.amount_minor === 0n) return [];
  const purchase = purchaseOf(record.subscription_id);
  return [{ Link: { payment: paymentOf(record, identity), purchase, as_of: at } }];
}

/** What renewals of the subscription pay for from now on. */
function sold({ record }: Reported): FactBody[] {
  const { subscription_id: subscription, product_id: product } = record;
  if (subscription === undefined || product === undefined) return [];
  return [
    {
      Purchase: {
        purchase: purchaseOf(subscription),
        account: null,
        country: null,
        type: "subscription",
        tax: null,
        fee: null,
        lines: [{ external_id: product, weight: 1n }],
      },
    },
  ];
}

/** Apart from the purchases that providers report themselves. */
function purchaseOf(subscription: string): string {
  return `record:${subscription}`;
}

/** The price from now on; said again for a subscription it is the new price. */
function start(reported: Reported): FactBody[] {
  const { record, at, account } = reported;
  const subscription = record.subscription_id ?? `unidentified:${reported.identity}`;
  // The subscription is its own only item, so its rate is held while its price is the same.
  const items = monthlyItem(subscription, record.product_id ?? "", fraction(record.amount_minor), {
    interval: record.interval,
    intervalCount: BigInt(record.interval_count),
  });
  const state: FactBody = {
    Subscription: {
      subscription,
      account,
      country: record.customer_country ?? null,
      currency: items.length === 0 ? "" : record.currency,
      phase: "started",
      steps: [{ at, items }],
    },
  };
  return [state, side(reported, "start", subscription)];
}

function refund({ record, identity, at, account }: Reported): FactBody[] {
  const { amount_minor: amount, product_id: product } = record;
  if (amount === 0n) return [];
  return [
    {
      Refund: {
        refund: identity,
        payment: record.transaction_id ?? null,
        at,
        amount,
        currency: record.currency,
        failed_at: null,
        account,
        country: record.customer_country ?? null,
        lines: product === undefined ? [] : [{ external_id: product, weight: amount }],
      },
    },
  ];
}

/**
 * No money moves; booking finds what it ends, and under which account that began. One with an id
 * ends that subscription of its own account by itself, even if a webhook reported the start.
 */
function churn(reported: Reported): FactBody[] {
  const { record, at, account } = reported;
  const { subscription_id: subscription, customer_country: country = null } = record;
  const unpaired = side(reported, "churn", subscription ?? "");
  if (subscription === undefined) return [unpaired];
  const end: FactBody = {
    Subscription: { subscription, account, country, phase: "ended", ...nothingFrom(at) },
  };
  return [unpaired, end];
}

/**
 * A churn need not repeat the `customer_id` its start had, so even one with an id is paired by
 * booking: in a pool of that one subscription. Those without an id share the pool of their price.
 */
function side(reported: Reported, which: "start" | "churn", subscription: string): FactBody {
  const { record, at, account } = reported;
  const { provider, product_id: product = "", amount_minor: amount, currency } = record;
  const pool =
    record.subscription_id === undefined
      ? ["priced", provider, product, amount.toString(), currency]
      : ["named", provider, record.subscription_id];
  return { Unidentified: { pool: JSON.stringify(pool), side: which, at, subscription, account } };
}

function nameOf({ product_id: external_id, product_name: name }: EventRecord): FactBody[] {
  if (external_id === undefined || name === undefined) return [];
  return [{ Sku: { external_id, name } }];
}
