/**
 * Stripe's history, reported as events. What Stripe does not keep cannot be reported: see
 * docs/providers/stripe.md, History.
 */
import { z } from "zod";
import { seconds } from "../event.js";
import type { Backfill, HistoryEvent, HistoryList, ListedPayment, Span } from "../../backfill.js";
import { historyId, listedPayments } from "../../history-events.js";
import { apiVersion } from "../api.js";
import { refundedAsListed } from "../charges.js";
import { decode } from "../decode.js";
import {
  disputedMoney,
  invoicesBeforeMs,
  invoiceTaxes,
  sessionsBeforeMs,
  sessionTaxes,
} from "./compared.js";
import { type HistoryObject, object, type Reported, subscriptionHistory } from "./subscriptions.js";
import { isPaidInPart } from "../invoices.js";
import { reportsAllLines } from "../purchases.js";

const pageObjects = 100;
const page = z.object({ object: z.literal("list"), data: z.array(object), has_more: z.boolean() });

/** This list and the next are also read for one purchase (payments.ts). */
export const expandedInCharges = {
  "expand[0]": "data.balance_transaction",
  "expand[1]": "data.refunds",
} as const;
export const charges = list(
  "charges",
  "/v1/charges",
  ({ from }) => from,
  chargeHistory,
  expandedInCharges,
);
export const invoicePayments = list(
  "invoice_payments",
  "/v1/invoice_payments",
  ({ from }) => from - invoicesBeforeMs,
  (paid, asOf) => [{ type: "invoice_payment.paid", at: asOf, object: paid }],
  { status: "paid" },
);

export const stripeBackfill: Backfill = {
  lists: [
    list("products", "/v1/products", null, (product, asOf) => [
      { type: "product.updated", at: asOf, object: product },
    ]),
    // Of any date: one that began long ago may still count.
    list("subscriptions", "/v1/subscriptions", null, subscriptionHistory, {
      status: "all",
      // A coupon that was deleted is reported nowhere else. Those of items lie too deep to be
      // expanded.
      "expand[0]": "data.discounts.source.coupon",
      "expand[1]": "data.items.data.discounts",
    }),
    charges,
    list("invoices", "/v1/invoices", ({ from }) => from - invoicesBeforeMs, invoiceHistory),
    invoicePayments,
    list(
      "checkout_sessions",
      "/v1/checkout/sessions",
      ({ from }) => from - sessionsBeforeMs,
      sessionHistory,
      { status: "complete", "expand[0]": "data.line_items" },
    ),
    list("refunds", "/v1/refunds", ({ from }) => from, refundHistory, {
      "expand[]": "data.failure_balance_transaction",
    }),
    list(
      "disputes",
      "/v1/disputes",
      ({ from }) => from,
      (dispute, asOf) => [{ type: "charge.dispute.updated", at: asOf, object: dispute }],
    ),
    list("credit_notes", "/v1/credit_notes", ({ from }) => from, creditNoteHistory),
  ],
  comparedBesides: [disputedMoney, invoiceTaxes, sessionTaxes],
  missing: [
    "Stripe keeps no earlier prices: a subscription counts as if its last price had always been " +
      "its price.",
    "Since when a subscription is paused or unpaid is not known: it counts until this reading.",
    "Of several trials of a subscription only the last is known.",
    "Deleted products keep their id as their name.",
    "Charges of connected accounts are not read.",
    "Payments outside Stripe are read, but Stripe has no list to compare them with.",
  ],
  notCompared: [
    "Payments outside Stripe are in none of its lists.",
    "Charges and disputes of connected accounts are not listed.",
    "The tax of an invoice that was paid in parts is not listed by payment.",
  ],
  // An invoice that was paid outside Stripe is a payment by its own id.
  canBeListed: (payment) => !payment.startsWith("in_"),
};

/** @param since the earliest `created` listed; null: all of them */
function list(
  name: string,
  path: string,
  since: ((span: Span) => number) | null,
  report: (object: HistoryObject, asOf: number) => readonly Reported[],
  more: Readonly<Record<string, string>> = {},
): HistoryList {
  return {
    name,
    reportsPayments: name === "charges",
    path(span, after) {
      const query = new URLSearchParams({ limit: `${pageObjects}`, ...more });
      if (since !== null) {
        query.set("created[gte]", seconds(since(span)));
        query.set("created[lte]", seconds(span.to));
      }
      if (after !== null) query.set("starting_after", after);
      return `${path}?${query.toString()}`;
    },
    read(answer, asOf, span) {
      const parsed = page.safeParse(answer);
      if (!parsed.success) return null;
      const { data, has_more: hasMore } = parsed.data;
      const oldest = data.at(-1);
      const isDated = since !== null && oldest !== undefined;
      return {
        objects: data.length,
        // Worked out when asked for: reading takes the events, comparing the payments.
        get events() {
          return data.flatMap((one) => report(one, asOf).map((said) => eventOf(said, one)));
        },
        get payments() {
          return name === "charges" ? data.flatMap(listedPayment) : [];
        },
        next: hasMore ? (oldest?.id ?? null) : null,
        // Newest first.
        through: isDated ? { from: oldest.created * 1000, to: span.to } : null,
      };
    },
  };
}

/**
 * Refunds have a list of their own, which dates them; the charge's total, which does not, would
 * only say the same again.
 */
function chargeHistory(charge: HistoryObject, asOf: number): Reported[] {
  if (charge.paid !== true) return [];
  const { amount_refunded: _total, refunds: _some, ...rest } = charge;
  return [{ type: "charge.updated", at: asOf, object: rest }];
}

/** One that is open, or was given up, may be paid in part: one status cannot be asked for. */
function invoiceHistory(invoice: HistoryObject, asOf: number): Reported[] {
  if (invoice.status === "paid") return [{ type: "invoice.paid", at: asOf, object: invoice }];
  return isPaidInPart(invoice) ? [{ type: "invoice.updated", at: asOf, object: invoice }] : [];
}

/**
 * What was sold without an invoice. Where the list leaves out some of its lines, which are asked
 * for then, what a webhook reported counts.
 */
function sessionHistory(session: HistoryObject, asOf: number): Reported[] {
  if (session.payment_status !== "paid" || typeof session.payment_intent !== "string") return [];
  const at = reportsAllLines(session) ? asOf : session.created * 1000;
  return [{ type: "checkout.session.completed", at, object: session }];
}

/** When a refund failed is the date of the money that came back. */
function refundHistory(refund: HistoryObject, asOf: number): Reported[] {
  const back = refund.failure_balance_transaction;
  const isDated = typeof back === "object" && back !== null && "created" in back;
  const failedAt = isDated && typeof back.created === "number" ? back.created * 1000 : null;
  const failed = refund.status === "failed" || refund.status === "canceled";
  const at = failed ? (failedAt ?? refund.created * 1000) : asOf;
  return [{ type: "refund.updated", at, object: refund }];
}

/** One that was voided gives back what it took when it was. */
function creditNoteHistory(note: HistoryObject, asOf: number): Reported[] {
  const voidedAt = typeof note.voided_at === "number" ? note.voided_at * 1000 : null;
  return [{ type: "credit_note.updated", at: voidedAt ?? asOf, object: note }];
}

function eventOf(given: Reported, source: HistoryObject): HistoryEvent {
  const nativeId = historyId(source.id, given, { passing, reading: seconds(given.at) });
  return { nativeId, body: bodyOf(nativeId, given, source) };
}

function bodyOf(id: string, { type, at, object: reported, previous }: Reported, of: HistoryObject) {
  return {
    id,
    object: "event",
    api_version: apiVersion,
    created: Math.floor(at / 1000),
    data: {
      object: reported,
      ...(previous === undefined ? {} : { previous_attributes: previous }),
    },
    ...(of.livemode === undefined ? {} : { livemode: of.livemode }),
    type,
  };
}

/** Links to receipts; of a coupon how often it was used, and whether it still can be. */
const passing = /_(url|pdf)$|^(times_redeemed|valid)$/;

function listedPayment(charge: HistoryObject): ListedPayment[] {
  const at = charge.created * 1000;
  const body = bodyOf("", { type: "charge.updated", at, object: charge }, charge);
  return listedPayments(decode(body), refundedAsListed(charge) ?? 0n);
}
