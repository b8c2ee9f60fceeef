/**
 * Lemon Squeezy: merchant of record. What each event means stands in decode.ts;
 * docs/providers/lemonsqueezy.md is the page for merchants.
 */
import { z } from "zod";
import { anyEqual, bearerApi, hmacSha256, refused } from "../signatures.js";
import type { Delivery, Provider, Signed, Verdict } from "../provider.js";
import { customers, decode, knownTypes, neededTypes } from "./decode.js";
import { heading } from "./event.js";
import { lemonSqueezyBackfill } from "./history/backfill.js";
import { invoicePayment } from "./invoices.js";
import { keeps } from "./kept.js";
import { orderPayment } from "./orders.js";
import { asks, needs } from "./questions.js";

const credentials = z.strictObject({
  signing_secret: z.string().trim().min(1),
  api_key: z.string().trim().min(1).optional(),
  store_id: z
    .string()
    .trim()
    .regex(/^\d{1,20}$/, "digits only")
    .optional(),
});
export type LemonSqueezyCredentials = z.output<typeof credentials>;

export function createLemonSqueezy(): Provider<LemonSqueezyCredentials> {
  return {
    token: "lemonsqueezy",
    separatesEnvironments: true,
    credentials,
    credentialHelp: {
      signing_secret:
        "Lemon Squeezy > Settings > Webhooks > your webhook > Signing secret (the words you chose)",
      api_key:
        "Lemon Squeezy > Settings > API. Without it subscriptions have no price, so no MRR, and " +
        "your history cannot be read; payments and refunds are booked all the same",
      store_id:
        "Lemon Squeezy > Settings > Stores. With several stores: the one whose history is read. " +
        "Without it that of all stores is",
    },
    subscribeTo: knownTypes,
    neededTypes,
    verify,
    sign,
    heading,
    keeps,
    needs,
    asks,
    api: bearerApi({
      baseUrl: () => "https://api.lemonsqueezy.com",
      keyOf: ({ api_key: key }) => key,
      headers: { accept: "application/vnd.api+json" },
      // 300 a minute: docs.lemonsqueezy.com, API, rate limiting.
      requestsPerSecond: 5,
    }),
    backfill: lemonSqueezyBackfill,
    decode,
    customers,
    customerUrl: ({ id }) => `https://app.lemonsqueezy.com/customers/${encodeURIComponent(id)}`,
    flatTypes: {
      order_created: "transaction.sale",
      subscription_created: "subscription.new",
      subscription_payment_success: "transaction.sale",
      subscription_payment_recovered: "transaction.sale",
      order_refunded: "transaction.refund",
      subscription_payment_refunded: "transaction.refund",
      subscription_expired: "subscription.churn",
    },
    flatPayments: {
      order_created: orderPayment(""),
      subscription_created: orderPayment(""),
      subscription_payment_success: invoicePayment(""),
      subscription_payment_recovered: invoicePayment(""),
      order_refunded: orderPayment(""),
      subscription_payment_refunded: invoicePayment(""),
    },
  };
}

/**
 * `X-Signature: <hex>`, HMAC-SHA256 of the raw body with the secret the merchant typed. No time, so
 * nothing ages and a captured call stays good: booking by the event's identity is the defence.
 * Source: docs.lemonsqueezy.com (signing requests), NdoleStudio/lemonsqueezy-go.
 */
const signatureHeader = "x-signature";

interface Secret {
  readonly signing_secret: string;
}

function verify(delivery: Delivery, given: readonly Secret[]): Verdict {
  const header = delivery.headers[signatureHeader];
  if (header === undefined || header === "") return refused("signature_missing");
  if (!/^[0-9a-f]{64}$/.test(header)) return refused("signature_malformed");
  const expected = given.map((secret) => digest(secret, delivery.body));
  return anyEqual(expected, [Buffer.from(header, "hex")])
    ? { ok: true, verdict: "signature" }
    : refused("signature_mismatch");
}

function sign(body: Buffer, secret: Secret): Signed {
  const signature = digest(secret, body).toString("hex");
  return { headers: { "content-type": "application/json", [signatureHeader]: signature }, body };
}

/** A person's own words, but none that begins or ends with a blank survives their form. */
function digest({ signing_secret: secret }: Secret, body: Buffer): Buffer {
  return hmacSha256(secret.trim(), [body]);
}
