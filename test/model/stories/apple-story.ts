/** Random histories of App Store customers: a subscription, what befalls it, and charges. */
import * as fc from "fast-check";
import {
  appleNotification,
  type AppInput,
  type RenewalInput,
  renewalInfo,
  type TransactionInput,
  transactionInfo,
} from "../../../ops/payloads/apple.js";
import { exponentOf } from "../facts.js";
import {
  after,
  amounts,
  dayMs,
  type Drawn,
  gaps,
  momentBefore,
  pastCurrencies,
  periodEnd,
  secondMs,
  type Script,
  seldom,
  starts,
} from "./story.js";

export const appleBundleId = "com.example.model";

/** Other than Stripe's, which portfolios name: the App Store names nothing. */
const products = fc.constantFrom("atlas.basic", "atlas.pro", "atlas.team");

const whats = fc.constantFrom(
  ...(["renew", "renew", "renew", "price", "downgrade", "upgrade", "offer", "recover"] as const),
  ...(["giveUp", "cancel", "quit", "resubscribe", "resubscribe", "refund", "revoke"] as const),
  ...(["share", "succeed"] as const),
);

const refunds = fc.record({
  gap: gaps,
  /** In thousandths of a percent, one after the other; null reports none, which is all. */
  percentages: fc.constantFrom([null], [100_000], [50_000], [33_333, 100_000], [1]),
  reversedAfter: seldom(gaps),
});
type RefundPlan = Drawn<typeof refunds>;

const steps = fc.record({
  what: whats,
  gap: gaps,
  price: amounts,
  product: products,
  refund: refunds,
});
type Step = Drawn<typeof steps>;

export const applePlans = fc.record({
  start: starts,
  currency: pastCurrencies,
  storefront: fc.constantFrom("USA", "DEU", "JPN", "QQQ"),
  isSandbox: fc.nat(9).map((drawn) => drawn === 0),
  product: products,
  price: amounts,
  period: fc.constantFrom("month", "month", "quarter", "year", "week"),
  trial: fc.constantFrom("none", "none", "at nothing", "at full price", "paid"),
  steps: fc.array(steps, { maxLength: 8, size: "large" }),
  charge: seldom(fc.record({ price: amounts, product: products, refund: seldom(refunds) })),
});
export type ApplePlan = Drawn<typeof applePlans>;

/** The subscription as it stands. */
interface Standing {
  originalId: string;
  current: TransactionInput;
  hasEnded: boolean;
  /** Of the current transaction: a second story of the same refund would contradict the first. */
  isRefunded: boolean;
}

export function emitApple(script: Script, plan: ApplePlan): void {
  const start = momentBefore(script.end, plan.start);
  if (plan.charge !== null) emitCharge(script, plan, start);
  const id = transactionId(script);
  const first = {
    ...bought(plan, id, id, start, thousandths(plan.price, plan), plan.product),
    ...introduction(plan),
  };
  const standing: Standing = { originalId: id, current: first, hasEnded: false, isRefunded: false };
  report(script, plan, "SUBSCRIBED", "INITIAL_BUY", start + secondMs, first);
  for (const step of plan.steps) {
    if (standing.hasEnded === (step.what === "resubscribe")) takeStep(script, plan, standing, step);
  }
}

function takeStep(script: Script, plan: ApplePlan, standing: Standing, step: Step): void {
  const { current } = standing;
  const end = current.expiresAt ?? 0;
  const middle = Math.min(after(current.purchasedAt, step.gap) + secondMs, end - secondMs);
  const { product } = current;
  const price = sameOr(current.price, plan);
  const wasRefunded = standing.isRefunded;
  const buy = (
    type: string,
    subtype: string,
    time: number,
    amount: bigint,
    sku: string,
    more: Partial<TransactionInput> = {},
  ) => {
    const id = transactionId(script);
    const next = { ...bought(plan, id, standing.originalId, time, amount, sku), ...more };
    Object.assign(standing, { current: next, hasEnded: false, isRefunded: false });
    // A renewal is reported up to a day before it begins.
    const early = type === "DID_RENEW" ? (step.gap.seconds % 86_400) * secondMs : -secondMs;
    report(script, plan, type, subtype, time - early, next);
  };
  const expire = (subtype: string, time: number) => {
    standing.hasEnded = true;
    report(script, plan, "EXPIRED", subtype, time, current, 2);
  };
  switch (step.what) {
    case "renew":
      return buy("DID_RENEW", "", end, price, product);
    case "price":
      return buy("DID_RENEW", "", end, thousandths(step.price, plan), product);
    case "downgrade":
      report(script, plan, "DID_CHANGE_RENEWAL_PREF", "DOWNGRADE", middle, current);
      return buy("DID_RENEW", "", end, thousandths(step.price, plan), step.product);
    case "upgrade":
      buy(
        "DID_CHANGE_RENEWAL_PREF",
        "UPGRADE",
        middle,
        thousandths(step.price, plan),
        step.product,
      );
      // The App Store gives back what is left of the period before.
      if (!wasRefunded && current.offer !== "FREE_TRIAL") {
        const replaced = { ...current, isUpgraded: true };
        const gap = { days: 0, seconds: (middle - current.purchasedAt) / secondMs };
        emitRefund(script, plan, replaced, { ...step.refund, gap }, 1);
      }
      return;
    case "offer":
      if (step.gap.days % 3 === 0) {
        report(script, plan, "OFFER_REDEEMED", "DOWNGRADE", middle, current);
        return buy("DID_RENEW", "", end, thousandths(step.price, plan), step.product);
      }
      // Without a subtype it is for the product they have.
      return step.gap.days % 3 === 1
        ? buy("OFFER_REDEEMED", "", middle, thousandths(step.price, plan), product)
        : buy("OFFER_REDEEMED", "UPGRADE", middle, thousandths(step.price, plan), step.product);
    case "succeed": {
      // Into a bundle, say: another subscription, which names this one.
      const previousId = standing.originalId;
      standing.originalId = transactionId(script);
      return buy("SUBSCRIBED", "INITIAL_BUY", middle, thousandths(step.price, plan), step.product, {
        previousId,
      });
    }
    case "recover":
      report(script, plan, "DID_FAIL_TO_RENEW", "GRACE_PERIOD", end, current, 4);
      report(script, plan, "GRACE_PERIOD_EXPIRED", "", end + 16 * dayMs, current, 3);
      return buy("DID_RENEW", "BILLING_RECOVERY", after(end, step.gap), price, product);
    case "giveUp":
      report(script, plan, "DID_FAIL_TO_RENEW", "", end, current, 3);
      return expire("BILLING_RETRY", end + 60 * dayMs);
    case "quit":
      report(script, plan, "DID_FAIL_TO_RENEW", "", end, current, 3);
      return expire("VOLUNTARY", end + (step.gap.days % 60) * dayMs + secondMs);
    case "cancel":
      report(script, plan, "DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_DISABLED", middle, current);
      return expire("VOLUNTARY", after(end, { days: 0, seconds: step.gap.seconds % 7_200 }));
    case "resubscribe":
      return buy(
        "SUBSCRIBED",
        "RESUBSCRIBE",
        after(end, step.gap) + 61 * dayMs,
        step.gap.days % 2 === 0 ? price : thousandths(step.price, plan),
        step.product,
      );
    case "refund":
    case "revoke":
      if (standing.isRefunded) return;
      standing.isRefunded = true;
      standing.hasEnded = step.what === "revoke" && step.refund.reversedAfter === null;
      return emitRefund(script, plan, current, step.refund, step.what === "revoke" ? 5 : 1);
    case "share": {
      const id = transactionId(script);
      const shared = { ...current, id, originalId: id, ownership: "FAMILY_SHARED" as const };
      report(script, plan, "SUBSCRIBED", "INITIAL_BUY", middle, shared);
      report(script, plan, "REVOKE", "", middle + secondMs, shared, 5);
    }
  }
}

function emitCharge(script: Script, plan: ApplePlan, time: number): void {
  if (plan.charge === null) return;
  const { price, product, refund } = plan.charge;
  const id = transactionId(script);
  const charge: TransactionInput = {
    ...bought(plan, id, id, time, thousandths(price, plan), product),
    kind: "Consumable",
    expiresAt: null,
    quantity: 2,
  };
  report(script, plan, "ONE_TIME_CHARGE", "", time + secondMs, charge);
  if (refund !== null) emitRefund(script, plan, charge, refund, 1);
}

function introduction({ trial }: ApplePlan): Partial<TransactionInput> {
  if (trial === "none") return {};
  if (trial === "paid") return { offer: "PAY_AS_YOU_GO" };
  return { offer: "FREE_TRIAL", ...(trial === "at nothing" ? { price: 0n } : {}) };
}

/** Part after part, and perhaps all of it back. */
function emitRefund(
  script: Script,
  plan: ApplePlan,
  transaction: TransactionInput,
  refund: RefundPlan,
  status: number,
): void {
  let time = transaction.purchasedAt;
  for (const percentage of refund.percentages) {
    time = after(time, refund.gap) + secondMs;
    const revocationPercentage = percentage ?? undefined;
    const revoked = {
      ...transaction,
      revokedAt: time,
      ...(revocationPercentage === undefined ? {} : { revocationPercentage }),
    };
    report(script, plan, "REFUND", "", time + 2 * secondMs, revoked, status);
  }
  if (refund.reversedAfter === null) return;
  const reversedAt = after(time, refund.reversedAfter) + 3 * secondMs;
  report(script, plan, "REFUND_REVERSED", "", reversedAt, transaction, 1);
}

/** Leaves out what would lie after the end. */
function report(
  script: Script,
  plan: ApplePlan,
  type: string,
  subtype: string,
  signedAt: number,
  input: TransactionInput,
  status = 1,
): void {
  const app: AppInput = {
    bundleId: appleBundleId,
    appAppleId: 1,
    environment: plan.isSandbox ? "Sandbox" : "Production",
  };
  const renewal: RenewalInput = { originalId: input.originalId, product: input.product, signedAt };
  script.send("apple", Math.max(signedAt, input.purchasedAt), "notification", (id) =>
    appleNotification(app, {
      id,
      type,
      ...(subtype === "" ? {} : { subtype }),
      ...(input.expiresAt === null ? {} : { status, renewal: renewalInfo(app, renewal) }),
      signedAt,
      transaction: transactionInfo(app, { ...input, signedAt }),
    }),
  );
}

function bought(
  plan: ApplePlan,
  id: string,
  originalId: string,
  time: number,
  price: bigint,
  product: string,
): TransactionInput {
  return {
    id,
    originalId,
    product,
    purchasedAt: time,
    expiresAt: periodEnd(time, plan.period),
    signedAt: time,
    price,
    currency: plan.currency,
    storefront: plan.storefront,
  };
}

/** A trial turns into the plan's own price. */
function sameOr(price: bigint | null, plan: ApplePlan): bigint {
  return price === null || price === 0n ? thousandths(plan.price, plan) : price;
}

function thousandths(minor: bigint, { currency }: ApplePlan): bigint {
  return (minor * 1000n) / 10n ** BigInt(exponentOf(currency));
}

function transactionId(script: Script): string {
  return script.id("2000");
}
