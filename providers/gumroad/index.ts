/**
 * Gumroad: unsigned pings, written as forms. The URL is the secret; `seller_id` is compared where a
 * ping carries it, and with an access token every sale is confirmed by the API before it is booked.
 * docs/providers/gumroad.md is the page for merchants and says what that means.
 */
import { z } from "zod";
import { jsonValue } from "../../schemas/parse.js";
import { anyEqual, bearerApi, refused } from "../signatures.js";
import type { Delivery, Heading, Headers, Provider, Verdict } from "../provider.js";
import {
  asks,
  customers,
  decode,
  keepsAnswered,
  knownTypes,
  neededTypes,
  needs,
} from "./decode.js";
import { gumroadBackfill } from "./history/backfill.js";
import { gumroadPayouts } from "./history/payouts.js";
import { fieldsOf, resourceOf } from "./ping.js";

const credentials = z.strictObject({
  seller_id: z.string().trim().min(1),
  access_token: z.string().trim().min(1).optional(),
});
export type GumroadCredentials = z.output<typeof credentials>;

export function createGumroad(): Provider<GumroadCredentials> {
  return {
    token: "gumroad",
    credentials,
    credentialHelp: {
      seller_id:
        "Gumroad > Settings > Advanced > Ping > Send test ping: the field seller_id of what " +
        "arrives. It is the same in every ping",
      access_token:
        "Optional, and the only proof that a ping is true; also reads your history: Gumroad > " +
        "Settings > Advanced > Applications > your application > Generate access token, with " +
        "view_sales, and view_payouts to open payouts",
    },
    subscribeTo: [...knownTypes, "cancellation"],
    neededTypes,
    bodyType: "form",
    verify: ({ body }, given) => verifySeller(body, given),
    sign: (body, { seller_id: seller }) => ({
      headers: { "content-type": "application/x-www-form-urlencoded" },
      body: withSeller(body, seller),
    }),
    heading,
    keepsAnswered,
    needs,
    api: bearerApi({
      baseUrl: () => "https://api.gumroad.com",
      keyOf: ({ access_token: token }) => token,
      // Gumroad names no limit; a busy seller has a few sales a second.
      requestsPerSecond: 5,
    }),
    asks,
    backfill: gumroadBackfill,
    payouts: gumroadPayouts,
    decode,
    customers,
    flatTypes: {
      sale: "transaction.sale",
      refund: "transaction.refund",
      subscription_ended: "subscription.churn",
    },
  };
}

/** Pings about memberships carry no seller: there the URL decides alone. */
function verifySeller(body: Delivery["body"], given: readonly GumroadCredentials[]): Verdict {
  const form = formOf(body);
  // To read a whole form for one field takes ten times as long as to find it where it is plain.
  const [, plain = form] = /(?:^|&)(seller_id=[^&]*)/.exec(form) ?? [];
  const seller = new URLSearchParams(plain).get("seller_id");
  if (seller === null) return { ok: true, verdict: "url" };
  const expected = given.map(({ seller_id: id }) => Buffer.from(id));
  return anyEqual(expected, [Buffer.from(seller)])
    ? { ok: true, verdict: "url" }
    : refused("signature_mismatch");
}

/** A ping may come as JSON, too. */
function formOf(body: Buffer): string {
  if (body[0] !== "{".charCodeAt(0)) return body.toString("utf8");
  return new URLSearchParams(fieldsOf(jsonValue(body)) ?? {}).toString();
}

function withSeller(body: Buffer, seller: string): Buffer {
  const form = new URLSearchParams(body.toString("utf8"));
  if (!form.has("seller_id")) return body;
  form.set("seller_id", seller);
  return Buffer.from(form.toString());
}

/** What is about a membership, and reports one such ping from the next; a retry repeats it. */
const momentFields: ReadonlyMap<string, readonly string[]> = new Map([
  ["cancellation", ["cancelled_at"]],
  ["subscription_ended", ["ended_at"]],
  ["subscription_restarted", ["restarted_at"]],
  ["subscription_updated", ["effective_as_of", "new_plan[price_cents]", "new_plan[recurrence]"]],
]);

function heading(body: unknown, _headers?: Headers, receivedAt?: number): Heading | null {
  const fields = fieldsOf(body) ?? {};
  const resource = resourceOf(fields);
  const { sale_id: sale, subscription_id: subscription } = fields;
  const moments = momentFields.get(resource ?? "");
  const object = moments === undefined ? (sale ?? subscription) : subscription;
  if (resource === null || object === undefined) return null;
  const parts =
    resource === "refund"
      ? refundParts(fields, receivedAt)
      : (moments ?? []).map((name) => fields[name] ?? "");
  const nativeId = [resource, object, ...parts].join(":");
  return {
    nativeId,
    nativeType: resource,
    sandbox: fields["test"] === "true" ? true : null,
    accountHint: subscription ?? object,
  };
}

/**
 * Two refunds of parts of one sale are reported by the same body. Each delivery is an event of its
 * own: what is read is the total by then, so one reported twice changes nothing.
 */
function refundParts(fields: Readonly<Record<string, string>>, receivedAt?: number): string[] {
  if (fields["refunded"] === "true") return ["whole"];
  return ["part", ...(receivedAt === undefined ? [] : [receivedAt.toString()])];
}
