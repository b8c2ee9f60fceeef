import { discountObject, stripeEvent } from "../../ops/payloads/stripe.js";
import { stripeSubscription } from "./decoded.js";

/**
 * 50.00 EUR a month, half of it until `endsAt`; what it is worth from then on is reported already.
 */
export function discountedSubscription(
  eventId: string,
  { startedAt, endsAt }: { readonly startedAt: number; readonly endsAt: number },
) {
  const half = { id: "di_half", percentOff: 50, duration: "repeating" } as const;
  return stripeEvent({
    id: eventId,
    type: "customer.subscription.created",
    at: startedAt,
    object: stripeSubscription(startedAt, [{ product: "plan", unitAmount: 5_000n }], {
      id: "sub_discounted",
      customer: "cus_discounted",
      discounts: [discountObject({ ...half, startAt: startedAt, endAt: endsAt })],
    }),
  });
}
