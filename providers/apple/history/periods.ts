/**
 * When a subscription lapsed before it was bought again, which Apple lists nowhere: it follows from
 * all periods of a customer. Pages of transactions are in the order in which they were changed last
 * (developer.apple.com/forums/thread/773113), so the periods of earlier pages are carried along.
 */
import { z } from "zod";
import type { HistoryEvent, Span } from "../../backfill.js";
import { isShared, isSubscription } from "../transaction.js";
import { endOf, type Listed } from "./notices.js";

/** Enough for 19 years of a weekly subscription; beyond it the earliest are dropped. */
const periodsMax = 1_000;

const period = z.object({
  subscription: z.string(),
  transaction: z.string(),
  product: z.string(),
  from: z.number(),
  /** What was paid for, or until it was taken back. */
  until: z.number(),
  /** By the customer; else it renewed itself, perhaps after Apple could not charge for a while. */
  isBought: z.boolean(),
});
type Period = z.output<typeof period>;

const carried = z.array(period);

/** @param text what `carryOf` wrote */
export function carriedIn(text: string): Period[] {
  const parsed = carried.safeParse(JSON.parse(text || "[]"));
  if (!parsed.success) throw new Error("a backfill carries no periods");
  return parsed.data;
}

export function carryOf(periods: readonly Period[]): string {
  const kept = periods.toSorted((one, other) => one.from - other.from).slice(-periodsMax);
  return JSON.stringify(kept);
}

export function periodsIn(all: readonly Listed[]): Period[] {
  return all.flatMap(({ payload, transaction }) => {
    if (transaction === null || isShared(transaction) || !isSubscription(transaction)) return [];
    const { purchaseDate: from, expiresDate, revocationDate, isUpgraded } = transaction;
    if (typeof expiresDate !== "number") return [];
    const isTakenBack = typeof revocationDate === "number" && isUpgraded !== true;
    return [
      {
        subscription: transaction.originalTransactionId,
        transaction: transaction.transactionId,
        product: transaction.productId,
        from,
        until: isTakenBack ? Math.min(expiresDate, revocationDate) : expiresDate,
        isBought: payload["transactionReason"] === "PURCHASE",
      },
    ];
  });
}

/** The ends of periods that no other followed until the customer came back. */
export function lapsesIn(periods: readonly Period[], { from }: Span): HistoryEvent[] {
  const inOrder = periods.toSorted((one, other) => one.from - other.from);
  return inOrder.flatMap((one, index) => {
    const later = inOrder.slice(index + 1);
    const next = later.find(({ subscription }) => subscription === one.subscription);
    const hasLapsed = next?.isBought === true && next.from > one.until;
    return hasLapsed && one.from >= from ? [lapseOf(one)] : [];
  });
}

function lapseOf({ subscription, transaction, product, from, until }: Period): HistoryEvent {
  const ended = {
    transactionId: transaction,
    originalTransactionId: subscription,
    productId: product,
    type: "Auto-Renewable Subscription",
    purchaseDate: from,
  };
  return endOf(ended, until, null);
}
