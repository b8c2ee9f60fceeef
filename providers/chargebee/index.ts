/**
 * Chargebee: billing over the merchant's own gateways. It signs nothing: a call proves itself by
 * basic authentication. What each event means stands in decode.ts; docs/providers/chargebee.md is
 * the page for merchants.
 */
import { z } from "zod";
import { compiled, together } from "../fields.js";
import type { Delivery, Provider, ProviderApi, Verdict } from "../provider.js";
import { anyEqual, refused } from "../signatures.js";
import { customers, decode, knownTypes, neededTypes } from "./decode.js";
import { chargebeeBackfill } from "./history/backfill.js";
import { asks, keeps, needs } from "./questions.js";

const credentials = z
  .strictObject({
    username: z
      .string()
      .trim()
      .regex(/^[^:]{1,100}$/, "1 to 100 characters, no colon")
      .default("chargebee"),
    password: z.string().trim().min(16, "at least 16 characters"),
    site: z
      .string()
      .trim()
      .regex(/^[a-z0-9][a-z0-9-]{0,62}$/, "the name before .chargebee.com")
      .optional(),
    api_key: z.string().trim().min(1).optional(),
  })
  .superRefine(together("site", "api_key"));
export type ChargebeeCredentials = z.output<typeof credentials>;

const api: ProviderApi<ChargebeeCredentials> = {
  baseUrl: ({ site = "" }) => `https://${site}.chargebee.com`,
  allowsCalls: ({ site, api_key: key }) => site !== undefined && key !== undefined,
  authorize: async ({ site, api_key: key }) => {
    if (site === undefined || key === undefined) return null;
    const headers = { authorization: basic(key, "") };
    return { headers, until: Number.MAX_SAFE_INTEGER };
  },
  // 150 a minute on the smallest plan and on test sites: chargebee.com, API limits.
  requestsPerSecond: 2,
};

export function createChargebee(): Provider<ChargebeeCredentials> {
  return {
    token: "chargebee",
    credentials,
    credentialHelp: {
      username:
        "Optional; chargebee when it is left out. Chargebee > Settings > Configure Chargebee > " +
        "Webhooks > your webhook > Protect webhook URL with basic authentication",
      password:
        "The password there. Optional: one is made when left out, and shown this once. Chargebee " +
        "signs nothing, so this and the address are what proves a call",
      site: "With an api_key: the name before .chargebee.com, such as acme or acme-test",
      api_key:
        "Optional. Chargebee > Settings > Configure Chargebee > API Keys: a read-only key. " +
        "Without it subscriptions with a coupon may have no MRR, and there is no history",
    },
    makes: { password: (random) => random.toString("base64url") },
    subscribeTo: knownTypes,
    neededTypes,
    verify: verifyAuthorization,
    sign: (body, { username, password }) => ({
      headers: { "content-type": "application/json", authorization: basic(username, password) },
      body,
    }),
    heading: (body) => {
      const parsed = headingShape.safeParse(body);
      if (!parsed.success) return null;
      const { id, event_type: type, content } = parsed.data;
      // Test sites are sites of their own and say nothing.
      return {
        nativeId: id,
        nativeType: type,
        sandbox: null,
        accountHint: content.customer?.id ?? null,
      };
    },
    keeps,
    needs,
    asks,
    api,
    backfill: chargebeeBackfill,
    decode,
    customers,
    flatTypes: {
      payment_succeeded: "transaction.sale",
      payment_refunded: "transaction.refund",
      subscription_cancelled: "subscription.churn",
    },
  };
}

function verifyAuthorization(
  { headers }: Delivery,
  given: readonly ChargebeeCredentials[],
): Verdict {
  const header = headers["authorization"];
  if (header === undefined || header === "") return refused("signature_missing");
  const expected = given.map(({ username, password }) => Buffer.from(basic(username, password)));
  return anyEqual(expected, [Buffer.from(header.trim())])
    ? { ok: true, verdict: "authorization" }
    : refused("signature_mismatch");
}

function basic(user: string, password: string): string {
  return `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`;
}

const headingShape = compiled(
  z.object({
    id: z.string().min(1).max(255),
    event_type: z.string().min(1),
    content: z.object({
      customer: z.object({ id: z.string() }).optional().catch(undefined),
    }),
  }),
);
