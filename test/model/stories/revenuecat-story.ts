/** Random histories of RevenueCat customers: a subscription with all that befalls it, and coins. */
import * as fc from "fast-check";
import {
  purchaseBody,
  type PurchaseInput,
  type PurchaseType,
} from "../../../ops/payloads/revenuecat.js";
import {
  after,
  amounts,
  countries,
  dayMs,
  type Drawn,
  gaps,
  momentBefore,
  pastCurrencies,
  periodEnd,
  secondMs,
  type Script,
  seldom,
  skus,
  starts,
} from "./story.js";

const whats = fc.constantFrom(
  ...(["renew", "renew", "renew", "price", "announce", "cancel", "giveUp", "pause"] as const),
  ...(["return", "return", "refund", "refundReversed", "refundAgain", "share"] as const),
  ...(["transfer", "transfer", "revoke", "uncancel"] as const),
  ...(["replace", "replace", "replaceLater", "replaceLater"] as const),
);
const steps = fc.record({ what: whats, gap: gaps, price: amounts, product: skus });
type Step = Drawn<typeof steps>;

export const revenueCatPlans = fc.record({
  start: starts,
  /** Stores of which no other integration reports the same. */
  store: fc.constantFrom("AMAZON", "RC_BILLING", "ROKU", "PLAY_STORE"),
  currency: pastCurrencies,
  /** The store reported RevenueCat no currency: its estimate in dollars is all there is. */
  isInDollarsOnly: fc.nat(9).map((drawn) => drawn === 0),
  country: countries,
  isSandbox: fc.nat(9).map((drawn) => drawn === 0),
  product: skus,
  price: amounts,
  period: fc.constantFrom("month", "month", "quarter", "year", "week", "ten days"),
  trial: fc.constantFrom("none", "none", "at nothing", "at full price"),
  taxed: fc.constantFrom("0.0", "0.19", "0.1109", "0.066667"),
  commission: fc.constantFrom(null, "0.15", "0.3"),
  steps: fc.array(steps, { maxLength: 8, size: "large" }),
  coins: seldom(fc.record({ price: amounts, product: skus, refundedAfter: seldom(gaps) })),
});
export type RevenueCatPlan = Drawn<typeof revenueCatPlans>;

/** One period bought. */
interface Period {
  readonly transaction: string;
  readonly product: string;
  readonly amount: bigint;
  readonly start: number;
  readonly end: number;
  readonly isTrial: boolean;
}

interface Standing {
  original: string;
  readonly buyer: string;
  user: string;
  current: Period;
  hasEnded: boolean;
}

export function emitRevenueCat(script: Script, plan: RevenueCatPlan): void {
  const start = momentBefore(script.end, plan.start);
  const user = script.id("user");
  if (plan.coins !== null) emitCoins(script, plan, user, start);
  const isTrial = plan.trial !== "none";
  const transaction = script.id("txn");
  const current: Period = {
    transaction,
    product: plan.product,
    amount: plan.trial === "at nothing" ? 0n : plan.price,
    start,
    end: isTrial ? start + 7 * dayMs : endOf(start, plan.period),
    isTrial,
  };
  const standing: Standing = {
    original: transaction,
    buyer: user,
    user,
    current,
    hasEnded: false,
  };
  report(script, plan, standing, "INITIAL_PURCHASE", start + secondMs, current);
  for (const step of plan.steps) {
    const isPossible = standing.hasEnded === (step.what === "return");
    if (isPossible || step.what === "transfer") takeStep(script, plan, standing, step);
  }
}

function takeStep(script: Script, plan: RevenueCatPlan, standing: Standing, step: Step): void {
  const { current } = standing;
  const middle = Math.min(after(current.start, step.gap) + secondMs, current.end - secondMs);
  const say = (type: PurchaseType, time: number, more: Partial<PurchaseInput> = {}) =>
    report(script, plan, standing, type, time, current, more);
  const buy = (type: PurchaseType, time: number, amount: bigint, product: string) => {
    const transaction = script.id("txn");
    const end = endOf(time, plan.period);
    const next = { transaction, product, amount, start: time, end, isTrial: false };
    Object.assign(standing, { current: next, hasEnded: false });
    report(script, plan, standing, type, time + secondMs, next);
  };
  const expire = (reason: string, time: number, expirationAt = current.end) => {
    standing.hasEnded = true;
    say("EXPIRATION", time, { amount: 0n, expirationAt, more: { expiration_reason: reason } });
  };
  const refund = (time: number, reason = "CUSTOMER_SUPPORT") =>
    say("CANCELLATION", time, { amount: -current.amount, more: { cancel_reason: reason } });
  const isPaid = !current.isTrial && current.amount > 0n;
  switch (step.what) {
    case "renew":
      return buy(
        "RENEWAL",
        current.end,
        current.isTrial ? plan.price : current.amount,
        current.product,
      );
    case "price":
      return buy("RENEWAL", current.end, step.price, step.product);
    case "replace":
    case "replaceLater": {
      // Under another original transaction, as in Google Play alone; nothing else ends the old.
      if (plan.store !== "PLAY_STORE") return;
      const at = step.what === "replace" ? middle : current.end;
      const more = { amount: 0n, expirationAt: at, more: { new_product_id: step.product } };
      say("PRODUCT_CHANGE", middle, more);
      standing.original = script.id("txn");
      return buy(
        step.what === "replace" ? "INITIAL_PURCHASE" : "RENEWAL",
        at,
        step.price,
        step.product,
      );
    }
    case "announce":
      say("PRODUCT_CHANGE", middle, { amount: 0n, more: { new_product_id: step.product } });
      return;
    case "cancel":
      say("CANCELLATION", middle, { amount: 0n, more: { cancel_reason: "UNSUBSCRIBE" } });
      return expire(
        "UNSUBSCRIBE",
        after(current.end, { days: 0, seconds: step.gap.seconds % 7_200 }),
      );
    case "giveUp":
      say("BILLING_ISSUE", current.end, { amount: 0n });
      say("CANCELLATION", current.end, { amount: 0n, more: { cancel_reason: "BILLING_ERROR" } });
      return expire("BILLING_ERROR", current.end + 16 * dayMs);
    case "pause":
      say("SUBSCRIPTION_PAUSED", middle, { amount: 0n });
      return expire("SUBSCRIPTION_PAUSED", current.end + secondMs);
    case "return": {
      const type = step.gap.days % 2 === 0 ? "RENEWAL" : "INITIAL_PURCHASE";
      const price = step.gap.seconds % 2 === 0 ? current.amount : step.price;
      // Now and then at the very moment of the end, as when a failed payment is made up for.
      const at = step.gap.seconds % 5 === 0 ? current.end : after(current.end, step.gap) + secondMs;
      return buy(type, at, price, step.product);
    }
    case "refund":
      return isPaid || current.isTrial ? refund(middle) : undefined;
    case "refundReversed":
    case "refundAgain":
      if (!isPaid) return;
      refund(middle);
      // With a price or without one, where the currency is reported.
      say("REFUND_REVERSED", after(middle, step.gap) + 2 * secondMs, {
        amount: plan.isInDollarsOnly || step.gap.days % 2 === 0 ? current.amount : null,
      });
      if (step.what === "refundAgain") refund(after(middle, step.gap) + dayMs);
      return;
    case "revoke":
      // As a developer does in Play Console: the money is back, and the access is over.
      refund(middle, "DEVELOPER_INITIATED");
      return expire("DEVELOPER_INITIATED", middle + secondMs, middle);
    case "uncancel":
      say("CANCELLATION", middle, { amount: 0n, more: { cancel_reason: "UNSUBSCRIBE" } });
      return say("UNCANCELLATION", middle + secondMs, { amount: 0n });
    case "transfer":
      // From what is reported next on; to somebody who may have others, too, or back.
      standing.user = step.gap.days % 3 === 0 ? standing.buyer : `restored_${step.gap.days % 2}`;
      return;
    case "share": {
      const transaction = script.id("txn");
      report(
        script,
        plan,
        { original: transaction, user: script.id("user") },
        "INITIAL_PURCHASE",
        middle,
        {
          ...current,
          transaction,
        },
        { familyShare: true },
      );
    }
  }
}

function emitCoins(script: Script, plan: RevenueCatPlan, user: string, time: number): void {
  if (plan.coins === null) return;
  const { price: amount, product, refundedAfter } = plan.coins;
  const transaction = script.id("txn");
  const period = { transaction, product, amount, start: time, end: time, isTrial: false };
  const owner = { original: transaction, user };
  const forever = { expirationAt: null };
  report(script, plan, owner, "NON_RENEWING_PURCHASE", time + secondMs, period, forever);
  if (refundedAfter === null) return;
  const refundedAt = after(time, refundedAfter) + 2 * secondMs;
  const more = { ...forever, amount: -amount, more: { cancel_reason: "CUSTOMER_SUPPORT" } };
  report(script, plan, owner, "CANCELLATION", refundedAt, period, more);
}

/** Leaves out what would lie after the end. */
function report(
  script: Script,
  plan: RevenueCatPlan,
  { original, user }: Pick<Standing, "original" | "user">,
  type: PurchaseType,
  time: number,
  period: Period,
  more: Partial<PurchaseInput> = {},
): void {
  const { amount = period.amount, ...others } = more;
  const purchase = {
    at: time,
    transaction: period.transaction,
    original,
    user,
    product: period.product,
    store: plan.store,
    environment: plan.isSandbox ? "SANDBOX" : "PRODUCTION",
    periodType: period.isTrial ? "TRIAL" : "NORMAL",
    purchasedAt: period.start,
    expirationAt: period.end,
    // In dollars only, the amount is cents.
    amount: plan.isInDollarsOnly ? null : amount,
    usdCents: amount,
    currency: plan.isInDollarsOnly ? null : plan.currency,
    country: plan.country,
    tax: plan.taxed,
    commission: plan.commission,
    ...others,
  } as const;
  script.send("revenuecat", time, "rcevt", (id) =>
    JSON.parse(purchaseBody(type, { ...purchase, id }).toString()),
  );
}

function endOf(time: number, period: RevenueCatPlan["period"]): number {
  return period === "ten days" ? time + 10 * dayMs : periodEnd(time, period);
}
