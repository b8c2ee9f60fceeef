/** A subscription as every one of its events tells it, and whether it counts. */
import { z } from "zod";
import { anyObject } from "../any-object.js";
import { field } from "./event.js";

export const subscriptionShape = z.object({
  status: z.string(),
  store_id: field.id,
  customer_id: field.id,
  order_id: field.id,
  product_id: field.id,
  pause: anyObject.nullish(),
  trial_ends_at: field.time.nullish(),
  ends_at: field.time.nullish(),
  created_at: field.time,
  updated_at: field.time,
  first_subscription_item: z
    .object({ id: field.id, price_id: field.id, quantity: z.int().nonnegative().nullish() })
    .nullish(),
});
export type Subscription = z.output<typeof subscriptionShape>;

/**
 * Past due and cancelled still count, the latter until it expires; a trial, a pause of either mode,
 * unpaid and expired do not. One cancelled during its trial was never paid.
 */
export function isWorth(subscription: Subscription): boolean {
  const { status, pause, trial_ends_at: trialEnd, updated_at: at } = subscription;
  if ((pause ?? null) !== null) return false;
  if (status === "active" || status === "past_due") return true;
  const paidFrom = trialEnd ?? 0;
  return status === "cancelled" && paidFrom <= at && paidFrom < (subscription.ends_at ?? Infinity);
}
