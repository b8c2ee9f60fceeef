/**
 * What Stripe lists of disputes and taxes, read only to be compared with what is booked, and so
 * from other objects and fields than booking reads: balance transactions instead of disputes,
 * totals of invoices instead of their taxes. Sources:
 * docs.stripe.com/reports/reporting-categories, docs.stripe.com/api/balance_transactions/list,
 * docs.stripe.com/api/invoice-payment/list.
 */
import { z } from "zod";
import { divideRounded } from "../../../schemas/money/money.js";
import { parseFraction } from "../../../schemas/money/monthly.js";
import {
  type HistoryList,
  type HistoryPage,
  type ListedPayment,
  type ListedTax,
  nothingListed,
  type Span,
} from "../../backfill.js";
import { field, isoMinor, seconds } from "../event.js";

const pageObjects = 100;
const dayMs = 24 * 60 * 60 * 1000;
/** What ties an invoice to its payment is made with the invoice, which may be so much older. */
export const invoicesBeforeMs = 90 * dayMs;
/** A checkout page is open for a day at most; its payment is made at its end. */
export const sessionsBeforeMs = dayMs;

const disputeShape = z.object({
  object: z.literal("dispute"),
  id: field.id,
  amount: field.amount,
  currency: field.currency,
  charge: field.reference,
  payment_intent: field.reference,
  status: z.string(),
});
type Dispute = z.output<typeof disputeShape>;

const moveShape = z.object({
  id: field.id,
  amount: field.amount,
  currency: field.currency,
  created: field.time,
  exchange_rate: z.union([z.number(), z.string()]).nullish(),
  reporting_category: z.string(),
  source: z.unknown(),
});
type Move = z.output<typeof moveShape>;

const disputeCategories = new Set(["dispute", "dispute_reversal"]);

export const disputedMoney = list({
  name: "balance_transactions",
  query: ({ from }) => ({
    type: "adjustment",
    "expand[]": "data.source",
    "created[gte]": seconds(from),
  }),
  row: moveShape,
  found: (rows) => ({ payments: rows.flatMap(disputedIn) }),
});

/** Failed refunds and fees are adjustments, too. */
function disputedIn(move: Move): ListedPayment[] {
  if (!disputeCategories.has(move.reporting_category)) return [];
  const { data: dispute } = disputeShape.safeParse(move.source);
  const payment = dispute?.payment_intent ?? dispute?.charge ?? null;
  if (dispute === undefined || payment === null || move.amount === 0n) return [];
  const money = isoMinor(moneyOf(move, dispute), dispute.currency);
  const isOut = move.amount < 0n;
  return [
    {
      payment,
      dispute: dispute.id,
      at: move.created,
      currency: dispute.currency,
      amount: isOut ? money : 0n,
      refunded: isOut ? 0n : money,
    },
  ];
}

/**
 * Stripe's minor units of the dispute's currency. The move is in that of the payout: where it is
 * another, all of the dispute was taken and, if it is won, given back; of one that is lost in part
 * only the rate of the day says how much came back.
 */
function moneyOf({ amount, currency, exchange_rate: given }: Move, dispute: Dispute): bigint {
  const moved = amount < 0n ? -amount : amount;
  if (currency === dispute.currency) return moved;
  if (amount < 0n || dispute.status === "won") return dispute.amount;
  const rate = parseFraction(`${given ?? ""}`);
  if (rate === null || rate.numerator <= 0n) return dispute.amount;
  const back = divideRounded(moved * rate.denominator, rate.numerator);
  return back < dispute.amount ? back : dispute.amount;
}

const invoicePaymentShape = z.object({
  id: field.id,
  amount_paid: field.amount.nullish(),
  currency: field.currency,
  payment: z.object({ payment_intent: field.reference, charge: field.reference }),
  invoice: z.unknown(),
});
const invoiceShape = z.object({
  id: field.id,
  amount_paid: field.amount,
  total: field.amount,
  total_excluding_tax: field.amount,
});
type InvoicePayment = z.output<typeof invoicePaymentShape>;

export const invoiceTaxes = list({
  name: "invoice_payments",
  query: ({ from }) => ({
    status: "paid",
    "expand[]": "data.invoice",
    "created[gte]": seconds(from - invoicesBeforeMs),
  }),
  row: invoicePaymentShape,
  found: (rows) => ({ taxes: rows.flatMap(taxOfInvoice) }),
});

/** What a credit balance paid of the invoice has its share of the tax. */
function taxOfInvoice({ currency, payment, ...paid }: InvoicePayment): ListedTax[] {
  const { data: invoice } = invoiceShape.safeParse(paid.invoice);
  const id = payment.payment_intent ?? payment.charge;
  if (id === null || invoice === undefined) return [];
  const { id: purchase, total } = invoice;
  const amount = paid.amount_paid ?? 0n;
  const isOnly = amount > 0n && amount === invoice.amount_paid && total > 0n;
  if (!isOnly) return [{ payment: id, purchase, tax: null }];
  const all = isoMinor(total - invoice.total_excluding_tax, currency);
  const tax = amount < total ? divideRounded(all * amount, total) : all;
  return [{ payment: id, purchase, tax }];
}

const sessionShape = z.object({
  id: field.id,
  payment_status: z.string().nullish(),
  currency: field.currency.nullish(),
  payment_intent: field.reference,
  total_details: z.object({ amount_tax: field.amount.nullish() }).nullish(),
});

export const sessionTaxes = list({
  name: "checkout/sessions",
  query: ({ from }) => ({ status: "complete", "created[gte]": seconds(from - sessionsBeforeMs) }),
  row: sessionShape,
  found: (rows) => ({ taxes: rows.flatMap(taxOfSession) }),
});

function taxOfSession(session: z.output<typeof sessionShape>): ListedTax[] {
  const { id, payment_intent: payment, currency, payment_status: status } = session;
  const tax = session.total_details?.amount_tax ?? null;
  if (status !== "paid" || payment === null || !currency || tax === null) return [];
  return [{ payment, purchase: id, tax: isoMinor(tax, currency) }];
}

/** Newest first, as all of Stripe's lists. */
function list<Row extends { readonly id: string }>(of: {
  /** The path of the list, too. */
  readonly name: string;
  readonly query: (span: Span) => Readonly<Record<string, string>>;
  readonly row: z.ZodType<Row>;
  readonly found: (rows: readonly Row[]) => Partial<HistoryPage>;
}): HistoryList {
  const page = z.object({
    object: z.literal("list"),
    data: z.array(of.row),
    has_more: z.boolean(),
  });
  return {
    name: of.name,
    reportsPayments: false,
    path(span, after) {
      const query = new URLSearchParams({
        limit: `${pageObjects}`,
        ...of.query(span),
        "created[lte]": seconds(span.to),
        ...(after !== null && { starting_after: after }),
      });
      return `/v1/${of.name}?${query.toString()}`;
    },
    read(answer) {
      const parsed = page.safeParse(answer);
      if (!parsed.success) return null;
      const { data, has_more: hasMore } = parsed.data;
      const next = hasMore ? (data.at(-1)?.id ?? null) : null;
      return { ...nothingListed, objects: data.length, ...of.found(data), next };
    },
  };
}
