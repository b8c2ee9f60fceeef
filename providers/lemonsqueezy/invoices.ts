/** Subscription invoices: each renewal, and the first payment again. */
import { z } from "zod";
import { limits } from "../../config.js";
import type { FactBody } from "../../schemas/records/records.js";
import { ignored } from "../outcomes.js";
import { factsAt, field, reader, unavailable } from "./event.js";
import { contradictionIn, isPaid, moneyFields, refundedOf, unclearUnit } from "./money.js";
import { orderPayment } from "./orders.js";
import { countryOf, orderOf } from "./questions.js";
import { subscriptionPurchase } from "./subscriptions.js";

const invoiceShape = z.object({
  ...moneyFields,
  customer_id: field.id.nullish(),
  subscription_id: field.id,
  billing_reason: z.string().nullish(),
});

/**
 * An invoice names no product: it belongs to the one its subscription had when it was made, which
 * booking finds by the link. The initial invoice and the order are one payment: only the
 * subscription knows both.
 */
export const readInvoice = reader(invoiceShape, (invoice, event) => {
  if (!isPaid(invoice)) return ignored("no money was collected");
  const unclear = contradictionIn(invoice) ?? unclearUnit(invoice);
  if (unclear !== null) return unclear;
  const { currency, subscription_id: subscription, customer_id: customer } = invoice;
  const { created_at: createdAt, updated_at: updatedAt } = invoice;
  const isInitial = invoice.billing_reason === "initial";
  const order = isInitial ? orderOf(event.known, subscription) : null;
  if (isInitial && order === null) return unavailable("which order a subscription began with");
  const payment = order === null ? invoicePayment(event.id) : orderPayment(order);
  const paid: FactBody = {
    Payment: {
      payment,
      at: createdAt,
      amount: invoice.total,
      currency,
      account: customer ?? null,
      country: countryOf(event.known, customer),
      type: "subscription",
      tax: invoice.tax ?? null,
      fee: null,
      lines: [],
    },
  };
  const purchase = subscriptionPurchase(subscription);
  const rest: FactBody[] = [{ Link: { payment, purchase, as_of: createdAt } }];
  const amount = refundedOf(invoice);
  if (amount > 0n) {
    const witness = "invoice";
    rest.push({ RefundTotal: { payment, at: updatedAt, amount, currency, witness } });
  }
  // What the order says of its payment (a setup fee, say) counts, whenever it was last changed.
  const paidReportedAt = isInitial ? limits.eventEarliest : updatedAt;
  return [...factsAt(paidReportedAt, [paid]), ...factsAt(updatedAt, rest)];
});

/** See `orderPayment`. */
export function invoicePayment(invoice: string): string {
  return `invoice:${invoice}`;
}
