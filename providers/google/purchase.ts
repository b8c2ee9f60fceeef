/** A subscription purchase as `purchases.subscriptionsv2.get` answers it, and its orders' ids. */
import { z } from "zod";
import { compiled } from "../compiled.js";
import { limits } from "../../config.js";
import { rejected, type Unreported } from "../outcomes.js";
import { apiName } from "./notification.js";
import { country, time } from "./reading.js";

export const purchaseShape = compiled(
  z.object({
    subscriptionState: z.string(),
    /** Absent while the first payment is pending. */
    startTime: time.nullish(),
    regionCode: country,
    linkedPurchaseToken: apiName.nullish(),
    /** Deprecated; where no item names an order of its own, it is all there is. */
    latestOrderId: apiName.nullish(),
    /** An object of nothing where it is a test purchase. */
    testPurchase: z.unknown().optional(),
    canceledStateContext: z.object({ replacementCancellation: z.unknown().optional() }).nullish(),
    lineItems: z
      .array(
        z.object({
          productId: apiName,
          expiryTime: time.nullish(),
          latestSuccessfulOrderId: apiName.nullish(),
        }),
      )
      .max(limits.itemsPerSubscriptionMax)
      .default([]),
  }),
);
export type Purchase = z.output<typeof purchaseShape>;

/** A weekly subscription makes so many orders in 19 years. */
const ordersMax = 1_000;

/**
 * From the base order to the latest: `GPA.…`, `GPA.…..0` to `GPA.…..n`. What is missing between
 * was never charged, or never existed.
 * @param others an order the notification names, and what the purchase named before
 */
export function orderIdsOf(purchase: Purchase, others: readonly string[]): string[] | Unreported {
  const newest = new Map<string, number>();
  for (const order of [...latestOrdersOf(purchase), ...others]) {
    const base = baseOf(order);
    newest.set(base, Math.max(newest.get(base) ?? -1, renewalOf(order)));
  }
  const ids: string[] = [];
  for (const [base, last] of newest) {
    if (ids.length + last > ordersMax) {
      return rejected("too_many_orders", `More than ${ordersMax} orders of one subscription`);
    }
    ids.push(base);
    for (let renewal = 0; renewal <= last; renewal += 1) ids.push(`${base}..${renewal}`);
  }
  return ids;
}

/** One for each item. */
export function latestOrdersOf({ lineItems, latestOrderId }: Purchase): string[] {
  const ofItems = lineItems.flatMap((item) => item.latestSuccessfulOrderId ?? []);
  return ofItems.length > 0 ? ofItems : [latestOrderId ?? []].flat();
}

/** What counts was ordered; one that replaces another may be paid for when that one is over. */
export function lacksOrder({ subscriptionState: state, linkedPurchaseToken }: Purchase): boolean {
  return countingStates.has(state) && !linkedPurchaseToken;
}

const countingStates: ReadonlySet<string> = new Set(
  ["ACTIVE", "IN_GRACE_PERIOD", "CANCELED"].map((name) => `SUBSCRIPTION_STATE_${name}`),
);

const renewedId = /^(.+)\.\.(\d{1,9})$/;

/** That of the first order, which those of its renewals begin with. */
export function baseOf(order: string): string {
  return renewedId.exec(order)?.[1] ?? order;
}

/** -1 of a first order. */
function renewalOf(order: string): number {
  const renewal = renewedId.exec(order)?.[2];
  return renewal === undefined ? -1 : Number.parseInt(renewal, 10);
}
