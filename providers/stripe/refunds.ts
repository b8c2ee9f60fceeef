/** Refunds, and credit notes that return money outside Stripe. */
import { z } from "zod";
import { divideRounded } from "../../schemas/money/money.js";
import type { FactBody } from "../../schemas/records/records.js";
import { contradictory, ignored } from "../outcomes.js";
import { isObject } from "../fields.js";
import { field, isoMinor, reader } from "./event.js";

export const refundShape = z.object({
  id: field.id,
  amount: field.amount,
  currency: field.currency,
  created: field.time,
  charge: field.reference,
  payment_intent: field.reference,
  // Absent in very old versions, which knew no refund that fails.
  status: z.string().nullish(),
  /** Null says that no balance moved; absent says nothing. */
  balance_transaction: z.unknown().optional(),
});
type Refund = z.output<typeof refundShape>;

/**
 * A refund counts from `created`, also while it is pending: the balance is charged at once. One
 * that failed gives the money back when the event says so.
 */
export const readRefund = reader(refundShape, (refund, event) => {
  if (refund.amount === 0n) return ignored("a refund of nothing");
  if (refund.amount < 0n) return contradictory("A refund of less than nothing");
  if (isOfNoPayment(event.object)) return ignored("a customer's own balance was given back");
  if (isRelease(refund)) return ignored("an authorization was released: no money moved");
  return [refundFact(refund, hasFailed(refund) ? event.at : null)];
});

/** The payment says it. */
const unsaid = { account: null, country: null, lines: [] };

export function refundFact(refund: Refund, failedAt: number | null): FactBody {
  return {
    Refund: {
      refund: refund.id,
      payment: refund.payment_intent ?? refund.charge,
      at: refund.created,
      amount: isoMinor(refund.amount, refund.currency),
      currency: refund.currency,
      failed_at: failedAt,
      ...unsaid,
    },
  };
}

export function hasFailed(refund: Refund): boolean {
  return refund.status === "failed" || refund.status === "canceled";
}

/** Stripe makes a refund object, too, of what was authorized and is not going to be captured. */
export function isRelease(refund: Refund): boolean {
  return refund.status === "succeeded" && refund.balance_transaction === null;
}

/** Money a customer sent and never paid with, such as too much by bank transfer, was no sale. */
function isOfNoPayment(refund: unknown): boolean {
  return isObject(refund) && refund.charge === null && refund.payment_intent === null;
}

const creditNoteShape = z.object({
  id: field.id,
  invoice: field.reference,
  currency: field.currency,
  created: field.time,
  out_of_band_amount: field.amount.nullish(),
  status: z.string().nullish(),
  voided_at: field.time.nullish(),
  total: field.amount.nullish(),
  total_taxes: z.array(z.object({ amount: field.amount })).nullish(),
  tax_amounts: z.array(z.object({ amount: field.amount })).nullish(),
});
type CreditNote = z.output<typeof creditNoteShape>;

/**
 * Money returned outside Stripe for an invoice, however that was paid. What a credit note returns
 * by a refund is reported by the refund; what it credits to the balance is no money.
 */
export const readCreditNote = reader(creditNoteShape, (note, event) => {
  const amount = note.out_of_band_amount ?? 0n;
  if (amount < 0n) return contradictory("A credit note returns less than nothing");
  if (amount <= 0n || note.invoice === null) return ignored("nothing was returned outside Stripe");
  return [
    {
      Refund: {
        refund: note.id,
        payment: note.invoice,
        at: note.created,
        amount: isoMinor(amount, note.currency),
        currency: note.currency,
        failed_at: note.status === "void" ? (note.voided_at ?? event.at) : null,
        tax: taxWithin(note, amount),
        purchase: note.invoice,
        ...unsaid,
      },
    },
  ];
});

/** As much of the note's tax as of the note: the rest went back by a refund or to the balance. */
function taxWithin(note: CreditNote, amount: bigint): bigint | null {
  const taxes = note.total_taxes ?? note.tax_amounts;
  const total = note.total ?? 0n;
  if (!taxes || total <= 0n) return null;
  const tax = taxes.reduce((sum, one) => sum + one.amount, 0n);
  return isoMinor(divideRounded(tax * amount, total), note.currency);
}
