/** Completed transactions: the one place where Paddle's money comes in. */
import { z } from "zod";
import { limits } from "../../config.js";
import { divideRounded } from "../../schemas/money/money.js";
import type { Line } from "../../schemas/records/records.js";
import { contradictory, ignored, rejected } from "../outcomes.js";
import { field, reader } from "./event.js";
import { countryOf } from "./questions.js";

const lineShape = z.object({
  id: z.string().nullish(),
  price_id: z.string().nullish(),
  product: z.object({ id: field.id }).nullish(),
  totals: z.object({ subtotal: field.amount, discount: field.amount.nullish() }),
});

const paymentsShape = z.array(
  z.object({
    status: z.string(),
    amount: field.amount.nullish(),
    captured_at: field.time.nullish(),
  }),
);

const transactionShape = z.object({
  id: field.id,
  status: z.string(),
  origin: z.string().nullish(),
  customer_id: field.id.nullish(),
  address_id: field.id.nullish(),
  // Only in what a backfill reads.
  address: z
    .object({ country_code: z.string().regex(/^[A-Z]{2}$/) })
    .nullish()
    .catch(null),
  subscription_id: field.id.nullish(),
  currency_code: field.currency,
  billed_at: field.time.nullish(),
  items: z
    .array(z.object({ price: z.object({ id: field.id, product_id: field.id }).nullish() }))
    .nullish(),
  details: z.object({
    totals: z.object({
      grand_total: field.amount,
      grand_total_tax: field.amount.nullish(),
      tax: field.amount.nullish(),
      total: field.amount.nullish(),
      credit: field.amount.nullish(),
      fee: field.amount.nullish(),
    }),
    line_items: z.array(lineShape),
  }),
  payments: paymentsShape.nullish(),
});
type Transaction = z.output<typeof transactionShape>;

/**
 * `transaction.paid` comes first but may lack fee and invoice number, so only `completed` counts.
 * What was collected is the grand total: the total less the credit that was used.
 */
export const readTransaction = reader(transactionShape, (transaction, event) => {
  const { id, status, details, currency_code: currency } = transaction;
  if (status !== "completed")
    return ignored(`a transaction is money once completed, not ${status}`);
  const { totals, line_items: items } = details;
  const odd = contradictionIn(transaction);
  if (odd !== null) return contradictory(`A transaction ${odd}`);
  if (totals.grand_total === 0n) return ignored("no money was collected");
  if (items.length > limits.linesPerPurchaseMax) {
    return rejected("too_many_lines", `More than ${limits.linesPerPurchaseMax} lines`);
  }
  return [
    {
      Payment: {
        payment: id,
        at: paidAt(transaction) ?? event.at,
        amount: totals.grand_total,
        currency,
        account: transaction.customer_id ?? null,
        country:
          transaction.address?.country_code ??
          countryOf(event.known, transaction.customer_id, transaction.address_id),
        type: typeOf(transaction),
        tax: taxOf(totals),
        fee: totals.fee ?? null,
        lines: linesOf(transaction),
      },
    },
  ];
});

/** @returns what cannot be true together; null: nothing */
function contradictionIn({ details, payments }: Transaction): string | null {
  const { grand_total: collected, total, credit } = details.totals;
  if (collected < 0n) return "collected less than nothing";
  if (collected > 0n) return null;
  const isCaptured = (payments ?? []).some(
    ({ status, amount }) => status === "captured" && (amount ?? 0n) > 0n,
  );
  if (isCaptured) return "collected nothing, and a payment of it was captured";
  // Where it is not reported, credit may have paid for all of it.
  const isLeft = typeof total === "bigint" && typeof credit === "bigint" && total > credit;
  return isLeft ? "collected nothing of a total that no credit paid" : null;
}

/**
 * Of what was collected. Transactions of before 2026 say that of the total, also where credit paid
 * some of it. Source: developer.paddle.com, changelog 2026-01-08, `grand_total_tax`.
 */
function taxOf(totals: Transaction["details"]["totals"]): bigint | null {
  const { grand_total: collected, tax = null, total = null } = totals;
  const reported = totals.grand_total_tax ?? tax;
  const isOfTotal = reported === tax && total !== null && collected < total;
  return isOfTotal && reported !== null ? divideRounded(reported * collected, total) : reported;
}

/** Billed may be weeks before paid: the capture that made the payment whole dates it. */
function paidAt({
  payments,
  billed_at: billedAt,
}: Pick<Transaction, "payments" | "billed_at">): number | null {
  const captured = (payments ?? []).flatMap(({ status, captured_at: at }) =>
    status === "captured" ? (at ?? []) : [],
  );
  return captured.length > 0 ? Math.max(...captured) : (billedAt ?? null);
}

const paidShape = z.object({
  payments: paymentsShape.nullish(),
  billed_at: field.time.nullish(),
});

/** The same of any object; null where it does not say. */
export function paidAtOf(transaction: unknown): number | null {
  const { data } = paidShape.safeParse(transaction);
  return data === undefined ? null : paidAt(data);
}

/**
 * A one-time charge on a subscription is none of its payments. A first payment may not name its
 * subscription yet: left open here, `subscription.created` links the two.
 */
function typeOf({ subscription_id: subscription, origin }: Transaction) {
  if (origin === "subscription_charge") return "one_time";
  return subscription ? "subscription" : null;
}

function linesOf({ details, items }: Transaction): Line[] {
  const products = new Map(
    (items ?? []).flatMap(({ price }) => (price ? [[price.id, price.product_id]] : [])),
  );
  return details.line_items.map(({ id, price_id: price, product, totals }) => ({
    external_id: product?.id ?? products.get(price ?? "") ?? "",
    weight: totals.subtotal - (totals.discount ?? 0n),
    item: id ?? "",
  }));
}
