/**
 * Stripe: signed snapshot events of both API layouts (before and since 2025-03-31). What each type
 * means stands in decode.ts; docs/providers/stripe.md is the page for merchants.
 */
import { z } from "zod";
import { compiled } from "../fields.js";
import type { Provider } from "../provider.js";
import { stripeApi } from "./api.js";
import { stripeEndpoint } from "./api.js";
import { stripeBackfill } from "./history/backfill.js";
import { stripePaymentLookup } from "./history/payments.js";
import { stripePayouts } from "./history/payouts.js";
import { customerUrl } from "./customers.js";
import {
  asks,
  customers,
  decode,
  keeps,
  knownTypes,
  neededTypes,
  needs,
  thinEvent,
} from "./decode.js";
import { timedSignatures } from "../signatures.js";
import { signature } from "./signature.js";

const credentials = z.strictObject({
  signing_secret: z.string().trim().min(1),
  api_key: z.string().trim().min(1).optional(),
});
export type StripeCredentials = z.output<typeof credentials>;

/** @param settings.toleranceSeconds how old a signature may be; Stripe's libraries use 300 */
export function createStripe(settings: {
  readonly toleranceSeconds: number;
}): Provider<StripeCredentials> {
  return {
    token: "stripe",
    separatesEnvironments: true,
    credentials,
    credentialHelp: {
      signing_secret:
        "Stripe dashboard > Developers > Webhooks > your endpoint > Signing secret (whsec_…)",
      api_key:
        "Optional. Stripe dashboard > Developers > API keys: a restricted key with read access",
    },
    subscribeTo: knownTypes,
    neededTypes,
    ...timedSignatures(signature, settings.toleranceSeconds),
    heading: (body) => {
      const parsed = headingShape.safeParse(body);
      if (!parsed.success) return null;
      const { id, type, livemode, data, related_object: related } = parsed.data;
      return {
        nativeId: id,
        nativeType: type,
        sandbox: livemode === undefined ? null : !livemode,
        accountHint: data?.object.customer ?? data?.object.id ?? related?.id ?? null,
      };
    },
    keeps,
    needs,
    api: stripeApi,
    asks,
    endpoint: stripeEndpoint(knownTypes),
    backfill: stripeBackfill,
    payouts: stripePayouts,
    paymentLookup: stripePaymentLookup,
    decode,
    customers,
    customerUrl,
    flatTypes: {
      "checkout.session.completed": "transaction.sale",
      "payment_intent.succeeded": "transaction.sale",
      "charge.succeeded": "transaction.sale",
      "invoice.paid": "transaction.sale",
      "invoice.payment_succeeded": "transaction.sale",
      "customer.subscription.created": "subscription.new",
      "customer.subscription.deleted": "subscription.churn",
      "charge.refunded": "transaction.refund",
      "refund.created": "transaction.refund",
    },
  };
}

const hint = z.string().optional().catch(undefined);
/** A thin event has no `data.object` but names its object beside it. */
const headingShape = compiled(
  z
    .object({
      id: z.string().min(1),
      object: z.enum(["event", thinEvent]),
      type: z.string().min(1),
      livemode: z.boolean().optional(),
      data: z
        .object({ object: z.object({ id: hint, customer: hint }) })
        .optional()
        .catch(undefined),
      related_object: z.object({ id: hint }).nullish().catch(null),
    })
    .refine(({ object, data }) => object === thinEvent || data !== undefined),
);
