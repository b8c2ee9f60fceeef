/** A subscription purchase as `purchases.subscriptionsv2.get` answers it, and its orders' ids. */
import { z } from "zod";
import { compiled } from "../compiled.js";
import { limits } from "../../config.js";
import { rejected, type Untold } from "../outcomes.js";
import { apiName } from "./notification.js";
import { country, time } from "./reading.js";

export const purchaseShape = compiled(
  z.object({
    subscriptionState: z.string(),
    /** Absent while the first payment is pending. */
    startTime: time.nullish(),
    regionCode: country,
    linkedPurchaseToken: apiName.nullish(),
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
 * @param voided an order the notification names
 */
export function orderIdsOf(purchase: Purchase, voided: string | null): string[] | Untold {
  const latest = purchase.lineItems.flatMap((item) => item.latestSuccessfulOrderId ?? []);
  const ids = new Set<string>();
  for (const order of [...latest, ...[voided ?? []].flat()]) {
    const [, base = order, renewals] = /^(.+)\.\.(\d{1,9})$/.exec(order) ?? [];
    const last = renewals === undefined ? -1 : Number.parseInt(renewals, 10);
    if (ids.size + last > ordersMax) {
      return rejected("too_many_orders", `More than ${ordersMax} orders of one subscription`);
    }
    ids.add(base);
    for (let renewal = 0; renewal <= last; renewal += 1) ids.add(`${base}..${renewal}`);
  }
  return [...ids];
}
