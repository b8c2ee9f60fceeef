/**
 * Polar's history, reported as events. Lists are in pages by number: oldest first, what is added
 * meanwhile comes at the end; refunds, which cannot be asked for by date, newest first, so that
 * what is added makes some come twice. Sources: polar.sh/docs, API: pagination, list
 * orders, list refunds, list subscriptions, list products; docs/providers/polar.md, History.
 */
import { z } from "zod";
import {
  type Backfill,
  type HistoryEvent,
  type HistoryList,
  isWithin,
  type ListedPayment,
} from "../../backfill.js";
import { anyObject } from "../../fields.js";
import { disputeShape, disputeType, lostStatus } from "../disputes.js";
import { isPaid, orderShape } from "../orders.js";

const page = z.object({
  items: z.array(anyObject),
  pagination: z.object({ max_page: z.int() }),
});
type Listed = z.output<typeof page>["items"][number];

/** The most one page holds. */
const pageObjects = 100;
const newestFirst = "-created_at";

interface List {
  readonly name: string;
  readonly sorting: string;
  readonly report: (object: Listed) => readonly Reported[];
  /** How it is kept to a span; left out: all counts, of whatever date. */
  readonly kept?: "asked for" | "left at older ones" | "looked through";
  /** When it counts; left out: when it was created. */
  readonly at?: (object: Listed) => number;
  readonly only?: Readonly<Record<string, string>>;
  /** What it says was paid, or taken by disputes. */
  readonly listed?: (object: Listed) => ListedPayment[];
}

/** Those that moved money. One may be lost long after it was made, and so all are looked at. */
const disputes = list({
  name: "disputes",
  sorting: newestFirst,
  only: { status: lostStatus },
  report: (dispute) => [stateOf(disputeType, dispute)],
  kept: "looked through",
  at: (dispute) => disputeShape.safeParse(dispute).data?.at ?? createdAt(dispute),
  listed: takenBy,
});

export const polarBackfill: Backfill = {
  lists: [
    // Of any date, as are subscriptions: what names things, and what may still count.
    list({
      name: "products",
      sorting: "created_at",
      report: (product) => [stateOf("product.updated", product)],
    }),
    list({ name: "subscriptions", sorting: "started_at", report: subscriptionHistory }),
    {
      ...list({
        name: "orders",
        sorting: "created_at",
        report: (order) => [stateOf("order.updated", order)],
        kept: "asked for",
        listed: paidBy,
      }),
      reportsPayments: true,
    },
    list({
      name: "refunds",
      sorting: newestFirst,
      report: (refund) => [stateOf("refund.updated", refund)],
      kept: "left at older ones",
    }),
    disputes,
  ],
  comparedBesides: [disputes],
  missing: [
    "Polar keeps no earlier prices: a subscription counts as if its last price had always been " +
      "its price.",
    "Earlier pauses of a subscription are not known.",
    "Payments from before the first day are not read, nor what became of them.",
    "When a dispute was lost is not kept: it is dated by its last change.",
  ],
  notCompared: ["Disputes that are open or won: Polar takes no money for them."],
};

function list({ name, sorting, report, kept, at = createdAt, only, listed }: List): HistoryList {
  return {
    name,
    reportsPayments: false,
    path(span, after) {
      const query = new URLSearchParams({
        page: after ?? "1",
        limit: `${pageObjects}`,
        sorting,
        ...only,
        // Only orders can be asked for by date; both ends are exclusive.
        ...(kept === "asked for" && {
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
      const within = kept === undefined ? items : items.filter((one) => isWithin(at(one), span));
      const isLast = number >= pagination.max_page;
      const times = items.map(at);
      const isPast = kept === "left at older ones" && Math.min(...times) < span.from;
      const isInOrder = kept === "asked for";
      return {
        objects: within.length,
        events: within.flatMap((one) => report(one).map(eventOf)),
        payments: listed === undefined ? [] : within.flatMap(listed),
        next: isLast || isPast ? null : `${number + 1}`,
        through: isInOrder ? { from: span.from, to: Math.max(...times, span.from) } : null,
      };
    },
  };
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

function takenBy(object: Listed): ListedPayment[] {
  const { data } = disputeShape.safeParse(object);
  if (data === undefined || data.total === 0n) return [];
  const { id: dispute, order_id: payment, at, currency, total: amount } = data;
  return [{ payment, dispute, at, currency, amount, refunded: 0n }];
}

/**
 * What a subscription's present state reveals about its past: that it began, when its trial became
 * paid, what it is worth now, when it ended. Earlier prices are kept nowhere; it is reported as if
 * the last had always been its price.
 */
type Fields = Readonly<Record<string, unknown>>;

/** What an object reports, before its event gets an id. */
interface Reported {
  readonly type: string;
  /** As Polar writes a time. */
  readonly at: unknown;
  readonly data: Fields;
  /** As first read, for good: a later reading of the same past knows no better. Its name. */
  readonly once?: string;
}

function subscriptionHistory(now: Fields): Reported[] {
  const { status, created_at: madeAt, started_at: startedAt, trial_start: trialStart } = now;
  // Never paid, or not yet.
  if (status === "incomplete" || status === "incomplete_expired") return [];
  const begun = startedAt ?? madeAt;
  const active = { ...now, status: "active", ended_at: null, paused_at: null };
  const trialing = { ...active, status: "trialing" };
  const hadTrial = typeof trialStart === "string";
  // It may have got one later, on top of what was paid.
  const beganOnTrial = hadTrial && timeOf(trialStart) - timeOf(begun) < dayMs;
  const reported: Reported[] = [
    {
      type: "subscription.created",
      at: begun,
      data: beganOnTrial ? trialing : active,
      once: "begun",
    },
  ];
  if (hadTrial && !beganOnTrial) {
    const at = trialStart;
    reported.push({ type: "subscription.updated", at, data: trialing, once: `trial:${at}` });
  }
  const paidFrom = hadTrial ? paidAfterTrial(now) : null;
  if (paidFrom !== null) {
    const at = paidFrom;
    reported.push({ type: "subscription.updated", at, data: active, once: `paid:${at}` });
  }
  const isOver = status === "canceled";
  const type = isOver ? "subscription.revoked" : "subscription.updated";
  const { ended_at: endedAt, modified_at: modifiedAt } = now;
  const at = (isOver ? endedAt : null) ?? modifiedAt ?? madeAt;
  return [...reported, { type, at, data: now }];
}

const dayMs = 24 * 60 * 60 * 1000;

/** The trial's end, where it did not end with the subscription and is not still to come. */
function paidAfterTrial({ status, trial_end: end, ended_at: endedAt }: Fields): string | null {
  if (typeof end !== "string" || status === "trialing") return null;
  return typeof endedAt === "string" && timeOf(endedAt) <= timeOf(end) ? null : end;
}

function timeOf(text: unknown): number {
  return Date.parse(String(text));
}
