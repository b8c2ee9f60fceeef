/**
 * Paddle's history, reported as events. What Paddle does not keep cannot be reported: see
 * docs/providers/paddle.md, History. Its event stream is not read: docs/decisions/providers.md.
 */
import { z } from "zod";
import type { Backfill, HistoryEvent, HistoryList, ListedPayment, Span } from "../../backfill.js";
import { historyId, listedPayments, type Reported } from "../../history-events.js";
import { decode } from "../decode.js";
import { field } from "../event.js";
import { paidAtOf } from "../transactions.js";
import { paddleFigures } from "./metrics.js";
import { type HistoryObject, object, pageOf, rfc3339 } from "./object.js";
import { subscriptionHistory } from "./subscriptions.js";

const dayMs = 24 * 60 * 60 * 1000;
/** An invoice may be paid so long after it was billed, and its payment is dated when it was. */
const billedBeforeMs = 90 * dayMs;

const page = pageOf(object);

interface List {
  readonly name: string;
  readonly path: string;
  readonly query: (span: Span) => Readonly<Record<string, string>>;
  readonly report: (object: HistoryObject, asOf: number) => readonly Reported[];
  /** What happened before the span is left out; absent: all counts, of whatever date. */
  readonly happenedAt?: (object: HistoryObject) => number | null;
  /** It cannot be asked for a span: it is left at the first object that is older. */
  readonly takesNoDates?: true;
  /** What it says was paid, or taken by disputes. */
  readonly listed?: (object: HistoryObject) => readonly ListedPayment[];
}

export const paddleBackfill: Backfill = {
  lists: [
    list({
      name: "products",
      path: "/products",
      query: () => ({ per_page: "200", status: "active,archived" }),
      report: (product, asOf) => [{ type: "product.updated", at: asOf, object: product }],
    }),
    list({
      name: "discounts",
      path: "/discounts",
      query: () => ({ per_page: "200", status: "active,archived" }),
      report: (discount, asOf) => [{ type: "discount.updated", at: asOf, object: discount }],
    }),
    list({
      name: "customers",
      path: "/customers",
      query: () => ({ per_page: "200", status: "active,archived" }),
      report: (customer, asOf) => [{ type: "customer.updated", at: asOf, object: customer }],
    }),
    // Of any date: one that began long ago may still count.
    list({
      name: "subscriptions",
      path: "/subscriptions",
      query: () => ({ per_page: "200", status: "active,canceled,past_due,paused,trialing" }),
      report: subscriptionHistory,
    }),
    list({
      name: "transactions",
      path: "/transactions",
      query: ({ from, to }) => ({
        per_page: "30",
        status: "completed",
        "billed_at[GTE]": rfc3339(from - billedBeforeMs),
        "billed_at[LTE]": rfc3339(to),
        // The address saves a call for the customer's country; the totals say what was refunded.
        include: "address,adjustments_totals",
      }),
      report: (transaction, asOf) => [
        { type: "transaction.completed", at: asOf, object: transaction },
      ],
      happenedAt: paidAtOf,
      listed: listedPayment,
    }),
    list({
      name: "adjustments",
      path: "/adjustments",
      query: () => ({ per_page: "50" }),
      report: adjustmentHistory,
      happenedAt: createdAtOf,
      takesNoDates: true,
    }),
  ],
  ownFigures: paddleFigures,
  comparedBesides: [chargebacks("chargeback"), chargebacks("chargeback_reverse")],
  missing: [
    "Paddle keeps no earlier prices, quantities or discounts: a subscription counts as if its " +
      "present ones had always been its own.",
    "Pauses that ended are not known: the subscription counts for the time between.",
    "When a refund was approved is not kept: it is dated by its last change.",
    "Sales of Paddle Classic are not read.",
  ],
  notCompared: ["Invoices that were paid more than 90 days after they were billed are not listed."],
};

/** Read only to be compared, and so not as booking reads them. One action can be asked for. */
function chargebacks(action: "chargeback" | "chargeback_reverse"): HistoryList {
  return list({
    name: `adjustments (${action})`,
    path: "/adjustments",
    query: () => ({ per_page: "50", action }),
    report: () => [],
    happenedAt: createdAtOf,
    takesNoDates: true,
    listed: disputedIn,
  });
}

function list({ name, path, query, report, happenedAt, takesNoDates, listed }: List): HistoryList {
  return {
    name,
    reportsPayments: listed !== undefined,
    path(span, after) {
      const asked = new URLSearchParams({ order_by: "id[DESC]", ...query(span) });
      if (after !== null) asked.set("after", after);
      return `${path}?${asked.toString()}`;
    },
    read(answer, asOf, span) {
      const parsed = page.safeParse(answer);
      if (!parsed.success) return null;
      const { data, meta } = parsed.data;
      const { cursor } = meta.pagination;
      const wanted = data.filter((one) => (happenedAt?.(one) ?? span.from) >= span.from);
      const oldestAt = data.length === 0 ? null : createdAtOf(data.at(-1));
      const isDated = happenedAt !== undefined && oldestAt !== null;
      const isOver = isDated && takesNoDates === true && oldestAt < span.from;
      return {
        objects: data.length,
        events: wanted.flatMap((one) =>
          report(one, asOf).map((reported) => eventOf(reported, one)),
        ),
        payments: listed === undefined ? [] : wanted.flatMap(listed),
        next: data.length === 0 || isOver ? null : cursor,
        through: isDated ? { from: oldestAt, to: span.to } : null,
      };
    },
  };
}

const dated = z.object({ created_at: field.time });

function createdAtOf(one: unknown): number | null {
  return dated.safeParse(one).data?.created_at ?? null;
}

function eventOf(reported: Reported, source: HistoryObject): HistoryEvent {
  const { type, at, object: data } = reported;
  const nativeId = historyId(source.id, reported, { passing, reading: `${at}` });
  return {
    nativeId,
    body: { event_id: nativeId, event_type: type, occurred_at: rfc3339(at), data },
  };
}

/** Links, counts of use, and what is worked out of other objects. */
const passing =
  /^(updated_at|management_urls|checkout|times_used|adjusted_.*|payout_totals|adjustments_totals)$/;

const refundedShape = z.object({
  adjustments_totals: z.object({ breakdown: z.object({ refund: field.amount }) }).nullish(),
});

function listedPayment(transaction: HistoryObject): ListedPayment[] {
  const at = createdAtOf(transaction) ?? 0;
  const reported = { type: "transaction.completed", at, object: transaction };
  const totals = refundedShape.safeParse(transaction).data?.adjustments_totals;
  const refunded = totals?.breakdown.refund ?? 0n;
  return listedPayments(decode(eventOf(reported, transaction).body), refunded);
}

const chargebackShape = z.object({
  action: z.enum(["chargeback", "chargeback_reverse"]),
  status: z.enum(["approved", "reversed"]),
  transaction_id: field.id,
  currency_code: field.currency,
  created_at: field.time,
  totals: z.object({ total: field.amount }),
});

/** One that was given back is marked `reversed`, but its money was taken all the same. */
function disputedIn(adjustment: HistoryObject): ListedPayment[] {
  const { data } = chargebackShape.safeParse(adjustment);
  if (data === undefined || data.totals.total === 0n) return [];
  const { transaction_id: payment, created_at: at, currency_code: currency } = data;
  const isOut = data.action === "chargeback";
  const { total } = data.totals;
  const money = { amount: isOut ? total : 0n, refunded: isOut ? 0n : total };
  return [{ payment, dispute: adjustment.id, at, currency, ...money }];
}

/** Adjustments as the list has them: their present status, of which the past follows. */
const adjustmentShape = z.object({
  action: z.string(),
  status: z.string(),
  created_at: field.time,
  updated_at: field.time.nullish(),
});

/**
 * A refund that waits for its approval moves no money yet. A chargeback that was given back is
 * marked `reversed`, but its money was taken all the same when it was made; the return is an
 * adjustment of its own.
 */
function adjustmentHistory(adjustment: HistoryObject, asOf: number): Reported[] {
  const { data } = adjustmentShape.safeParse(adjustment);
  // Reported as it is: the adapter says what is wrong with it.
  if (data === undefined) return [{ type: "adjustment.updated", at: asOf, object: adjustment }];
  const { action, status, created_at: createdAt } = data;
  if (action === "chargeback" || action === "chargeback_reverse") {
    const isMoney = status === "approved" || status === "reversed";
    const moved = isMoney ? { ...adjustment, status: "approved" } : adjustment;
    return [{ type: "adjustment.created", at: createdAt, object: moved }];
  }
  if (action === "refund" && status === "pending_approval") return [];
  // Where it was never changed, that date is of the year 1.
  const changedAt = Math.max(createdAt, data.updated_at ?? createdAt);
  return [{ type: "adjustment.updated", at: changedAt, object: adjustment }];
}
