/**
 * From a notification's type to what it reports. The table is the whole of Apple's meaning here.
 */
import type { FactBody } from "../../schemas/records/records.js";
import { contradictory, ignored, malformed, rejected, type Unreported } from "../outcomes.js";
import type { Decoded, NeededTypes } from "../provider.js";
import { endStanding } from "../standing.js";
import {
  appOf,
  isOfAppStore,
  type Notification,
  readNotification,
  transactionIn,
} from "./notification.js";
import { priceOf, revokedPart } from "./price.js";
import {
  endFact,
  isShared,
  isSubscription,
  paymentFacts,
  replacedFacts,
  revokedFact,
  standingIn,
  subscriptionFact,
  type Transaction,
  transactionShape,
} from "./transaction.js";

type Reported = readonly FactBody[] | Unreported;
type Reader = (transaction: Transaction, notification: Notification) => Reported;

/**
 * A transaction is one payment, for one period of a subscription. Every notification carries the
 * last one; only those that begin, change or end something are read.
 */
const readers: ReadonlyMap<string, Reader> = new Map([
  ["SUBSCRIBED", readPurchase],
  ["DID_RENEW", readPurchase],
  ["OFFER_REDEEMED", readChange],
  ["DID_CHANGE_RENEWAL_PREF", readChange],
  ["ONE_TIME_CHARGE", readPurchase],
  ["DID_FAIL_TO_RENEW", readFailure],
  ["GRACE_PERIOD_EXPIRED", readFailure],
  ["EXPIRED", readExpiry],
  ["REFUND", readRefund],
  ["REFUND_REVERSED", readReversal],
]);

/** A merchant cannot choose: Apple sends all types. These are the ones that move anything. */
export const knownTypes: readonly string[] = [...readers.keys()];

/** Apple sends all, and one is both payment and MRR: nothing proves that one is missing. */
export const neededTypes: readonly NeededTypes[] = [
  { for: "payments", types: ["SUBSCRIBED", "DID_RENEW"] },
  { for: "renewals", types: ["DID_RENEW"] },
  { for: "one_time", types: ["ONE_TIME_CHARGE"] },
  { for: "ends", types: ["EXPIRED"] },
  { for: "refunds", types: ["REFUND"] },
];

export function decode(body: unknown): Decoded {
  const read = readNotification(body);
  if (!read.success) return malformed(read.error);
  const notification = read.data;
  const environment = appOf(notification)?.environment;
  if (environment !== undefined && !isOfAppStore(environment)) {
    return rejected("environment_untrusted", "neither Production nor Sandbox: signed by Xcode");
  }
  const type = notification.notificationType;
  const reader = readers.get(type);
  if (reader === undefined) return ignored(`${type} reports no money and no MRR`);
  const payload = transactionIn(notification);
  if (payload === undefined) return rejected("malformed", "data.signedTransactionInfo: missing");
  const transaction = transactionShape.safeParse(payload);
  if (!transaction.success) return malformed(transaction.error);
  if (isShared(transaction.data)) return ignored("shared or assigned: nobody paid for it");
  const reported = reader(transaction.data, notification);
  if ("outcome" in reported) return reported;
  if (reported.length === 0) return ignored("nothing was paid and nothing changed");
  const happenedAt = notification.signedDate;
  return { outcome: "facts", facts: reported.map((fact) => ({ happenedAt, body: fact })) };
}

/** Money, and for a subscription the price from this period on. A free trial is worth nothing. */
function readPurchase(transaction: Transaction, notification: Notification): Reported {
  const price = priceOf(transaction);
  if (price === null) return unpriced;
  const paid = [...paymentFacts(transaction, price), ...replacedFacts(transaction)];
  // Upgraded since, or more seats for the same period: another transaction says what it is worth.
  const isOther = transaction.isUpgraded === true || notification.subtype === addedSeats;
  if (!isSubscription(transaction) || isOther) return paid;
  const isNew = notification.notificationType === "SUBSCRIBED";
  const phase = isNew ? "started" : "changed";
  const state = subscriptionFact(transaction, price, transaction.purchaseDate, phase);
  if (state === null) return rejected("malformed", "expiresDate: not after purchaseDate");
  return [...paid, state];
}

const addedSeats = "INCREASE_QUANTITY";

/**
 * An upgrade is bought at once, as seats are; what waits for the next renewal is reported by that.
 */
function readChange(transaction: Transaction, notification: Notification): Reported {
  const { notificationType: type, subtype } = notification;
  const isBought = subtype === "UPGRADE" || subtype === addedSeats;
  const waits = type === "OFFER_REDEEMED" ? subtype === "DOWNGRADE" : !isBought;
  return waits
    ? ignored("it changes nothing before the next renewal")
    : readPurchase(transaction, notification);
}

/** Apple reports an end within hours; until it reported one later than this it had retried. */
const promptMsMax = 2 * 24 * 60 * 60 * 1000;

/**
 * A cancelled subscription ended with its last period. One that Apple could not charge counted
 * while it was retried, so it ends when Apple says so, whether Apple gave up or the customer did.
 */
function readExpiry(transaction: Transaction, { subtype, signedDate }: Notification): Reported {
  if (!isSubscription(transaction)) return ignored("no subscription expired");
  const periodEnd = Math.min(transaction.expiresDate ?? signedDate, signedDate);
  const wasRetried = subtype === "BILLING_RETRY" || signedDate - periodEnd > promptMsMax;
  const at = wasRetried ? signedDate : periodEnd;
  const why = endStanding(subtype ? wasRetried : null);
  return [endFact(transaction, at), ...standingIn(transaction, why, at)];
}

/** It could not be charged, and counts while that is tried again. */
function readFailure(transaction: Transaction, { signedDate }: Notification): Reported {
  if (!isSubscription(transaction)) return ignored("no subscription could not be charged");
  return standingIn(transaction, "failing", signedDate);
}

/** `data.status` */
const status = { active: 1, revoked: 5 } as const;

/**
 * The transaction shows what of it is revoked by now, so a second refund includes the first. It
 * stops the subscription only when the App Store says so: an older period's refund does not.
 */
function readRefund(transaction: Transaction, { data, signedDate }: Notification): Reported {
  const price = priceOf(transaction);
  if (price === null) return unpriced;
  const at = transaction.revocationDate ?? signedDate;
  const stops = isSubscription(transaction) && data?.status === status.revoked;
  const stop = stops ? [revokedFact(transaction, at)] : [];
  if (price.amount === 0n) return stop;
  if (transaction.revocationPercentage === 0) {
    return contradictory("A refund, but of no part of the price");
  }
  const { transactionId: payment } = transaction;
  return [{ RefundTotal: { payment, at, ...revokedPart(price, transaction) } }, ...stop];
}

/** The money is back, and so is the subscription if the refund had stopped it in its own period. */
function readReversal(transaction: Transaction, { data, signedDate: at }: Notification): Reported {
  const price = priceOf(transaction);
  if (price === null) return unpriced;
  const { transactionId: payment, expiresDate, isUpgraded } = transaction;
  const isWhole = isUpgraded !== true && !transaction.additionalTransactionReason;
  const isCurrent = (expiresDate ?? 0) > at && isWhole;
  const isBack = isSubscription(transaction) && isCurrent && data?.status === status.active;
  const state = isBack ? subscriptionFact(transaction, price, at, "changed") : null;
  const resumed = state === null ? [] : [state];
  if (price.amount === 0n) return resumed;
  return [{ RefundTotal: { payment, at, amount: 0n, currency: price.currency } }, ...resumed];
}

const unpriced = rejected(
  "enrichment_unavailable",
  "The transaction reports no price, as those of before October 2023 do not",
);
