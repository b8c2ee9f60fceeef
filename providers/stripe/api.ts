/** Stripe's API: read only, in one version, so that answers look the same for every account. */
import type { ProviderApi } from "../provider.js";

/** Its shapes are those of the new layout (since 2025-03-31). */
export const apiVersion = "2025-09-30.clover";
const hourMs = 60 * 60 * 1000;

export const stripeApi: ProviderApi<{ readonly api_key?: string | undefined }> = {
  baseUrl: () => "https://api.stripe.com",
  allowsCalls: ({ api_key: key }) => key !== undefined,
  authorize: async ({ api_key: key }, now) =>
    key === undefined
      ? null
      : {
          headers: { authorization: `Bearer ${key}`, "stripe-version": apiVersion },
          until: now + hourMs,
        },
  // Stripe allows 100 reads a second, 25 in a sandbox, to all of a merchant's programs together.
  requestsPerSecond: 20,
};
