/** Invoices: what was bought, and which transactions paid for it. They are no money themselves. */
import { z } from "zod";
import { limits } from "../../config.js";
import type { FactBody, Line } from "../../schemas/records/records.js";
import { ignored, rejected } from "../outcomes.js";
import { factsAt, field, isoFactor, reader, unitUnclear } from "./event.js";

const invoiceShape = z.object({
  id: field.id,
  status: z.enum(["paid", "posted", "payment_due", "not_paid", "voided", "pending"]),
  customer_id: field.id,
  subscription_id: field.id.nullish(),
  recurring: z.boolean().nullish(),
  currency_code: field.currency,
  price_type: z.string().nullish(),
  total: field.amount.nullish(),
  tax: field.amount.nullish(),
  resource_version: field.version,
  billing_address: z.object({ country: field.country }).nullish().catch(null),
  line_items: z
    .array(
      z.object({
        entity_id: field.id.nullish(),
        entity_type: z.string(),
        amount: field.amount.nullish(),
        discount_amount: field.amount.nullish(),
        tax_amount: field.amount.nullish(),
      }),
    )
    .nullish(),
  linked_payments: z
    .array(
      z.object({
        txn_id: field.id,
        txn_status: z.string().nullish(),
        applied_amount: field.amount,
        applied_at: field.time,
      }),
    )
    .nullish(),
});
type Invoice = z.output<typeof invoiceShape>;

export const readInvoice = reader(invoiceShape, (invoice, event) => {
  const { id: purchase, currency_code: currency, total } = invoice;
  const factor = isoFactor(currency);
  if (factor === null) return unitUnclear(currency);
  // It may still grow.
  if (invoice.status === "pending") return ignored("the invoice is not final");
  if (!total) return ignored("an invoice of nothing");
  const lines = linesOf(invoice, factor);
  if (lines.length > limits.linesPerPurchaseMax) {
    return rejected("too_many_lines", `More than ${limits.linesPerPurchaseMax} lines`);
  }
  const bought: FactBody = {
    Purchase: {
      purchase,
      account: invoice.customer_id,
      country: invoice.billing_address?.country ?? null,
      type: invoice.recurring === true || invoice.subscription_id ? "subscription" : "one_time",
      tax: (invoice.tax ?? 0n) * factor,
      fee: null,
      lines,
      total: total * factor,
    },
  };
  const payments = (invoice.linked_payments ?? []).filter(
    ({ txn_status: status }) => status === "success" || status === "late_failure",
  );
  const links = payments.map(({ txn_id: payment, applied_amount: amount, applied_at: at }) => ({
    Link: { payment, purchase, part: { amount: amount * factor, at } },
  }));
  return factsAt(invoice.resource_version, event, [bought, ...links]);
});

/** Less discounts, and less the tax that is inside; an ad hoc line is of no product. */
function linesOf({ line_items: items, price_type: priceType }: Invoice, factor: bigint): Line[] {
  return (items ?? []).map((item) => {
    const tax = priceType === "tax_inclusive" ? (item.tax_amount ?? 0n) : 0n;
    const net = (item.amount ?? 0n) - (item.discount_amount ?? 0n) - tax;
    const isOfPrice = item.entity_type.endsWith("_item_price");
    return { external_id: (isOfPrice ? item.entity_id : null) ?? "", weight: net * factor };
  });
}
