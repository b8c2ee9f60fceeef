/**
 * Lemon Squeezy: merchant of record. What each event means stands in decode.ts;
 * docs/providers/lemonsqueezy.md is the page for merchants.
 */
import { hash } from "node:crypto";
import { z } from "zod";
import { compiled } from "../compiled.js";
import { bearerApi } from "../bearer-api.js";
import type { Provider } from "../provider.js";
import { customers, decode, knownTypes, neededTypes } from "./decode.js";
import { envelopeShape } from "./event.js";
import { invoicePayment } from "./invoices.js";
import { keeps } from "./kept.js";
import { orderPayment } from "./orders.js";
import { asks, needs } from "./questions.js";
import { sign, verify } from "./signature.js";

const credentials = z.strictObject({
  signing_secret: z.string().trim().min(1),
  api_key: z.string().trim().min(1).optional(),
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
        "Lemon Squeezy > Settings > API. Without it subscriptions have no price, so no MRR; " +
        "payments and refunds are booked all the same",
    },
    subscribeTo: knownTypes,
    neededTypes,
    verify,
    sign,
    heading: (body) => {
      const parsed = envelopeShape.safeParse(body);
      if (!parsed.success) return null;
      const { meta, data } = parsed.data;
      const attributes = attributesShape.parse(data.attributes);
      const { customer_id: customer, test_mode: testMode } = attributes;
      return {
        // Events have no ids: the same state reported again under the same name is a redelivery.
        // Times have seconds, in which a subscription may change twice.
        nativeId: [
          meta.event_name,
          data.type,
          data.id,
          reportedAt(attributes),
          digestOf(data.attributes),
        ].join(":"),
        nativeType: meta.event_name,
        sandbox: meta.test_mode ?? testMode ?? null,
        accountHint: customer === undefined ? data.id : String(customer),
      };
    },
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

/** Another quantity changes the item of a subscription, and need not change the subscription. */
function reportedAt({ updated_at: own = "", first_subscription_item: item }: Attributes): string {
  const ofItem = item?.updated_at;
  return ofItem !== undefined && Date.parse(ofItem) > Date.parse(own) ? ofItem : own;
}

/** Links are signed anew whenever they are written, and end at another time. */
function digestOf({ urls: _links, ...lasting }: Readonly<Record<string, unknown>>): string {
  return hash("sha256", JSON.stringify(lasting)).slice(0, 32);
}

const time = z.string().max(40).optional().catch(undefined);
/** Takes any object. */
const attributesShape = compiled(
  z.object({
    // Objects that report neither money nor MRR need not have one.
    updated_at: time,
    first_subscription_item: z.object({ updated_at: time }).optional().catch(undefined),
    customer_id: z.union([z.int(), z.string()]).optional().catch(undefined),
    test_mode: z.boolean().optional().catch(undefined),
  }),
);
type Attributes = z.output<typeof attributesShape>;
