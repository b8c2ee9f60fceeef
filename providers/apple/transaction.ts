/** The transaction inside a notification: what was paid, and what that is worth a month. */
import { z } from "zod";
import { limits } from "../../config.js";
import { type BillingPeriod, billingPeriodBetween } from "../../schemas/billing-periods.js";
import { alpha2OfAlpha3 } from "../../schemas/countries.js";
import { exponentOf } from "../../schemas/currencies.js";
import { divideRounded, powerOfTen } from "../../schemas/decimal.js";
import { fraction, monthlyFraction } from "../../schemas/monthly.js";
import type { FactBody, Item } from "../../schemas/records.js";
import { anyCaseCurrency } from "../fields.js";
import { field } from "./notification.js";

/** Thousandths of the currency's unit: 10990 is 10.99 USD. */
const milliunits = z
  .int()
  .nonnegative()
  .max(Number(limits.amountMinorMax))
  .transform((amount) => BigInt(amount));

export const transactionShape = z.compile(
  z.object({
    transactionId: field.id,
    originalTransactionId: field.id,
    productId: field.id,
    type: z.string(),
    purchaseDate: field.time,
    expiresDate: field.time.nullish(),
    // Price and currency are absent from transactions of before October 2023.
    price: milliunits.nullish(),
    currency: anyCaseCurrency.nullish(),
    storefront: z
      .string()
      .nullish()
      .catch(null)
      .transform((code) => (code ? alpha2OfAlpha3(code) : null)),
    inAppOwnershipType: z.string().nullish(),
    offerDiscountType: z.string().nullish(),
    isUpgraded: z.boolean().nullish(),
    revocationDate: field.time.nullish(),
    /** Thousandths of a percent: 50000 is half. */
    revocationPercentage: z.int().min(0).max(100_000).nullish(),
    environment: z.string().nullish(),
    advancedCommerceInfo: z.object({ estimatedTax: milliunits.nullish() }).nullish().catch(null),
  }),
);
export type Transaction = z.output<typeof transactionShape>;

export function isSubscription({ type }: Transaction): boolean {
  return type === "Auto-Renewable Subscription";
}

/** A member of the buyer's family uses it too: nobody paid for that. */
export function isShared({ inAppOwnershipType: type }: Transaction): boolean {
  return type === "FAMILY_SHARED";
}

export interface Price {
  /** ISO minor units, for all of the quantity. */
  readonly amount: bigint;
  readonly currency: string;
}

/** @returns null when it is not told; a free trial costs nothing, whatever it tells */
export function priceOf(transaction: Transaction): Price | null {
  const { price, currency: code, offerDiscountType } = transaction;
  if (offerDiscountType === "FREE_TRIAL") return { amount: 0n, currency: code ?? "" };
  if (price === null || price === undefined || !code) return null;
  return { amount: minorOf(price, code), currency: code };
}

/** What `revocationPercentage` of the price is; all of it where there is none. */
export function revokedPart({ amount, currency: code }: Price, transaction: Transaction): Price {
  const part = BigInt(transaction.revocationPercentage ?? 100_000);
  return { amount: divideRounded(amount * part, 100_000n), currency: code };
}

/** One payment, whatever notification tells it. Free ones are none. */
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

type SubscriptionBody = Extract<FactBody, { Subscription: unknown }>["Subscription"];

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
  phase: SubscriptionBody["phase"],
): FactBody | null {
  const item = itemOf(transaction, price);
  if (item === null) return null;
  const isFree = item.monthly_numerator === 0n;
  const steps = [{ at, items: isFree ? [] : [item] }];
  return stateOf(transaction, { phase, steps, currency: isFree ? "" : price.currency });
}

/** Nothing from `at` on. */
export function endFact(transaction: Transaction, at: number): FactBody {
  return stateOf(transaction, { phase: "ended", steps: [{ at, items: [] }], currency: "" });
}

function stateOf(
  { originalTransactionId: id, storefront }: Transaction,
  state: Pick<SubscriptionBody, "phase" | "steps" | "currency">,
): FactBody {
  return { Subscription: { subscription: id, account: id, country: storefront, ...state } };
}

function itemOf(transaction: Transaction, price: Price): Item | null {
  const period = periodOf(transaction);
  if (period === null) return null;
  const monthly = monthlyFraction({
    unitAmountMinor: fraction(price.amount),
    quantity: 1n,
    ...period,
  });
  return {
    item: transaction.originalTransactionId,
    external_id: transaction.productId,
    monthly_numerator: monthly.numerator,
    monthly_denominator: monthly.denominator,
  };
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

/** Exact wherever Apple's prices have no more decimals than the currency, which is everywhere. */
function minorOf(thousandths: bigint, code: string): bigint {
  return divideRounded(thousandths * powerOfTen(exponentOf(code) ?? 0), 1000n);
}
