/**
 * Chargebee's history, reported as events: its lists carry the objects that events carry, in the
 * same versions. Sources: apidocs.chargebee.com: pagination and filters, list transactions, list
 * invoices, list subscriptions, list item prices; docs/providers/chargebee.md, History.
 */
import { z } from "zod";
import type { Backfill, HistoryEvent, HistoryList, ListedPayment } from "../../backfill.js";
import { anyObject } from "../../fields.js";
import { isoFactor } from "../event.js";
import { isPaid, transactionShape } from "../transactions.js";

const page = z.object({
  list: z.array(z.record(z.string(), z.unknown())),
  next_offset: z.string().nullish(),
});
type Listed = z.output<typeof anyObject>;

/** The most one page holds. */
const pageObjects = 100;

export const chargebeeBackfill: Backfill = {
  lists: [
    // Of any date, as are subscriptions: what names things, and what may still count.
    list("item_price", (one) => [stateOf("item_price_updated", "item_price", one)]),
    list("coupon", (one) => [stateOf("coupon_updated", "coupon", one)]),
    list("subscription", subscriptionHistory),
    list("invoice", (one) => [stateOf("invoice_updated", "invoice", one)], { isDated: true }),
    list("transaction", (one) => [stateOf("transaction_updated", "transaction", one)], {
      isDated: true,
      paid: paidBy,
    }),
  ],
  missing: [
    "Chargebee's lists show no earlier prices: a subscription counts as if its last price had " +
      "always been its price.",
    "Earlier pauses and cancellations of a subscription are not known.",
    "Payments from before the first day are not read, nor what became of them.",
    "Fees of the gateways are reported nowhere.",
  ],
  notCompared: [
    "A chargeback is a refund in its list, and a dispute here: its month ends as different.",
    "Payments through Stripe are Stripe's here where it is connected, too: they are missing.",
  ],
};

function list(
  name: "item_price" | "coupon" | "subscription" | "invoice" | "transaction",
  report: (object: Listed) => readonly Reported[],
  {
    isDated = false,
    paid,
  }: { readonly isDated?: boolean; readonly paid?: (object: Listed) => ListedPayment[] } = {},
): HistoryList {
  return {
    name: `${name}s`,
    reportsPayments: paid !== undefined,
    path({ from, to }, after) {
      const between = [from, Math.min(to, latest)].map((time) => Math.floor(time / 1000));
      const query = new URLSearchParams({
        limit: `${pageObjects}`,
        ...(isDated && { "sort_by[asc]": "date", "date[between]": JSON.stringify(between) }),
        ...(after !== null && { offset: after }),
      });
      return `/api/v2/${name}s?${query.toString()}`;
    },
    read(answer, _asOf, span) {
      const parsed = page.safeParse(answer);
      if (!parsed.success) return null;
      const objects = parsed.data.list.flatMap((entry) => {
        const object = anyObject.safeParse(entry[name]);
        return object.success ? [object.data] : [];
      });
      const newest = Math.max(span.from, ...objects.map(({ date }) => Number(date) * 1000));
      return {
        objects: objects.length,
        events: objects.flatMap((one) => report(one).map((each) => eventOf(each, one))),
        payments: paid === undefined ? [] : objects.flatMap(paid),
        next: parsed.data.next_offset ?? null,
        through: isDated && Number.isFinite(newest) ? { from: span.from, to: newest } : null,
      };
    },
  };
}

/** 9999-12-31: a span may have no end. */
const latest = 253_402_300_799_000;

/** As it is now, which it has been since its version. */
function stateOf(type: string, name: string, object: Listed): Reported {
  return { type, name, object, version: object["resource_version"] };
}

function eventOf({ type, name, object, version, once }: Reported, listed: Listed): HistoryEvent {
  const id = `history:${name}:${String(listed["id"])}:${once ?? String(version)}`;
  const occurredAt = Math.floor(Number(version ?? 0) / 1000);
  return {
    nativeId: id,
    body: { id, occurred_at: occurredAt, event_type: type, content: { [name]: object } },
  };
}

function paidBy(object: Listed): ListedPayment[] {
  const { success, data } = transactionShape.safeParse(object);
  if (!success || !isPaid(data) || data.amount === 0n) return [];
  const { id: payment, date: at, currency_code: currency } = data;
  const factor = isoFactor(currency);
  if (factor === null) return [];
  const refunds = (data.linked_refunds ?? []).filter(
    ({ txn_status: status }) => status === "success",
  );
  const refunded = data.reversal_transaction_id
    ? data.amount
    : refunds.reduce((sum, { txn_amount: amount }) => sum + amount, 0n);
  return [{ payment, at, currency, amount: data.amount * factor, refunded: refunded * factor }];
}

/**
 * What a subscription's present state reveals about its past: that it began, when its trial became
 * paid, what it is worth now, when it ended. Earlier prices are shown nowhere; it is reported as if
 * the last had always been its price.
 */
type Fields = Readonly<Record<string, unknown>>;

/** What an object reports, before its event gets an id. */
interface Reported {
  readonly type: string;
  /** Of the object in the event's content. */
  readonly name: string;
  readonly object: Fields;
  /** ms since 1970 */
  readonly version: unknown;
  /** As first read, for good: a later reading of the same past knows no better. Its name. */
  readonly once?: string;
}

function subscriptionHistory(now: Fields): Reported[] {
  const name = "subscription";
  const { status, started_at: startedAt, trial_start: trialStart, trial_end: trialEnd } = now;
  const { resource_version: version, activated_at: activatedAt, cancelled_at: cancelledAt } = now;
  // It has not begun.
  if (typeof startedAt !== "number") return [];
  const began = { ...now, cancelled_at: null, pause_date: null, due_since: null, deleted: false };
  const dated = (state: string, seconds: number): Fields => ({
    ...began,
    status: state,
    resource_version: seconds * 1e3,
  });
  const hadTrial = typeof trialStart === "number";
  const reported: Reported[] = [
    {
      type: "subscription_created",
      name,
      version: startedAt * 1e3,
      once: "begun",
      object: dated(hadTrial ? "in_trial" : "active", startedAt),
    },
  ];
  const paidFrom = hadTrial ? (numberOf(activatedAt) ?? numberOf(trialEnd)) : null;
  const ended = numberOf(cancelledAt) ?? Infinity;
  if (paidFrom !== null && status !== "in_trial" && paidFrom < ended) {
    reported.push({
      type: "subscription_activated",
      name,
      version: paidFrom * 1e3,
      object: {
        ...dated("active", paidFrom),
        activated_at: paidFrom,
      },
      once: `paid:${paidFrom}`,
    });
  }
  const type = status === "cancelled" ? "subscription_cancelled" : "subscription_changed";
  return [...reported, { type, name, object: now, version }];
}

function numberOf(value: unknown): number | null {
  return typeof value === "number" ? value : null;
}
