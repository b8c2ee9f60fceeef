/**
 * Lemon Squeezy's history, reported as events. Its lists are newest first, in pages by number: what
 * is added meanwhile makes objects come twice, and passes none over. They cannot be asked for a
 * span. Sources: docs.lemonsqueezy.com, API: pagination, List All Orders, List All Subscription
 * Invoices; docs/providers/lemonsqueezy.md, History.
 */
import { z } from "zod";
import { anyObject } from "../../fields.js";
import {
  type Backfill,
  type HistoryEvent,
  type HistoryList,
  isWithin,
  type ListedPayment,
} from "../../backfill.js";
import { heading } from "../event.js";
import { invoicePayment } from "../invoices.js";
import { isPaid, moneyFields, refundedOf } from "../money.js";
import { orderPayment } from "../orders.js";
import { type Included, type Reported, subscriptionHistory } from "./subscriptions.js";

const listed = z.object({ type: z.string(), id: z.string(), attributes: anyObject });
type HistoryObject = z.output<typeof listed>;

const page = z.object({
  meta: z.object({ page: z.object({ currentPage: z.int(), lastPage: z.int() }) }),
  data: z.array(listed),
  included: z.array(listed).optional(),
});

/** A webhook is of one store, a key of an account. */
interface Store {
  readonly store_id?: string | undefined;
}

/** The most one page holds. */
const pageObjects = 100;
/** With all their invoices: a hundred could be more than an answer may have. */
const pageSubscriptions = 25;

export const lemonSqueezyBackfill: Backfill<Store> = {
  lists: [
    list("orders", "/v1/orders", {
      report: (order) => [moneyEvent(order, ["order_created", "order_refunded"])],
      paid: ({ id, attributes }) => listedPayment(orderPayment(id), attributes),
    }),
    // Of any date: one that began long ago may still count.
    list("subscriptions", "/v1/subscriptions", {
      hasAnyDate: true,
      size: pageSubscriptions,
      include: "order,subscription-invoices",
      report: subscriptionHistory,
    }),
    list("subscription_invoices", "/v1/subscription-invoices", {
      report: (invoice) => [
        moneyEvent(invoice, ["subscription_payment_success", "subscription_payment_refunded"]),
      ],
      paid: ({ id, attributes }) =>
        // The payment of the order, which has its own list.
        attributes["billing_reason"] === "initial"
          ? []
          : listedPayment(invoicePayment(id), attributes),
    }),
  ],
  missing: [
    "Lemon Squeezy keeps no earlier prices: a subscription counts as if its last price had " +
      "always been its price.",
    "Earlier pauses of a subscription are not known, nor since when it is paused or unpaid: it " +
      "counts until its last change.",
    "Of several refunds of one payment only the last is dated.",
    "Payments from before the first day are not read, nor what became of them.",
    "Fees and disputes are reported nowhere.",
  ],
  notCompared: ["Disputes are listed nowhere."],
};

function list(
  name: string,
  path: string,
  {
    report,
    paid,
    include,
    size = pageObjects,
    hasAnyDate = false,
  }: {
    readonly report: (object: HistoryObject, included: Included) => readonly Reported[];
    readonly paid?: (object: HistoryObject) => ListedPayment[];
    /** Objects it refers to, on the same page. */
    readonly include?: string;
    readonly size?: number;
    /** Objects of before the span count, too. */
    readonly hasAnyDate?: boolean;
  },
): HistoryList<Store> {
  return {
    name,
    reportsPayments: paid !== undefined,
    path(_span, after, credentials) {
      const store = credentials?.store_id;
      const query = new URLSearchParams({
        "page[number]": after ?? "1",
        "page[size]": `${size}`,
        ...(store !== undefined && { "filter[store_id]": store }),
        ...(include !== undefined && { include }),
      });
      return `${path}?${query.toString()}`;
    },
    read(answer, _asOf, span) {
      const parsed = page.safeParse(answer);
      if (!parsed.success) return null;
      const { data, included = [], meta } = parsed.data;
      const { currentPage, lastPage } = meta.page;
      const from = hasAnyDate ? 0 : span.from;
      const within = data.filter((one) => isWithin(createdAt(one), { from, to: span.to }));
      const oldest = Math.min(...data.map(createdAt));
      return {
        objects: within.length,
        events: within.flatMap((one) => report(one, included).map((each) => eventOf(each, one))),
        payments: paid === undefined ? [] : within.flatMap(paid),
        // Newest first: what has no date is no end.
        next: currentPage < lastPage && !(oldest < from) ? `${currentPage + 1}` : null,
        through: hasAnyDate || !Number.isFinite(oldest) ? null : { from: oldest, to: span.to },
      };
    },
  };
}

function createdAt({ attributes }: HistoryObject): number {
  return Date.parse(String(attributes["created_at"]));
}

const money = z.object(moneyFields);

/** Dates a refund by `refunded_at`: `updated_at` moves when anything else changes, too. */
function moneyEvent(
  { attributes }: HistoryObject,
  [paidName, refundedName]: readonly [paid: string, refunded: string],
): Reported {
  const parsed = money.safeParse(attributes);
  if (!parsed.success || refundedOf(parsed.data) === 0n) return { name: paidName, attributes };
  const { refunded_at: refundedAt, updated_at: updatedAt } = attributes;
  return { name: refundedName, attributes: { ...attributes, updated_at: refundedAt ?? updatedAt } };
}

function listedPayment(payment: string, attributes: HistoryObject["attributes"]): ListedPayment[] {
  const parsed = money.safeParse(attributes);
  if (!parsed.success || !isPaid(parsed.data)) return [];
  const { created_at: at, currency, total: amount, tax = null } = parsed.data;
  return [{ payment, at, currency, amount, refunded: refundedOf(parsed.data), tax }];
}

function eventOf({ name, attributes, once }: Reported, { type, id }: HistoryObject): HistoryEvent {
  const body = { meta: { event_name: name }, data: { type, id, attributes } };
  const state = once === undefined ? heading(body)?.nativeId : `${type}:${id}:${once}`;
  return { nativeId: `history:${state}`, body };
}
