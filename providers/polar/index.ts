/**
 * Polar: merchant of record. What each event means stands in decode.ts; docs/providers/polar.md is
 * the page for merchants.
 */
import { z } from "zod";
import { bearerApi } from "../signatures.js";
import { compiled } from "../fields.js";
import { signedHeaders, verifySignature } from "../custom/signature.js";
import type { Provider } from "../provider.js";
import { customers, decode, knownTypes, neededTypes } from "./decode.js";
import { polarBackfill } from "./history/backfill.js";

const credentials = z.strictObject({
  signing_secret: z.string().trim().min(1),
  access_token: z.string().trim().min(1).optional(),
  api_environment: z.enum(["production", "sandbox"]).optional(),
});
export type PolarCredentials = z.output<typeof credentials>;

/** What its SDKs allow. */
const toleranceSeconds = 300;

export function createPolar(): Provider<PolarCredentials> {
  return {
    token: "polar",
    credentials,
    credentialHelp: {
      signing_secret: "Polar > Settings > Webhooks > your endpoint (format Raw) > Secret",
      access_token:
        "Optional, for your history. Polar > Settings > General > Developers: an organization " +
        "access token with orders:read, refunds:read, disputes:read, subscriptions:read and " +
        "products:read",
      api_environment: "Optional. sandbox where the access token is of sandbox.polar.sh",
    },
    subscribeTo: knownTypes,
    neededTypes,
    verify: (delivery, given, now) =>
      verifySignature(delivery, given.map(standardSecret), toleranceSeconds, now),
    sign: (body, given, now) => ({
      headers: {
        "content-type": "application/json",
        ...signedHeaders(body, standardSecret(given), now),
      },
      body,
    }),
    heading: (body) => {
      const parsed = headingShape.safeParse(body);
      if (!parsed.success) return null;
      const { type, timestamp, data } = parsed.data;
      return {
        // The time has microseconds and is of the event, not of its delivery.
        nativeId: [type, data.id, timestamp].join(":"),
        nativeType: type,
        // Its sandbox is an installation of its own and says nothing.
        sandbox: null,
        accountHint: data.customer_id ?? data.id,
      };
    },
    api: bearerApi({
      baseUrl: ({ api_environment: environment }) =>
        environment === "sandbox" ? "https://sandbox-api.polar.sh" : "https://api.polar.sh",
      keyOf: ({ access_token: token }) => token,
      headers: { "polar-version": "2026-04" },
      // 500 a minute, of the sandbox 100: polar.sh/docs, API, rate limits.
      requestsPerSecond: 1.5,
    }),
    backfill: polarBackfill,
    decode,
    customers,
    flatTypes: {
      "order.paid": "transaction.sale",
      "refund.created": "transaction.refund",
      "subscription.revoked": "subscription.churn",
    },
  };
}

/**
 * Polar signs by Standard Webhooks, but its key is the secret as it stands, `whsec_` included,
 * where the standard's is what its base64 means.
 */
function standardSecret({ signing_secret: secret }: PolarCredentials): string {
  return Buffer.from(secret.trim()).toString("base64");
}

const headingShape = compiled(
  z.object({
    type: z.string().min(1),
    timestamp: z.string().min(1).max(40),
    data: z.object({
      id: z.string().min(1),
      customer_id: z.string().optional().catch(undefined),
    }),
  }),
);
