/** A subscription as every one of its events reports it, and whether it counts. */
import { z } from "zod";
import { anyObject } from "../fields.js";
import { field } from "./event.js";

const shape = z.object({
  // One to come is not taken for one that is worth nothing.
  status: z.enum(["on_trial", "active", "paused", "past_due", "unpaid", "cancelled", "expired"]),
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
    .object({
      id: field.id,
      price_id: field.id,
      quantity: z.int().nonnegative().nullish(),
      updated_at: field.time.nullish().catch(null),
    })
    .nullish(),
});

/** It is as of the later of its own time and its item's: a quantity is the item's. */
export const subscriptionShape = shape.transform((subscription) => {
  const ofItem = subscription.first_subscription_item?.updated_at ?? 0;
  return { ...subscription, updated_at: Math.max(subscription.updated_at, ofItem) };
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
