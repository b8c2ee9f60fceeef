/**
 * What an order and an invoice say alike about money, and whether it can be believed. Everything is
 * "in cents", which nobody documents for currencies without them: there the twin in US dollars
 * says whether ¥1200 was written 1200 or 120000.
 */
import { z } from "zod";
import {
  type Decimal,
  exponentOf,
  isFartherApart,
  parseDecimal,
} from "../../schemas/money/money.js";
import { contradictory, rejected, type Unreported } from "../outcomes.js";
import { field } from "./event.js";

const documentedExponent = 2;
/** Rates and rounding put the two a little apart; a misplaced point at least a hundred times. */
const timesApartMax = 30n;

/** Of what there is a payment, and of what there is none. */
const paidStatuses = ["paid", "refunded", "partial_refund", "fraudulent"] as const;
const unpaidStatuses = ["pending", "failed", "void"] as const;

export const moneyFields = {
  currency: field.currency,
  total: field.amount,
  tax: field.amount.nullish(),
  refunded: z.boolean().nullish(),
  refunded_amount: field.amount.nullish(),
  // One to come is not taken for one of which nothing was paid.
  status: z.enum([...paidStatuses, ...unpaidStatuses]),
  created_at: field.time,
  updated_at: field.time,
  // Only looked at to check the unit. The documentation shows fractions of a cent in such twins.
  currency_rate: z.union([z.string(), z.number()]).nullish().catch(null),
  total_usd: z.number().nullish().catch(null),
};
const money = z.object(moneyFields);
type Money = z.output<typeof money>;

export function isPaid({ status, total }: Money): boolean {
  return paidStatuses.some((paid) => paid === status) && total > 0n;
}

/** All that was refunded so far; older documents only say that it was all. */
export function refundedOf({ refunded_amount: amount, refunded, status, total }: Money): bigint {
  const isWhole = refunded === true || status === "refunded";
  return amount ?? (isWhole ? total : 0n);
}

/** What was paid and given back cannot be true together; null: it can. */
export function contradictionIn(paid: Money): Unreported | null {
  const { status, total, refunded_amount: back, refunded } = paid;
  if (back === undefined || back === null) return null;
  if (back < 0n || back > total) return contradictory("More was refunded than was paid");
  const isRefunded = refunded === true || status === "refunded" || status === "partial_refund";
  return isRefunded && back === 0n ? contradictory("It is refunded, but nothing of it") : null;
}

/** @returns null when the amounts are minor units as far as can be seen */
export function unclearUnit({ currency, total, currency_rate: rate, total_usd: usd }: Money) {
  const exponent = exponentOf(currency) ?? documentedExponent;
  const perUnit = parseDecimal(String(rate ?? ""));
  const reported = parseDecimal(String(usd ?? ""));
  if (exponent === documentedExponent || perUnit === null || reported === null) return null;
  if (perUnit.digits <= 0n || reported.digits <= 0n) return null;
  // Cents: the total in major units × dollars for one × 100.
  const digits = total * perUnit.digits * 100n;
  const computed: Decimal = { digits, scale: exponent + perUnit.scale };
  if (!isFartherApart(computed, reported, timesApartMax)) return null;
  const refusal: Unreported = rejected(
    "amount_unclear",
    `The amount in ${currency} and its twin in USD do not agree on the minor unit`,
  );
  return refusal;
}
