/**
 * `Stripe-Signature: t=<unix s>,v1=<hex>[,v1=<hex>…][,v0=<hex>]`, HMAC-SHA256 over `<t>.<raw body>`
 * with the endpoint's secret as it stands (`whsec_…` is not decoded). Stripe's own libraries accept
 * any future `t`. Source: docs.stripe.com/webhooks/signature, stripe-node `Webhooks.js`.
 */
import type { TimedScheme } from "../signatures.js";

export const signature: TimedScheme = {
  header: "stripe-signature",
  separator: ",",
  time: "t",
  // Nothing else counts: `v0` is a dummy, and accepting it would allow a downgrade.
  digest: "v1",
  joint: ".",
};
