/**
 * The model's own reading of RevenueCat's events, from docs/providers and `definitions.md`.
 * Asked about well-formed bodies only, and about live ones: periods of the sandbox mean nothing.
 */
import { exponentOf, type BareFact, type Phase } from "../facts.js";
import { type Fraction, fraction, fractionOfText, rounded, tenTo, times } from "../fraction.js";
import { at, must, number, text } from "./json.js";
import { perMonth } from "./read-apple.js";

export function readRevenueCat(body: unknown): readonly BareFact[] {
  const event = at(body, "event");
  if (at(event, "is_family_share") === true) return [];
  const isFree = text(event, "period_type") === "TRIAL";
  switch (text(event, "type")) {
    case "INITIAL_PURCHASE":
      return readPeriod(event, "started");
    case "RENEWAL":
      return readPeriod(event, "changed");
    case "NON_RENEWING_PURCHASE":
      return saleOf(event, "one_time");
    case "CANCELLATION":
      // A negative price is a refund, whatever the reason.
      return amountOf(event) < 0n && !isFree ? refundTotal(event, -amountOf(event)) : [];
    case "REFUND_REVERSED":
      return isFree ? [] : refundTotal(event, 0n);
    case "PRODUCT_CHANGE":
      // Nothing else may end the old plan of Google Play; a renewal at that moment wins.
      return text(event, "store") === "PLAY_STORE"
        ? [changeOf(event, timeOf(event, "expiration_at_ms"), "expired", [])]
        : [];
    case "EXPIRATION": {
      const isPause = text(event, "expiration_reason") === "SUBSCRIPTION_PAUSED";
      const phase = isPause ? "changed" : "expired";
      return [changeOf(event, timeOf(event, "expiration_at_ms"), phase, [])];
    }
    case null:
    default:
      return [];
  }
}

function readPeriod(event: unknown, phase: Phase): BareFact[] {
  const start = timeOf(event, "purchased_at_ms");
  const amount = text(event, "period_type") === "TRIAL" ? 0n : amountOf(event);
  if (amount === 0n) return [changeOf(event, start, phase, [])];
  const perPeriod = perMonth(start, timeOf(event, "expiration_at_ms"));
  const monthly = times(fraction(amount), perPeriod);
  const sku = must(text(event, "product_id"), "a product");
  const items = [{ item: "period", sku, monthly }];
  return [...saleOf(event, "subscription"), changeOf(event, start, phase, items)];
}

function saleOf(event: unknown, type: "subscription" | "one_time"): BareFact[] {
  const amount = amountOf(event);
  if (amount === 0n) return [];
  return [
    {
      kind: "sale",
      payment: must(text(event, "transaction_id"), "a transaction"),
      at: timeOf(event, "purchased_at_ms"),
      amount,
      currency: currencyOf(event),
      account: accountOf(event),
      country: text(event, "country_code"),
      type,
      lines: [{ sku: must(text(event, "product_id"), "a product"), weight: 1n }],
      tax: partOf(event, "tax_percentage"),
      fee: partOf(event, "commission_percentage"),
    },
  ];
}

function refundTotal(event: unknown, amount: bigint): BareFact[] {
  return [
    {
      kind: "refund_total",
      payment: must(text(event, "transaction_id"), "a transaction"),
      at: timeOf(event, "event_timestamp_ms"),
      amount,
      currency: currencyOf(event),
    },
  ];
}

type Change = Extract<BareFact, { kind: "change" }>;

function changeOf(
  event: unknown,
  time: number,
  phase: Phase,
  items: Change["steps"][number]["items"],
): Change {
  return {
    kind: "change",
    subscription: must(text(event, "original_transaction_id"), "a subscription"),
    account: accountOf(event),
    phase,
    currency: items.length === 0 ? "" : currencyOf(event),
    country: text(event, "country_code"),
    steps: [{ at: time, items }],
  };
}

function accountOf(event: unknown): string {
  return must(text(event, "original_app_user_id"), "a customer");
}

/** In the currency of the purchase, else RevenueCat's estimate in dollars. */
function currencyOf(event: unknown): string {
  return text(event, "currency") ?? "USD";
}

function priceOf(event: unknown): Fraction {
  const isInDollarsOnly = text(event, "currency") === null;
  return numberOf(event, isInDollarsOnly ? "price" : "price_in_purchased_currency");
}

function amountOf(event: unknown): bigint {
  return minorOf(priceOf(event), event);
}

function minorOf(major: Fraction, event: unknown): bigint {
  return rounded(times(major, tenTo(exponentOf(currencyOf(event)))));
}

function partOf(event: unknown, name: string): bigint {
  return number(event, name) === null
    ? 0n
    : minorOf(times(priceOf(event), numberOf(event, name)), event);
}

function numberOf(event: unknown, name: string): Fraction {
  return fractionOfText(String(must(number(event, name), name)));
}

function timeOf(event: unknown, name: string): number {
  return must(number(event, name), name);
}
