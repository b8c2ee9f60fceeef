/** Stripe's API: read only, in one version, so that answers look the same for every account. */
import { bearerApi } from "../signatures.js";
import { createHash } from "node:crypto";
import { z } from "zod";
import type { EndpointMaker } from "../provider.js";

/** Its shapes are those of the new layout (since 2025-03-31). */
export const apiVersion = "2025-09-30.clover";

export const stripeApi = bearerApi<{ readonly api_key?: string | undefined }>({
  baseUrl: () => "https://api.stripe.com",
  keyOf: ({ api_key: key }) => key,
  headers: { "stripe-version": apiVersion },
  // Stripe allows 100 reads a second, 25 in a sandbox, to all of a merchant's programs together.
  requestsPerSecond: 20,
});

/** The webhook endpoint, made at Stripe through its API: the only call that writes there. */
const made = z.object({ id: z.string(), secret: z.string().min(1) });
const refused = z.object({ error: z.object({ message: z.string() }) });

/** @param events to subscribe it to */
export function stripeEndpoint(
  events: readonly string[],
): EndpointMaker<{ readonly signing_secret: string; readonly api_key: string }> {
  return {
    baseUrl: stripeApi.baseUrl({}),
    environmentOf: (key) => {
      const mode = /^(?:sk|rk)_(live|test)_/.exec(key)?.[1];
      return mode === "live" || mode === "test" ? mode : null;
    },
    request: (url, key) => {
      const form = new URLSearchParams({ url, description: "Revenue figures" });
      for (const event of events) form.append("enabled_events[]", event);
      const headers = {
        authorization: `Bearer ${key}`,
        "stripe-version": apiVersion,
        // A call repeated after a time-out is answered with the endpoint that is there already.
        "idempotency-key": createHash("sha256").update(form.toString()).digest("hex"),
      };
      return { path: "/v1/webhook_endpoints", headers, form };
    },
    credentialsOf: (answer, key) => {
      const read = made.safeParse(answer);
      return read.success ? { signing_secret: read.data.secret, api_key: key } : null;
    },
    refusalOf: (answer) => {
      const read = refused.safeParse(answer);
      return read.success ? read.data.error.message : null;
    },
  };
}
