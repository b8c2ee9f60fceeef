/**
 * Gumroad's history: each listed sale becomes the pings that Gumroad would have sent about it, its
 * refund and its dispute. Lists are newest first, ten a page. They are read week by week, so that a
 * membership's charges come in the order they were made, and no query takes Gumroad too long.
 * Sources: antiwork/gumroad, Api::V2::SalesController and Purchase#as_json;
 * docs/providers/gumroad.md, History.
 */
import { z } from "zod";
import { utcDay } from "../../../schemas/money/rates.js";
import {
  type Backfill,
  type HistoryEvent,
  isWithin,
  type ListedPayment,
  type Span,
} from "../../backfill.js";
import { type Decoded, nothingKnown } from "../../provider.js";
import { decode } from "../decode.js";
import { historyPrefix } from "../../history-events.js";

const dayMs = 24 * 60 * 60 * 1000;
const windowMs = 7 * dayMs;

const sale = z.looseObject({ id: z.string().min(1), created_at: z.iso.datetime({ offset: true }) });
type ListedSale = z.output<typeof sale>;

const page = z.object({
  success: z.literal(true),
  sales: z.array(sale),
  next_page_key: z.string().nullish(),
});

export const gumroadBackfill: Backfill = {
  lists: [
    {
      name: "sales",
      reportsPayments: true,
      path(span, after) {
        const { day, key } = placeOf(span, after);
        const query = new URLSearchParams({
          // Whole days of UTC, the first inclusive.
          after: utcDay(day),
          before: utcDay(day + windowMs),
          ...(key !== null && { page_key: key }),
        });
        return `/v2/sales?${query.toString()}`;
      },
      read(answer, asOf, span, after = null) {
        const parsed = page.safeParse(answer);
        if (!parsed.success) return null;
        const { sales, next_page_key: key } = parsed.data;
        const within = sales.filter((one) => isWithin(Date.parse(one.created_at), span));
        const reported = within.map((one) => ({ one, events: historyOf(one, asOf) }));
        return {
          objects: within.length,
          events: reported.flatMap(({ events }) => events),
          payments: reported.flatMap(({ one, events }) => listedPayment(one, events)),
          next: nextPlace(span, after, key),
          through: { from: span.from, to: placeOf(span, after).day + (key ? 0 : windowMs) },
        };
      },
    },
  ],
  missing: [
    "Plan changes and restarts of memberships are listed nowhere: a membership counts at the " +
      "price of its first charge, until it ended for the last time.",
    "When a refund or a dispute happened is listed nowhere: without a ping it is dated with its " +
      "sale.",
    "How much was refunded in part is known only of sales listed in dollars.",
    "Gifts are reported by pings only.",
    "Sales from before the first day are not read, nor what became of them.",
  ],
  notCompared: [
    "Gifts are listed under another id than their pings have: they count as not at Gumroad.",
    "How much was refunded in part is listed only of sales in dollars.",
    "Disputes are listed without a date or an amount.",
  ],
};

/** A page is named by the first day of its week, and by its key in it. */
function placeOf({ from }: Span, after: string | null) {
  const [day = utcDay(from), key = null] = after?.split(" ") ?? [];
  return { day: Date.parse(day), key };
}

function nextPlace(span: Span, after: string | null, key: string | null | undefined) {
  const { day } = placeOf(span, after);
  if (key) return `${utcDay(day)} ${key}`;
  const next = day + windowMs;
  return next > span.to ? null : utcDay(next);
}

/** A gift is reported by its receiver's copy, under another id, which is never listed. */
function historyOf(listed: ListedSale, asOf: number): HistoryEvent[] {
  if (listed.is_gift_sender_purchase === true) return [];
  const { subscription_id: subscription } = listed;
  const events = [saleEvent("sale", listed)];
  if (listed.refunded === true) events.push(saleEvent("refund", listed, ["whole"]));
  else if (listed.partially_refunded === true) {
    const { amount_refundable_in_currency: left } = listed;
    events.push(saleEvent("refund", listed, ["part", String(left)]));
  }
  if (listed.disputed === true) events.push(saleEvent("dispute", listed));
  if (listed.dispute_won === true) events.push(saleEvent("dispute_won", listed));
  if (listed.dead === true && typeof subscription === "string") {
    events.push(endEvent(subscription, listed, asOf));
  }
  return events;
}

function saleEvent(
  resource: "sale" | "refund" | "dispute" | "dispute_won",
  listed: ListedSale,
  state: readonly string[] = [],
): HistoryEvent {
  const { subscription_id: subscription } = listed;
  return {
    nativeId: historyPrefix + [resource, listed.id, ...state].join(":"),
    body: {
      resource_name: resource,
      sale_id: listed.id,
      sale_timestamp: listed.created_at,
      product_id: listed.product_id,
      product_name: listed.product_name,
      price: listed.price,
      gumroad_fee: listed.gumroad_fee,
      currency: listed.currency,
      // `email` is that of the buyer's account.
      email: listed.purchase_email,
      full_name: listed.full_name,
      purchaser_id: listed.purchaser_id,
      ip_country: listed.country,
      refunded: listed.refunded,
      is_preorder_authorization: listed.is_preorder_authorization,
      ...(subscription !== undefined && {
        subscription_id: subscription,
        recurrence: listed.subscription_duration,
        is_recurring_charge: listed.recurring_charge,
      }),
      listed,
    },
  };
}

/**
 * Of a membership that has ended, whichever of its sales is read. It may have begun again and ended
 * once more since the last backfill, which none of its sales shows: so each day has its own event.
 */
function endEvent(subscription: string, listed: ListedSale, asOf: number): HistoryEvent {
  return {
    nativeId: `${historyPrefix}subscription_ended:${subscription}:${utcDay(asOf)}`,
    body: {
      resource_name: "subscription_ended",
      subscription_id: subscription,
      product_id: listed.product_id,
      user_id: listed.purchaser_id,
      user_email: listed.purchase_email,
    },
  };
}

/** What cannot be booked is listed all the same: that is a difference. */
function listedPayment(
  { id, created_at: at, price, gumroad_fee: fee }: ListedSale,
  [sold, ...rest]: readonly HistoryEvent[],
): ListedPayment[] {
  if (sold === undefined || !Number.isSafeInteger(price) || Number(price) <= 0) return [];
  // A trial has a price, too.
  if (decoded(sold).outcome === "ignored") return [];
  const refunded = rest.flatMap((event) => {
    const reported = decoded(event);
    const bodies = reported.outcome === "facts" ? reported.facts.map(({ body }) => body) : [];
    return bodies.flatMap((body) => ("RefundTotal" in body ? [body.RefundTotal.amount] : []));
  });
  return [
    {
      payment: id,
      at: Date.parse(at),
      currency: "USD",
      amount: BigInt(Number(price)),
      refunded: refunded.reduce((sum, amount) => sum + amount, 0n),
      fee: Number.isSafeInteger(fee) ? BigInt(Number(fee)) : null,
    },
  ];
}

function decoded({ body, nativeId }: HistoryEvent): Decoded {
  return decode(body, { ...nothingKnown, nativeId });
}
