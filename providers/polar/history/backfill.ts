/**
 * Polar's history, reported as events. Lists are in pages by number: oldest first, what is added
 * meanwhile comes at the end; refunds, which cannot be asked for by date, newest first, so that
 * what is added makes some come twice. Sources: polar.sh/docs, API: pagination, list
 * orders, list refunds, list subscriptions, list products; docs/providers/polar.md, History.
 */
import { z } from "zod";
import type { Backfill, HistoryEvent, HistoryList, ListedPayment, Span } from "../../backfill.js";
import { anyObject } from "../../fields.js";
import { isPaid, orderShape } from "../orders.js";
import { type Reported, subscriptionHistory } from "./subscriptions.js";

const page = z.object({
  items: z.array(anyObject),
  pagination: z.object({ max_page: z.int() }),
});
type Listed = z.output<typeof page>["items"][number];

/** The most one page holds. */
const pageObjects = 100;
const newestFirst = "-created_at";

export const polarBackfill: Backfill = {
  lists: [
    // Of any date, as are subscriptions: what names things, and what may still count.
    list("products", "created_at", (product) => [stateOf("product.updated", product)]),
    list("subscriptions", "started_at", subscriptionHistory),
    list("orders", "created_at", (order) => [stateOf("order.updated", order)], paidBy),
    list("refunds", newestFirst, (refund) => [stateOf("refund.updated", refund)]),
  ],
  missing: [
    "Polar keeps no earlier prices: a subscription counts as if its last price had always been " +
      "its price.",
    "Earlier pauses of a subscription are not known.",
    "Payments from before the first day are not read, nor what became of them.",
    "Chargebacks are reported nowhere but in Polar's payouts.",
  ],
  notCompared: ["Chargebacks, which Polar's lists of orders and refunds do not show."],
};

function list(
  name: string,
  sorting: string,
  report: (object: Listed) => readonly Reported[],
  paid?: (object: Listed) => ListedPayment[],
): HistoryList {
  const isDated = paid !== undefined || sorting === newestFirst;
  return {
    name,
    reportsPayments: paid !== undefined,
    path(span, after) {
      const query = new URLSearchParams({
        page: after ?? "1",
        limit: `${pageObjects}`,
        sorting,
        // Only orders can be asked for by date; both ends are exclusive.
        ...(paid !== undefined && {
          created_after: new Date(span.from - 1).toISOString(),
          ...(Number.isFinite(span.to) && {
            created_before: new Date(span.to + 1).toISOString(),
          }),
        }),
      });
      return `/v1/${name}/?${query.toString()}`;
    },
    read(answer, _asOf, span, after) {
      const parsed = page.safeParse(answer);
      if (!parsed.success) return null;
      const { items, pagination } = parsed.data;
      const number = Number(after ?? "1");
      const within = isDated ? items.filter((one) => isWithin(one, span)) : items;
      const isLast = number >= pagination.max_page;
      const times = items.map(createdAt);
      const isPast = sorting === newestFirst && Math.min(...times) < span.from;
      return {
        objects: within.length,
        events: within.flatMap((one) => report(one).map(eventOf)),
        payments: paid === undefined ? [] : within.flatMap(paid),
        next: isLast || isPast ? null : `${number + 1}`,
        through: paid === undefined ? null : { from: span.from, to: Math.max(...times, span.from) },
      };
    },
  };
}

/** What has no date is read. */
function isWithin(object: Listed, { from, to }: Span): boolean {
  const at = createdAt(object);
  return !(at < from || at > to);
}

function createdAt(object: Listed): number {
  return Date.parse(String(object["created_at"]));
}

/** As it is now, which it has been since it was last changed. */
function stateOf(type: string, data: Listed): Reported {
  return { type, at: data["modified_at"] ?? data["created_at"], data };
}

function eventOf({ type, at, data, once }: Reported): HistoryEvent {
  const body = { type, timestamp: at, data };
  return { nativeId: `history:${type}:${String(data["id"])}:${once ?? String(at)}`, body };
}

function paidBy(object: Listed): ListedPayment[] {
  const { success, data: order } = orderShape.safeParse(object);
  if (!success || !isPaid(order)) return [];
  const { id: payment, created_at: at, currency, amount, refunded, tax, fee } = order;
  return [{ payment, at, currency, amount, refunded, tax, fee }];
}
