/**
 * The model's own reading of App Store notifications, from docs/providers and
 * `definitions.md`: of the plain notification, before its parts are signed.
 */
import { monthsAfter } from "../../../ops/demo/calendar.js";
import { dayMs, startOfDay } from "../calendar.js";
import { exponentOf, type BareFact, type Phase } from "../facts.js";
import { type Fraction, fraction, over, rounded, tenTo, times } from "../fraction.js";
import { at, must, number, text } from "./json.js";
import { monthsFactor } from "./read-subscription.js";

export function readApple(notification: unknown): readonly BareFact[] {
  const transaction = at(notification, "data", "signedTransactionInfo");
  if (transaction === undefined) return [];
  const owned = text(transaction, "inAppOwnershipType");
  if (owned === "FAMILY_SHARED" || owned === "ASSIGNED") return [];
  const subtype = text(notification, "subtype");
  const reported = must(number(notification, "signedDate"), "a signed date");
  switch (text(notification, "notificationType")) {
    case "SUBSCRIBED":
      return readPurchase(transaction, "started");
    case "DID_RENEW":
    case "ONE_TIME_CHARGE":
      return readPurchase(transaction, "changed");
    case "DID_CHANGE_RENEWAL_PREF":
      return subtype === "UPGRADE" ? readPurchase(transaction, "changed") : [];
    case "OFFER_REDEEMED":
      return subtype === "DOWNGRADE" ? [] : readPurchase(transaction, "changed");
    case "EXPIRED":
      return [changeOf(transaction, endOf(transaction, subtype, reported), "ended", [])];
    case "REFUND":
      return readRefund(transaction, number(notification, "data", "status") === 5);
    case "REFUND_REVERSED":
      return readReversal(transaction, reported, number(notification, "data", "status") === 1);
    case null:
    default:
      return [];
  }
}

/** What Apple says only days after the period's end, it had retried to charge until then. */
function endOf(transaction: unknown, subtype: string | null, reported: number): number {
  const end = expiry(transaction);
  return subtype === "BILLING_RETRY" || reported - end > 2 * dayMs ? reported : end;
}

function readPurchase(transaction: unknown, phase: Phase): BareFact[] {
  const amount = amountOf(transaction);
  const time = must(number(transaction, "purchaseDate"), "a purchase date");
  const facts: BareFact[] = [];
  if (amount > 0n) {
    facts.push({
      kind: "sale",
      payment: must(text(transaction, "transactionId"), "a transaction"),
      at: time,
      amount,
      currency: currencyOf(transaction),
      account: must(text(transaction, "originalTransactionId"), "an original transaction"),
      country: countryOf(transaction),
      type: isSubscription(transaction) ? "subscription" : "one_time",
      lines: [{ sku: skuOf(transaction), weight: 1n }],
    });
  }
  if (isSubscription(transaction) && at(transaction, "isUpgraded") !== true) {
    facts.push(changeOf(transaction, time, phase, itemsOf(transaction)));
  }
  const replaced = text(transaction, "previousOriginalTransactionId");
  if (replaced !== null) {
    const before = { ...Object(transaction), originalTransactionId: replaced };
    facts.push(changeOf(before, time, "ended", []));
  }
  return facts;
}

/** The transaction shows all that is revoked of it by now. */
function readRefund(transaction: unknown, isRevoked: boolean): BareFact[] {
  const time = must(number(transaction, "revocationDate"), "a revocation date");
  const percent = fraction(
    BigInt(number(transaction, "revocationPercentage") ?? 100_000),
    100_000n,
  );
  const amount = rounded(times(fraction(amountOf(transaction)), percent));
  const facts = totalOf(transaction, time, amount);
  if (isRevoked && isSubscription(transaction)) {
    // No end yet: what a reversal brings back has the rate it had.
    facts.push(changeOf(transaction, time, "changed", []));
  }
  return facts;
}

function readReversal(transaction: unknown, reported: number, isActive: boolean): BareFact[] {
  const facts = totalOf(transaction, reported, 0n);
  const isCurrent = isSubscription(transaction) && expiry(transaction) > reported;
  if (isActive && isCurrent && at(transaction, "isUpgraded") !== true) {
    facts.push(changeOf(transaction, reported, "changed", itemsOf(transaction)));
  }
  return facts;
}

function totalOf(transaction: unknown, time: number, amount: bigint): BareFact[] {
  if (amountOf(transaction) === 0n) return [];
  const payment = must(text(transaction, "transactionId"), "a transaction");
  return [{ kind: "refund_total", payment, at: time, amount, currency: currencyOf(transaction) }];
}

type Change = Extract<BareFact, { kind: "change" }>;
type Items = Change["steps"][number]["items"];

function changeOf(transaction: unknown, time: number, phase: Phase, items: Items): Change {
  const id = must(text(transaction, "originalTransactionId"), "an original transaction");
  return {
    kind: "change",
    subscription: id,
    account: id,
    phase,
    currency: items.length === 0 ? "" : currencyOf(transaction),
    country: countryOf(transaction),
    steps: [{ at: time, items }],
  };
}

function itemsOf(transaction: unknown): Items {
  const amount = amountOf(transaction);
  if (amount === 0n) return [];
  const start = must(number(transaction, "purchaseDate"), "a purchase date");
  const monthly = times(fraction(amount), perMonth(start, expiry(transaction)));
  return [{ item: "period", sku: skuOf(transaction), monthly }];
}

/** Thousandths of the currency's unit; a free trial costs nothing whatever it shows. */
function amountOf(transaction: unknown): bigint {
  if (text(transaction, "offerDiscountType") === "FREE_TRIAL") return 0n;
  const thousandths = fraction(BigInt(must(number(transaction, "price"), "a price")));
  const minor = times(thousandths, tenTo(exponentOf(currencyOf(transaction))));
  return rounded(over(minor, fraction(1000n)));
}

/** A period reported by its two ends, as the table of `definitions.md` lists the cases. */
export function perMonth(start: number, end: number): Fraction {
  for (let months = 1; months <= 36; months += 1) {
    if (isMonthsAfter(start, end, months)) return monthsFactor("month", months);
  }
  const days = Math.round((end - start) / dayMs);
  if (days % 7 === 0) return monthsFactor("week", days / 7);
  for (let months = 1; months <= 36; months += 1) {
    if (Math.abs((end - start) / dayMs - months * 30.44) <= 3) return monthsFactor("month", months);
  }
  return monthsFactor("day", days);
}

/** On the same day of the month, or from its last day to the last day. */
function isMonthsAfter(start: number, end: number, months: number): boolean {
  const isLastDay = new Date(start + dayMs).getUTCDate() === 1;
  const lastDay = monthsAfter(start + dayMs, months) - dayMs;
  return [monthsAfter(start, months), ...(isLastDay ? [lastDay] : [])].some(
    (time) => startOfDay(time) === startOfDay(end),
  );
}

function expiry(transaction: unknown): number {
  return must(number(transaction, "expiresDate"), "an expiry");
}

function currencyOf(transaction: unknown): string {
  return must(text(transaction, "currency"), "a currency");
}

function skuOf(transaction: unknown): string {
  return must(text(transaction, "productId"), "a product");
}

function isSubscription(transaction: unknown): boolean {
  return text(transaction, "type") === "Auto-Renewable Subscription";
}

function countryOf(transaction: unknown): string | null {
  const codes: Readonly<Record<string, string>> = { USA: "US", DEU: "DE", JPN: "JP" };
  return codes[text(transaction, "storefront") ?? ""] ?? null;
}
