/** From an event's type to what it reports. The table is the whole of RevenueCat's meaning here. */
import { z } from "zod";
import { compiled, isObject, readOnce, textOf } from "../fields.js";
import { billingPeriodBetween } from "../../schemas/money/billing-periods.js";
import { type BillingPeriod, fraction } from "../../schemas/money/monthly.js";
import type { FactBody } from "../../schemas/records/records.js";
import { ignored, malformed, rejected, type Unreported } from "../outcomes.js";
import {
  type Decoded,
  type KeptObject,
  type Known,
  type NamedCustomer,
  type NeededTypes,
  nothingKnown,
  type ProviderToken,
} from "../provider.js";
import { endStanding, standingOf } from "../standing.js";
import { monthlyItem, nothingFrom, type SubscriptionFact, trialFrom } from "../worth.js";
import {
  countryOf,
  currenciesOf,
  eventShape,
  type Price,
  priceOf,
  type RevenueCatEvent,
  subscriptionOf,
} from "./event.js";
import { endsTakenBack, isTakenBack, keptOf, neededOf } from "./replaced.js";

type Reported = readonly FactBody[] | Unreported;
type Reader = (event: RevenueCatEvent, known: Known) => Reported;

/**
 * `SUBSCRIPTION_PAUSED`, `UNCANCELLATION` and the like announce and change nothing: what they lead
 * to comes as one of these. So does `PRODUCT_CHANGE`, but in Google Play.
 */
const readers: ReadonlyMap<string, Reader> = new Map([
  ["INITIAL_PURCHASE", readPeriod],
  ["RENEWAL", readPeriod],
  ["NON_RENEWING_PURCHASE", readPurchase],
  ["CANCELLATION", readCancellation],
  ["REFUND_REVERSED", readReversal],
  ["BILLING_ISSUE", readBillingIssue],
  ["EXPIRATION", readExpiration],
  ["PRODUCT_CHANGE", readProductChange],
]);

export const knownTypes: readonly string[] = [...readers.keys()];

/** One event is both payment and MRR, so none of them proves that another should have come. */
export const neededTypes: readonly NeededTypes[] = [
  { for: "payments", types: ["INITIAL_PURCHASE", "RENEWAL", "NON_RENEWING_PURCHASE"] },
  { for: "renewals", types: ["RENEWAL"] },
  { for: "ends", types: ["EXPIRATION"] },
  { for: "refunds", types: ["CANCELLATION"] },
];

/** Who may report the same sale by itself (`definitions.md`, Providers: mirrored). */
const storesOfProviders: Readonly<Record<string, ProviderToken>> = {
  APP_STORE: "apple",
  MAC_APP_STORE: "apple",
  PLAY_STORE: "google",
  STRIPE: "stripe",
  PADDLE: "paddle",
};

const dayMs = 24 * 60 * 60 * 1000;

const envelopeShape = compiled(z.object({ event: z.object({ type: z.string() }) }));
const bodyShape = readOnce(z.object({ event: eventShape }));

export function decode(body: unknown, known: Known = nothingKnown): Decoded {
  const envelope = envelopeShape.safeParse(body);
  if (!envelope.success) return malformed(envelope.error);
  const { type } = envelope.data.event;
  const read = readers.get(type);
  if (read === undefined) return ignored(`events of type ${type} report no money and no MRR`);
  const parsed = bodyShape.safeParse(body);
  if (!parsed.success) return malformed(parsed.error);
  const { event } = parsed.data;
  // Charts of RevenueCat leave them out, too: somebody else paid.
  if (event.is_family_share === true) return ignored("shared in a family: no money and no MRR");
  const reported = read(event, known);
  if ("outcome" in reported) return reported;
  const mirrorOf = storesOfProviders[event.store ?? ""];
  const happenedAt = event.event_timestamp_ms;
  return {
    outcome: "facts",
    facts: reported.map((fact) => ({ happenedAt, body: fact })),
    ...(mirrorOf === undefined ? {} : { mirrorOf }),
  };
}

export function keeps(body: unknown): KeptObject[] {
  const parsed = bodyShape.safeParse(body);
  return parsed.success ? keptOf(parsed.data.event) : [];
}

export function needs(body: unknown): string[] {
  const parsed = bodyShape.safeParse(body);
  return parsed.success ? neededOf(parsed.data.event) : [];
}

/**
 * Apps tell RevenueCat who a customer is by attributes of their own. An event has them as they are
 * when it is sent.
 */
export function customers(body: unknown): NamedCustomer[] {
  const parsed = bodyShape.safeParse(body);
  if (!parsed.success || !readers.has(parsed.data.event.type)) return [];
  const { event } = parsed.data;
  const account = accountOf(event);
  if (account === null) return [];
  const attribute = (name: string): string | null => {
    const { subscriber_attributes: attributes } = event;
    const given = isObject(attributes) ? attributes[name] : null;
    return isObject(given) ? textOf(given["value"]) : null;
  };
  const [name, email] = [attribute("$displayName"), attribute("$email")];
  return [{ account, id: account, name, email, at: event.event_timestamp_ms }];
}

/**
 * A paid period began: a payment, and what the subscription is worth from then on. A trial is worth
 * nothing, even if it has a price; its conversion is a `RENEWAL`.
 */
function readPeriod(event: RevenueCatEvent, known: Known): Reported {
  const { purchased_at_ms: at, expiration_at_ms: end } = event;
  const account = accountOf(event);
  if (typeof at !== "number") return noPurchaseTime;
  if (account === null) return noAccount;
  const price = paidFor(event);
  if ("outcome" in price) return price;
  if (price.amount < 0n) return rejected("malformed", "event.price: negative");
  const period = typeof end === "number" ? periodOf(event, at, end) : null;
  if (price.amount > 0n && period === null) {
    return rejected("malformed", "event.expiration_at_ms: no end after the purchase");
  }
  const subscription = subscriptionOf(event);
  const paid = payment(event, at, price, "subscription");
  if (subscription === null) return noTransaction;
  if ("outcome" in paid) return paid;
  const product = event.product_id ?? "";
  const amount = fraction(price.amount);
  const items = period ? monthlyItem(subscription, product, amount, period) : [];
  const currency = items.length === 0 ? "" : price.currency;
  const phase = event.type === "INITIAL_PURCHASE" ? "started" : "changed";
  const isTrial = event.period_type === "TRIAL";
  const worth = isTrial ? trialFrom(at) : { currency, steps: [{ at, items }] };
  const state = stateOf(event, { subscription, account, phase, ...worth });
  const goesOn = endsTakenBack(event, known).map((ended) => {
    const steps = [{ at: ended, items }];
    return stateOf(event, { subscription, account, phase: "changed", currency, steps });
  });
  return [...paid, state, ...goesOn];
}

/**
 * In the stores' sandboxes a period takes minutes; what it plays is not reported: a month is taken.
 */
function periodOf(event: RevenueCatEvent, at: number, end: number): BillingPeriod | null {
  const isPlayed = event.environment === "SANDBOX" && end > at && end - at <= dayMs;
  return isPlayed ? { interval: "month", intervalCount: 1n } : billingPeriodBetween(at, end);
}

function readPurchase(event: RevenueCatEvent): Reported {
  const { purchased_at_ms: at } = event;
  if (typeof at !== "number") return noPurchaseTime;
  const price = paidFor(event);
  if ("outcome" in price) return price;
  if (price.amount < 0n) return rejected("malformed", "event.price: negative");
  return price.amount === 0n ? ignored("nothing was paid") : payment(event, at, price, "one_time");
}

/**
 * Support refunded the payment: RevenueCat reports the whole of it, at once. Every other reason is
 * a renewal that will not come, and ends nothing yet; but a negative price is a refund whatever the
 * reason (a developer who revokes a purchase in Play Console gives one, too). What was free when it
 * was bought returns nothing, even if it has a price.
 */
function readCancellation(event: RevenueCatEvent): Reported {
  const price = paidFor(event);
  const isNegative = "amount" in price && price.amount < 0n;
  if (event.cancel_reason !== "CUSTOMER_SUPPORT" && !isNegative) {
    return ignored("it will not renew; EXPIRATION ends it");
  }
  if ("outcome" in price) return price;
  const amount = price.amount < 0n ? -price.amount : price.amount;
  return amount === 0n ? ignored("a refund of nothing") : refunded(event, amount, [price.currency]);
}

/**
 * From now on nothing of it is refunded; it may be refunded again. That takes its currency only,
 * which the price it shows reports. Without one it was booked in its own or in USD: 0 of both.
 */
function readReversal(event: RevenueCatEvent): Reported {
  if (event.period_type === "TRIAL") return ignored("nothing was refunded: it was free");
  const currencies = currenciesOf(event);
  if ("outcome" in currencies) return currencies;
  if (currencies.length === 0) return unknownPrice;
  return refunded(event, 0n, currencies);
}

/**
 * In Google Play the new plan may come under another original transaction, at once or with the next
 * period, and nothing ever ends the old one. So it ends with its period, as `expired`: a period of
 * it that begins at that moment counts.
 */
function readProductChange(event: RevenueCatEvent, known: Known): Reported {
  const subscription = subscriptionOf(event);
  const { store, expiration_at_ms: end } = event;
  if (store !== "PLAY_STORE" || subscription === null || typeof end !== "number") {
    return ignored("announced: the next period shows the new product");
  }
  const account = accountOf(event);
  if (account === null) return noAccount;
  if (isTakenBack(event, known)) return ignored("a later period of the plan was reported");
  return [stateOf(event, { subscription, account, phase: "expired", ...nothingFrom(end) })];
}

/**
 * What expires because it is paused has not ended: a resume brings it back as it was. A period that
 * begins at the very moment of an end wins (`definitions.md`, Providers), so the end is `expired`.
 */
function readExpiration(event: RevenueCatEvent): Reported {
  const account = accountOf(event);
  if (account === null) return noAccount;
  const subscription = subscriptionOf(event);
  if (subscription === null) {
    return isGiven(event) ? ignored("it was given away: nothing ends") : noTransaction;
  }
  const { expiration_reason: reason } = event;
  const phase = reason === "SUBSCRIPTION_PAUSED" ? "changed" : "expired";
  const at = event.expiration_at_ms ?? event.event_timestamp_ms;
  const isSaid = phase === "expired" && typeof reason === "string" && reason !== "UNKNOWN";
  const why = endStanding(isSaid ? reason === "BILLING_ERROR" : null);
  return [
    stateOf(event, { subscription, account, phase, ...nothingFrom(at) }),
    ...standingOf({ subscription, account }, why, at),
  ];
}

/** It could not be charged; the event shows the period that was paid last. */
function readBillingIssue(event: RevenueCatEvent): Reported {
  const [subscription, account] = [subscriptionOf(event), accountOf(event)];
  if (subscription === null || account === null) return ignored("it names no subscription");
  const { event_timestamp_ms: at, purchased_at_ms: paidFrom } = event;
  return standingOf({ subscription, account }, "failing", at, paidFrom ?? at);
}

function stateOf(event: RevenueCatEvent, state: Omit<SubscriptionFact, "country">): FactBody {
  return { Subscription: { country: countryOf(event), ...state } };
}

const free: Price = { amount: 0n, currency: "", tax: null, fee: null };
const noTransaction = rejected("malformed", "event.transaction_id: missing");
const noAccount = rejected("malformed", "event.original_app_user_id: missing");
const noPurchaseTime = rejected("malformed", "event.purchased_at_ms: missing");
const unknownPrice = rejected("price_unknown", "The store did not report RevenueCat the price");

/** A trial is free even if it has a price; a promotional purchase need not have one. */
function paidFor(event: RevenueCatEvent): Price | Unreported {
  if (event.period_type === "TRIAL") return free;
  return priceOf(event) ?? (isGiven(event) ? free : unknownPrice);
}

function isGiven(event: RevenueCatEvent): boolean {
  return event.period_type === "PROMOTIONAL" || event.store === "PROMOTIONAL";
}

function payment(
  event: RevenueCatEvent,
  at: number,
  { amount, currency, tax, fee }: Price,
  type: "subscription" | "one_time",
): FactBody[] | Unreported {
  if (amount === 0n) return [];
  const { transaction_id: transaction } = event;
  if (typeof transaction !== "string") return noTransaction;
  const lines = [{ external_id: event.product_id ?? "", weight: amount }];
  return [
    {
      Payment: {
        payment: transaction,
        at,
        amount,
        currency,
        account: accountOf(event),
        country: countryOf(event),
        type,
        tax,
        fee,
        lines,
      },
    },
  ];
}

/** @param currencies in one of which the payment was booked */
function refunded(event: RevenueCatEvent, amount: bigint, currencies: readonly string[]): Reported {
  const { transaction_id: paid, event_timestamp_ms: at } = event;
  if (typeof paid !== "string") return noTransaction;
  return currencies.map((currency) => ({ RefundTotal: { payment: paid, at, amount, currency } }));
}

function accountOf(event: RevenueCatEvent): string | null {
  return event.original_app_user_id ?? event.app_user_id ?? null;
}
