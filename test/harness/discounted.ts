import {
  apiVersions,
  discountObject,
  priceObject,
  stripeEvent,
  subscriptionObject,
} from "../../ops/payloads/stripe.js";

/**
 * 50.00 EUR a month, half of it until `endsAt`; what it is worth from then on is reported already.
 */
export function discountedSubscription(
  eventId: string,
  { startedAt, endsAt }: { readonly startedAt: number; readonly endsAt: number },
) {
  const [, version] = apiVersions;
  return stripeEvent({
    id: eventId,
    type: "customer.subscription.created",
    at: startedAt,
    version,
    object: subscriptionObject({
      id: "sub_discounted",
      customer: "cus_discounted",
      currency: "EUR",
      status: "active",
      createdAt: startedAt,
      version,
      items: [
        {
          id: "si_discounted",
          quantity: 1,
          price: priceObject({
            id: "price_plan",
            product: "plan",
            currency: "EUR",
            unitAmount: 5_000n,
          }),
        },
      ],
      discounts: [
        discountObject({
          id: "di_half",
          percentOff: 50,
          duration: "repeating",
          startAt: startedAt,
          endAt: endsAt,
          version,
        }),
      ],
    }),
  });
}
