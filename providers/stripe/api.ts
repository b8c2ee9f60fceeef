/** Stripe's API: read only, in one version, so that answers look the same for every account. */
import { bearerApi } from "../bearer-api.js";

/** Its shapes are those of the new layout (since 2025-03-31). */
export const apiVersion = "2025-09-30.clover";

export const stripeApi = bearerApi<{ readonly api_key?: string | undefined }>({
  baseUrl: () => "https://api.stripe.com",
  keyOf: ({ api_key: key }) => key,
  headers: { "stripe-version": apiVersion },
  // Stripe allows 100 reads a second, 25 in a sandbox, to all of a merchant's programs together.
  requestsPerSecond: 20,
});
