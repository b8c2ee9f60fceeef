/** Orders: one-off sales, and each payment of a subscription. */
import { z } from "zod";
import type { FactBody } from "../../schemas/records/records.js";
import { contradictory, ignored } from "../outcomes.js";
import { isoMinor } from "../stripe/event.js";
import { field, reader } from "./event.js";

/** Of what there is a payment, and of what there is none. */
const paidStatuses = ["paid", "refunded", "partially_refunded"] as const;
const unpaidStatuses = ["draft", "pending", "void"] as const;
const reasons = [
  "purchase",
  "subscription_create",
  "subscription_cycle",
  "subscription_update",
  "subscription_meter_cycle",
] as const;

const address = z.object({ country: z.string().regex(/^[A-Z]{2}$/) });

const shape = z.object({
  id: field.id,
  // One to come is not taken for one of which nothing was paid.
  status: z.enum([...paidStatuses, ...unpaidStatuses]),
  currency: field.currency,
  total_amount: z.int(),
  tax_amount: z.int(),
  applied_balance_amount: z.int().nullish(),
  refunded_amount: field.amount,
  refunded_tax_amount: field.amount,
  platform_fee_amount: field.amount.nullish().catch(null),
  platform_fee_currency: z.string().nullish(),
  billing_reason: z.enum(reasons),
  created_at: field.time,
  customer_id: field.id,
  product_id: field.id.nullish(),
  subscription_id: field.id.nullish(),
  billing_address: address.nullish().catch(null),
  customer: z
    .object({ billing_address: address.nullish().catch(null) })
    .nullish()
    .catch(null),
});

/**
 * What was paid: of the total, what the customer's balance did not pay (it is negative then; a debt
 * is added). Amounts are ISO minor units; tax and fee null where nobody says how much of it.
 */
export const orderShape = shape.transform((order) => {
  const { currency, applied_balance_amount: balance, total_amount: total } = order;
  const iso = (amount: number | bigint): bigint => isoMinor(BigInt(amount), currency);
  const feeCurrency = order.platform_fee_currency?.toUpperCase();
  const fee = feeCurrency === currency ? iso(order.platform_fee_amount ?? 0n) : 0n;
  return {
    ...order,
    amount: iso(total + (balance ?? 0)),
    tax: (balance ?? 0) === 0 ? iso(order.tax_amount) : null,
    // It is not known yet when the order is paid: 0 says nothing.
    fee: fee === 0n ? null : fee,
    refunded: iso(order.refunded_amount + order.refunded_tax_amount),
  };
});
type Order = z.output<typeof orderShape>;

/**
 * `order.paid` and `order.updated` repeat each other. Dated by the order: Polar shows no other time
 * of its payment, neither here nor in its list.
 */
export const readOrder = reader(orderShape, (order, { at }) => {
  if (!isPaid(order)) return ignored("no money was collected");
  const { id: payment, amount, refunded, currency } = order;
  if (refunded > amount) return contradictory("More was refunded than was paid");
  if (order.status !== "paid" && refunded === 0n) {
    return contradictory("It is refunded, but nothing of it");
  }
  const { product_id: product } = order;
  const isOfSubscription = order.subscription_id || order.billing_reason !== "purchase";
  const facts: FactBody[] = [
    {
      Payment: {
        payment,
        at: order.created_at,
        amount,
        currency,
        account: order.customer_id,
        country: (order.billing_address ?? order.customer?.billing_address)?.country ?? null,
        type: isOfSubscription ? "subscription" : "one_time",
        tax: order.tax,
        fee: order.fee,
        lines: product ? [{ external_id: product, weight: amount }] : [],
      },
    },
  ];
  if (refunded > 0n) {
    facts.push({ RefundTotal: { payment, at, amount: refunded, currency, witness: "order" } });
  }
  return facts;
});

export function isPaid({ status, amount }: Order): boolean {
  return paidStatuses.some((paid) => paid === status) && amount > 0n;
}

/** Refunds, each with an id of its own; an order counts them up. */
const refundShape = z.object({
  id: field.id,
  status: z.enum(["pending", "succeeded", "failed", "canceled"]),
  /** Without the tax. */
  amount: field.amount,
  tax_amount: field.amount,
  currency: field.currency,
  order_id: field.id,
  customer_id: field.id.nullish(),
  created_at: field.time,
});

/** One that failed after it had succeeded gives the money back; else it moved nothing. */
export const readRefund = reader(refundShape, (refund, { at }) => {
  const { status, currency } = refund;
  if (status === "pending") return ignored("a refund is money once it succeeded");
  const amount = isoMinor(refund.amount + refund.tax_amount, currency);
  if (amount === 0n) return ignored("a refund of nothing");
  const failedAt = status === "succeeded" ? null : at;
  const fact: FactBody = {
    Refund: {
      refund: refund.id,
      payment: refund.order_id,
      at: failedAt ?? refund.created_at,
      amount,
      currency,
      failed_at: failedAt,
      account: refund.customer_id ?? null,
      country: null,
      lines: [],
      // In proportion, as it is counted where nobody reports it: then an order's total may join.
      tax: null,
    },
  };
  return [fact];
});
