/**
 * RevenueCat: one webhook for what the app stores, Stripe, Paddle and its own web billing sell.
 * What each type means stands in decode.ts; docs/providers/revenuecat.md is the page for merchants.
 */
import { z } from "zod";
import { compiled } from "../fields.js";
import type { Provider } from "../provider.js";
import { customers, decode, keeps, knownTypes, needs, neededTypes } from "./decode.js";
import { revenueCatExport } from "./export.js";
import { signTimed } from "../signatures.js";
import { signature, verifyDelivery } from "./signature.js";

const secret = z.string().trim().min(1).optional();
const credentials = z
  .strictObject({ authorization: secret, signing_secret: secret })
  .refine((given) => given.authorization !== undefined || given.signing_secret !== undefined, {
    path: ["authorization"],
    error: "authorization or signing_secret is needed",
  });
export type RevenueCatCredentials = z.output<typeof credentials>;

/** @param settings.toleranceSeconds how old a signature may be; RevenueCat names 300 */
export function createRevenueCat(settings: {
  readonly toleranceSeconds: number;
}): Provider<RevenueCatCredentials> {
  return {
    token: "revenuecat",
    credentials,
    credentialHelp: {
      authorization:
        "This or signing_secret (or both): a long random text of your own, the same as in " +
        "RevenueCat > your project > Integrations > Webhooks > Authorization header value",
      signing_secret:
        "This or authorization (or both): RevenueCat > your project > Integrations > Webhooks > " +
        "your webhook > signing secret, once signing is turned on there",
    },
    subscribeTo: knownTypes,
    neededTypes,
    verify: (delivery, given, now) =>
      verifyDelivery(delivery, given, settings.toleranceSeconds, now),
    sign: (body, { authorization, signing_secret: key }, now) => ({
      headers: {
        "content-type": "application/json",
        ...(authorization === undefined ? {} : { authorization }),
        ...(key === undefined ? {} : { [signature.header]: signTimed(signature, body, key, now) }),
      },
      body,
    }),
    heading: (body) => {
      const parsed = headingShape.safeParse(body);
      if (!parsed.success) return null;
      const { id, type, environment, original_app_user_id: first, app_user_id } = parsed.data.event;
      return {
        nativeId: id,
        nativeType: type,
        sandbox: environment === undefined ? null : environment === "SANDBOX",
        accountHint: first ?? app_user_id ?? null,
      };
    },
    historyExport: revenueCatExport,
    notReconciled:
      "RevenueCat's API tells no prices of transactions: what is missing is read from its export.",
    keeps,
    needs,
    decode,
    customers,
    flatTypes: {
      INITIAL_PURCHASE: "subscription.new",
      RENEWAL: "transaction.sale",
      NON_RENEWING_PURCHASE: "transaction.sale",
      EXPIRATION: "subscription.churn",
    },
  };
}

const hint = z.string().min(1).optional().catch(undefined);
const headingShape = compiled(
  z.object({
    event: z.object({
      id: z.string().min(1),
      type: z.string().min(1),
      environment: z.enum(["SANDBOX", "PRODUCTION"]).optional().catch(undefined),
      original_app_user_id: hint,
      app_user_id: hint,
    }),
  }),
);
