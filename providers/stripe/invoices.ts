/** Invoices: what was bought, and the money of those paid outside Stripe. */
import { z } from "zod";
import { limits } from "../../config.js";
import type { FactBody, Line } from "../../schemas/records/records.js";
import { contradictory, ignored, rejected } from "../outcomes.js";
import { accountKey, field, isoMinor, reader } from "./event.js";

const ofSubscription = z.object({ subscription: field.reference }).nullish();
const amounts = z.array(z.object({ amount: field.amount })).nullish();
/** By layout: since 2025-03-31, and before. */
const taxesNow = z
  .array(z.object({ amount: field.amount, tax_behavior: z.string().nullish() }))
  .nullish();
const taxesThen = z
  .array(z.object({ amount: field.amount, inclusive: z.boolean().nullish() }))
  .nullish();

/** Product by layout: `pricing` since 2025-03-31, `price` before, `plan` long before. */
const lineShape = z.object({
  amount: field.amount,
  discount_amounts: amounts,
  pretax_credit_amounts: z
    .array(z.object({ amount: field.amount, type: z.string().nullish() }))
    .nullish(),
  taxes: taxesNow,
  tax_amounts: taxesThen,
  pricing: z.object({ price_details: z.object({ product: field.reference }).nullish() }).nullish(),
  price: z.object({ product: field.reference }).nullish(),
  plan: z.object({ product: field.reference }).nullish(),
  subscription: field.reference,
  parent: z
    .object({ subscription_item_details: ofSubscription, invoice_item_details: ofSubscription })
    .partial()
    .nullish(),
});

const invoiceShape = z.object({
  id: field.id,
  status: z.string().nullish(),
  paid: z.boolean().nullish(),
  currency: field.currency,
  created: field.time,
  customer: field.reference,
  customer_address: field.address,
  total: field.amount,
  amount_due: field.amount,
  amount_paid: field.amount,
  amount_remaining: field.amount.nullish(),
  paid_out_of_band: z.boolean().nullish(),
  amount_paid_off_stripe: field.amount.nullish(),
  status_transitions: z.object({ paid_at: field.time.nullish() }).nullish(),
  lines: z.object({ data: z.array(lineShape), has_more: z.boolean().nullish() }),
  subscription: field.reference,
  parent: z.object({ subscription_details: ofSubscription }).nullish(),
  payment_intent: field.reference,
  charge: field.reference,
  tax: field.amount.nullish(),
  total_taxes: taxesNow,
  total_tax_amounts: taxesThen,
});
type Invoice = z.output<typeof invoiceShape>;

/** Of an invoice as it came, not read yet: whether any of it was paid. */
export function isPaidInPart({ amount_paid: paid }: Readonly<Record<string, unknown>>): boolean {
  return typeof paid === "number" && paid > 0;
}

/** A partly paid invoice names what those who paid bought, whether or not the rest is paid. */
export const readInvoice = reader(invoiceShape, (invoice, event) => {
  const isPaid = invoice.status === "paid" || invoice.paid === true;
  // Until all is paid, only the records of money from outside know when it came.
  const outside = isPaid ? paidOutside(invoice) : 0n;
  if (invoice.amount_paid < 0n || outside < 0n) {
    return contradictory("An invoice was paid by less than nothing");
  }
  const isOpen = (invoice.amount_remaining ?? 0n) > 0n;
  if (isPaid && isOpen && invoice.amount_paid === 0n && outside === 0n) {
    return contradictory("An invoice is paid, but nothing of what is due");
  }
  if (invoice.amount_paid <= 0n && outside <= 0n) {
    return ignored(isPaid ? "an invoice of no money" : "the invoice is not paid");
  }
  if (invoice.lines.data.length > limits.linesPerPurchaseMax) {
    return rejected("too_many_lines", `More than ${limits.linesPerPurchaseMax} lines`);
  }
  const { currency } = invoice;
  const account = accountKey(event, invoice.customer);
  const country = invoice.customer_address;
  const type = isOfSubscription(invoice) ? "subscription" : "one_time";
  const tax = taxOf(invoice);
  const facts: FactBody[] = [
    {
      Purchase: {
        purchase: invoice.id,
        account,
        country,
        type,
        tax: tax === null ? null : isoMinor(tax, currency),
        fee: null,
        lines: linesOf(invoice),
        total: isoMinor(invoice.total, currency),
      },
    },
  ];
  const payment = invoice.payment_intent ?? invoice.charge;
  if (payment !== null) facts.push({ Link: { payment, purchase: invoice.id } });
  if (outside > 0n) {
    const at = invoice.status_transitions?.paid_at ?? invoice.created;
    const amount = isoMinor(outside, currency);
    facts.push(...paymentOutside({ invoice: invoice.id, at, amount, currency, account, country }));
  }
  return facts;
});

/** An invoice paid outside Stripe books under its own id (`definitions.md`, Transactions). */
export function paymentOutside(paid: {
  readonly invoice: string;
  readonly at: number;
  /** ISO minor units */
  readonly amount: bigint;
  readonly currency: string;
  readonly account: string | null;
  readonly country: string | null;
  /** One of several it may be paid by; left out: all that was paid outside. */
  readonly record?: string;
}): FactBody[] {
  const { invoice, ...money } = paid;
  const { amount, at, record } = paid;
  const part = { amount, at, ...(record === undefined ? {} : { record }) };
  return [
    { Payment: { payment: invoice, ...money, type: null, tax: null, fee: null, lines: [] } },
    { Link: { payment: invoice, purchase: invoice, part } },
  ];
}

/**
 * Until 2025-03-31 an invoice was paid outside whole or not at all, and `amount_paid` did not show
 * it. Since then only `amount_paid_off_stripe` reports the two apart, where it is sent.
 */
function paidOutside(invoice: Invoice): bigint {
  if (invoice.paid_out_of_band === true) return invoice.amount_due;
  return invoice.amount_paid_off_stripe ?? 0n;
}

function isOfSubscription(invoice: Invoice): boolean {
  return (
    invoice.subscription !== null ||
    typeof invoice.parent?.subscription_details?.subscription === "string" ||
    invoice.lines.data.some(
      ({ subscription, parent }) =>
        subscription !== null ||
        typeof parent?.subscription_item_details?.subscription === "string" ||
        typeof parent?.invoice_item_details?.subscription === "string",
    )
  );
}

/**
 * An event lists ten lines at most; what the others come to is reported as a line of no product.
 */
function linesOf(invoice: Invoice): Line[] {
  const lines = invoice.lines.data.map((line) => ({
    external_id:
      line.pricing?.price_details?.product ?? line.price?.product ?? line.plan?.product ?? "",
    net: netOf(line),
  }));
  if (invoice.lines.has_more === true) {
    const listed = lines.reduce((running, line) => running + line.net, 0n);
    lines.push({ external_id: "", net: invoice.total - (taxOf(invoice) ?? 0n) - listed });
  }
  return lines.map(({ external_id, net }) => ({
    external_id,
    weight: isoMinor(net, invoice.currency),
  }));
}

/** Less discounts, what billing credits paid, and the tax inside, as other documents report it. */
function netOf(line: Invoice["lines"]["data"][number]): bigint {
  // The credits repeat the discounts.
  const credits = line.pretax_credit_amounts?.filter(
    ({ type }) => type === "credit_balance_transaction",
  );
  const taxes =
    line.taxes?.filter((tax) => tax.tax_behavior === "inclusive") ??
    line.tax_amounts?.filter((tax) => tax.inclusive === true);
  return line.amount - sum(line.discount_amounts) - sum(credits) - sum(taxes);
}

function taxOf(invoice: Invoice): bigint | null {
  const listed = invoice.total_taxes ?? invoice.total_tax_amounts;
  return listed ? sum(listed) : (invoice.tax ?? null);
}

function sum(parts: readonly { readonly amount: bigint }[] | null | undefined): bigint {
  return (parts ?? []).reduce((running, part) => running + part.amount, 0n);
}
