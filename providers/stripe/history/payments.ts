/**
 * The payment of an invoice or session of which no event came: the invoice's payments, where the
 * invoice names none (since 2025-03-31), and then their charges.
 */
import { z } from "zod";
import { anyTime, type PaymentLookup, type UnpaidPurchase } from "../../backfill.js";
import { purchaseTypes } from "../decode.js";
import { isObject } from "../../fields.js";
import { field } from "../event.js";
import { charges, expandedInCharges, invoicePayments } from "./backfill.js";

type Answers = ReadonlyMap<string, unknown>;

export const stripePaymentLookup: PaymentLookup = {
  purchasesIn: purchaseTypes,
  asks(unpaid, answers) {
    return pathsOf(unpaid, answers).filter((path) => !answers.has(path));
  },
  events(unpaid, answers, asOf) {
    return pathsOf(unpaid, answers).flatMap((path) => {
      const list = path.startsWith("/v1/charges") ? charges : invoicePayments;
      return list.read(asList(answers.get(path)), asOf, anyTime)?.events ?? [];
    });
  },
};

/** All that is asked, as far as it is known by now. */
function pathsOf({ purchase, payments }: UnpaidPurchase, answers: Answers): string[] {
  if (payments.length > 0) return payments.map(chargesOf);
  if (!purchase.startsWith("in_")) return [];
  const path = paymentsOf(purchase);
  return [path, ...paymentsIn(answers.get(path)).map(chargesOf)];
}

/** More than one only where it was paid in parts. */
function paymentsOf(invoice: string): string {
  const query = new URLSearchParams({ invoice, status: "paid", limit: "100" });
  return `/v1/invoice_payments?${query.toString()}`;
}

/** A charge need not have an intent, and is asked for by itself then. */
function chargesOf(payment: string): string {
  if (!payment.startsWith("pi_")) {
    const expanded = "expand[0]=balance_transaction&expand[1]=refunds";
    return `/v1/charges/${encodeURIComponent(payment)}?${expanded}`;
  }
  const query = new URLSearchParams({
    payment_intent: payment,
    limit: "100",
    ...expandedInCharges,
  });
  return `/v1/charges?${query.toString()}`;
}

function asList(answer: unknown): unknown {
  const isOne = isObject(answer) && answer.object === "charge";
  return isOne ? { object: "list", data: [answer], has_more: false } : answer;
}

const payment = z.object({
  payment: z.object({ payment_intent: field.reference, charge: field.reference }),
});
const page = z.object({ data: z.array(payment) });

function paymentsIn(answer: unknown): string[] {
  const listed = page.safeParse(answer).data?.data ?? [];
  return listed.flatMap(({ payment: { payment_intent: intent, charge } }) => {
    const id = intent ?? charge;
    return id === null ? [] : [id];
  });
}
