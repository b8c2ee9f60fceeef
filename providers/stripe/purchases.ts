/** What ties a payment to what was bought: invoice payments and checkout sessions. */
import { z } from "zod";
import { compiled } from "../fields.js";
import type { Line } from "../../schemas/records/records.js";
import { contradictory, ignored } from "../outcomes.js";
import { type Answers, paths } from "./answers.js";
import { customerIn } from "./customers.js";
import { accountKey, field, isoMinor, reader } from "./event.js";
import { paymentOutside } from "./invoices.js";

const invoicePaymentShape = z.object({
  id: field.id,
  invoice: field.reference,
  status: z.string().nullish(),
  amount_paid: field.amount.nullish(),
  currency: field.currency,
  created: field.time,
  status_transitions: z.object({ paid_at: field.time.nullish() }).nullish(),
  payment: z.object({
    type: z.string(),
    payment_intent: field.reference,
    charge: field.reference,
  }),
});

/** Since 2025-03-31 the only event that ties the two; it names no customer. */
export const readInvoicePayment = reader(invoicePaymentShape, (paid) => {
  const { id: record, invoice, payment, currency } = paid;
  if (invoice === null || paid.status !== "paid") return ignored("the invoice is not paid");
  if ((paid.amount_paid ?? 0n) < 0n) return contradictory("An invoice was paid less than nothing");
  const inside = payment.payment_intent ?? payment.charge;
  const amount = isoMinor(paid.amount_paid ?? 0n, currency);
  const at = paid.status_transitions?.paid_at ?? paid.created;
  if (inside !== null) {
    const part = amount > 0n ? { amount, at } : null;
    return [{ Link: { payment: inside, purchase: invoice, part } }];
  }
  // Neither intent nor charge: a record of money that came another way than through Stripe.
  if (amount <= 0n) return ignored("a payment of nothing");
  return paymentOutside({ invoice, at, amount, currency, account: null, country: null, record });
});

const sessionShape = z.object({
  id: field.id,
  mode: z.string(),
  payment_status: z.string().nullish(),
  currency: field.currency.nullish(),
  customer: field.reference,
  customer_details: z.object({ address: field.address }).nullish(),
  payment_intent: field.reference,
  total_details: z.object({ amount_tax: field.amount.nullish() }).nullish(),
  line_items: z.unknown().optional(),
});

/**
 * A session adds type, country, tax and products to its payment. Without a payment intent (a
 * subscription's session) an invoice reports the same and more, but not always the country.
 */
export const readSession = reader(sessionShape, (session, event) => {
  if (session.payment_status !== "paid") return ignored("the session is not paid");
  const payment = session.payment_intent;
  const country = session.customer_details?.address ?? null;
  if (payment === null) {
    const facts = customerIn(event, session.customer, country);
    return facts.length > 0 ? facts : ignored("its invoice names what was bought");
  }
  const tax = session.total_details?.amount_tax ?? null;
  return [
    {
      Purchase: {
        purchase: session.id,
        account: accountKey(event, session.customer),
        country,
        type: session.mode === "subscription" ? "subscription" : "one_time",
        tax: tax === null || !session.currency ? null : isoMinor(tax, session.currency),
        fee: null,
        lines: linesOf(session, event.answers),
      },
    },
    { Link: { payment, purchase: session.id } },
  ];
});

const linesShape = compiled(
  z.object({
    data: z.array(
      z.object({
        amount_total: field.amount,
        amount_tax: field.amount.nullish(),
        price: z.object({ product: field.reference }).nullish(),
      }),
    ),
  }),
);

const wholeList = z.object({ data: z.array(z.unknown()), has_more: z.literal(false) });

/** As a list of sessions reports them that was asked to; no event does. */
export function reportsAllLines(session: Readonly<Record<string, unknown>>): boolean {
  return wholeList.safeParse(session.line_items).success;
}

/** Only the API reports them; until it has, the payment belongs to no product. */
function linesOf(session: z.output<typeof sessionShape>, answers: Answers): Line[] {
  const { id, currency } = session;
  const reported = reportsAllLines(session)
    ? session.line_items
    : answers.get(paths.sessionLines(id));
  const lines = linesShape.safeParse(reported);
  if (!lines.success || !currency) return [];
  return lines.data.data.map(({ amount_total: total, amount_tax: tax, price }) => ({
    external_id: price?.product ?? "",
    weight: isoMinor(total - (tax ?? 0n), currency),
  }));
}
