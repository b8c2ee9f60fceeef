/** The transaction inside a notification: what was paid, and what that is worth a month. */
import { z } from "zod";
import { compiled, idText, timeMs } from "../fields.js";
import { billingPeriodBetween } from "../../schemas/money/billing-periods.js";
import { alpha2OfAlpha3 } from "../../schemas/countries.js";
import { type BillingPeriod, fraction } from "../../schemas/money/monthly.js";
import type { FactBody } from "../../schemas/records/records.js";
import {
  monthlyItem,
  nothingFrom,
  type SubscriptionFact,
  trialFrom,
  type Worth,
} from "../worth.js";
import { standingOf } from "../standing.js";
import { milliunits, minorOf, type Price, pricedFields } from "./price.js";

export const transactionShape = compiled(
  z.object({
    transactionId: idText,
    originalTransactionId: idText,
    /** The subscription this one took the place of, such as the one app's of a bundle's. */
    previousOriginalTransactionId: idText.nullish(),
    productId: idText,
    type: z.string(),
    purchaseDate: timeMs,
    expiresDate: timeMs.nullish(),
    ...pricedFields,
    storefront: z
      .string()
      .nullish()
      .catch(null)
      .transform((code) => (code ? alpha2OfAlpha3(code) : null)),
    inAppOwnershipType: z.string().nullish(),
    isUpgraded: z.boolean().nullish(),
    /** Why it is only a part of its period: seats were added to those it began with. */
    additionalTransactionReason: z.string().nullish(),
    environment: z.string().nullish(),
    advancedCommerceInfo: z.object({ estimatedTax: milliunits.nullish() }).nullish().catch(null),
  }),
);
export type Transaction = z.output<typeof transactionShape>;

/** A kind that Apple adds is one, too: what renews must not be taken for what is bought once. */
export function isSubscription({ type }: Transaction): boolean {
  return !boughtOnce.has(type);
}

const boughtOnce: ReadonlySet<string> = new Set([
  "Consumable",
  "Non-Consumable",
  "Non-Renewing Subscription",
]);

/**
 * A member of the buyer's family uses it too, or of the group or organization whose purchaser has a
 * transaction of his own for all seats: nobody paid for that.
 */
export function isShared({ inAppOwnershipType: type }: Transaction): boolean {
  return type === "FAMILY_SHARED" || type === "ASSIGNED";
}

/** One payment, whichever notification reports it. Free ones are none. */
export function paymentFacts(
  transaction: Transaction,
  { amount, currency: code }: Price,
): FactBody[] {
  if (amount === 0n) return [];
  const tax = transaction.advancedCommerceInfo?.estimatedTax ?? null;
  return [
    {
      Payment: {
        payment: transaction.transactionId,
        at: transaction.purchaseDate,
        amount,
        currency: code,
        account: transaction.originalTransactionId,
        country: transaction.storefront,
        type: isSubscription(transaction) ? "subscription" : "one_time",
        tax: tax === null ? null : minorOf(tax, code),
        fee: null,
        lines: [{ external_id: transaction.productId, weight: amount }],
      },
    },
  ];
}

/**
 * What the subscription is worth from `at` on, as this transaction prices it. The original
 * transaction is the subscription, its account and its one item.
 *
 * @returns null when the transaction does not say for how long its price is
 */
export function subscriptionFact(
  transaction: Transaction,
  price: Price,
  at: number,
  phase: SubscriptionFact["phase"],
): FactBody | null {
  const period = periodOf(transaction);
  if (period === null) return null;
  const { originalTransactionId: id, productId: product } = transaction;
  const items = monthlyItem(id, product, fraction(price.amount), period);
  const currency = items.length === 0 ? "" : price.currency;
  const isTrial = transaction.offerDiscountType === "FREE_TRIAL";
  return stateOf(transaction, {
    phase,
    ...(isTrial ? trialFrom(at) : { steps: [{ at, items }], currency }),
  });
}

/** Nothing from `at` on. */
export function endFact(transaction: Transaction, at: number): FactBody {
  return stateOf(transaction, { phase: "ended", ...nothingFrom(at) });
}

/**
 * Nothing from `at` on, but no end: Apple may reverse the refund, and then the price counts again
 * at the rate it had, as after a pause.
 */
export function revokedFact(transaction: Transaction, at: number): FactBody {
  return stateOf(transaction, { phase: "changed", ...nothingFrom(at) });
}

/** The transaction is the last that was paid. */
export function standingIn(
  { originalTransactionId: id, purchaseDate }: Transaction,
  standing: Parameters<typeof standingOf>[1],
  at: number,
): FactBody[] {
  return standingOf({ subscription: id, account: id }, standing, at, purchaseDate);
}

/** The subscription that this one replaced: it is over in the moment this one is paid for. */
export function replacedFacts(transaction: Transaction): FactBody[] {
  const { originalTransactionId: id, previousOriginalTransactionId: replaced } = transaction;
  if (!isSubscription(transaction) || !replaced || replaced === id) return [];
  return [endFact({ ...transaction, originalTransactionId: replaced }, transaction.purchaseDate)];
}

function stateOf(
  { originalTransactionId: id, storefront }: Transaction,
  state: Pick<SubscriptionFact, "phase"> & Worth,
): FactBody {
  return { Subscription: { subscription: id, account: id, country: storefront, ...state } };
}

function periodOf({ purchaseDate, expiresDate, environment }: Transaction): BillingPeriod | null {
  if (expiresDate === null || expiresDate === undefined) return null;
  const minutes = Math.round((expiresDate - purchaseDate) / 60_000);
  if (environment === "Sandbox" && minutes > 0 && minutes <= minutesOfDay) {
    return sandboxPeriods.get(minutes) ?? { interval: "month", intervalCount: 1n };
  }
  return billingPeriodBetween(purchaseDate, expiresDate);
}

const minutesOfDay = 24 * 60;
/**
 * How long the sandbox's periods take unless a tester changed it; TestFlight's are all a day.
 * Source: developer.apple.com/help/app-store-connect, "Testing in-app purchases with sandbox".
 */
const sandboxPeriods: ReadonlyMap<number, BillingPeriod> = new Map([
  [3, { interval: "week", intervalCount: 1n }],
  [5, { interval: "month", intervalCount: 1n }],
  [10, { interval: "month", intervalCount: 2n }],
  [15, { interval: "month", intervalCount: 3n }],
  [30, { interval: "month", intervalCount: 6n }],
  [60, { interval: "year", intervalCount: 1n }],
]);
