/**
 * Custom: webhooks of one's own, signed by Standard Webhooks. The body is one event record (form A
 * of the ingest endpoint, providers/record.ts); docs/providers/custom.md is the page for senders.
 */
import { z } from "zod";
import { compiled } from "../fields.js";
import { ignored, rejected, type Unreported } from "../outcomes.js";
import type { Decoded, Known, NamedCustomer, Provider } from "../provider.js";
import { eventTypes, readRecord } from "../record.js";
import { recordToCustomers, recordToFacts } from "../record-facts.js";
import { isSecret, makeSecret, messageId, signedHeaders, verifySignature } from "./signature.js";

const credentials = z.strictObject({
  signing_secret: z.string().trim().refine(isSecret, "whsec_ and the base64 of 24 to 64 bytes"),
});
export type CustomCredentials = z.output<typeof credentials>;

/** @param settings.toleranceSeconds how old a signature may be; the standard's libraries use 300 */
export function createCustom(settings: {
  readonly toleranceSeconds: number;
}): Provider<CustomCredentials> {
  return {
    token: "custom",
    credentials,
    credentialHelp: {
      signing_secret:
        "Optional: one is made when left out, and shown this once. Else the sender's own: " +
        "whsec_ and the base64 of 24 to 64 bytes",
    },
    makes: { signing_secret: makeSecret },
    subscribeTo: eventTypes,
    // Each reports its money and its MRR itself: none proves that another should have come.
    neededTypes: [
      { for: "payments", types: ["transaction.sale", "subscription.new"] },
      { for: "subscriptions", types: ["subscription.new"] },
      { for: "ends", types: ["subscription.churn"] },
      { for: "refunds", types: ["transaction.refund"] },
    ],
    verify: (delivery, given, now) =>
      verifySignature(
        delivery,
        given.map(({ signing_secret: secret }) => secret),
        settings.toleranceSeconds,
        now,
      ),
    sign: (body, { signing_secret: secret }, now) => ({
      headers: { "content-type": "application/json", ...signedHeaders(body, secret, now) },
      body,
    }),
    heading: (body, headers) => {
      const parsed = headingShape.safeParse(body);
      if (!parsed.success) return null;
      const { event_id: eventId, event_type: type, customer_id, subscription_id } = parsed.data;
      const nativeId = eventId ?? (headers && messageId(headers)) ?? null;
      if (nativeId === null) return null;
      const accountHint = customer_id ?? subscription_id ?? null;
      return { nativeId, nativeType: type, sandbox: null, accountHint };
    },
    notReconciled:
      "Your own system has no list to read: send what is missing again, and what came before is " +
      "counted once.",
    decode,
    customers,
    // The four meanings go by their own names in form B, for every provider.
    flatTypes: {},
  };
}

const idLengthMax = 255;
const hint = z.string().optional().catch(undefined);
const headingShape = compiled(
  z.object({
    event_type: z.string().min(1),
    event_id: z.string().min(1).max(idLengthMax).optional().catch(undefined),
    customer_id: hint,
    subscription_id: hint,
  }),
);

/** What is wrong with a record is said as the ingest endpoint says it. */
function decode(body: unknown, known?: Known): Decoded {
  const read = readBody(body, known);
  if ("outcome" in read) return read;
  const facts = recordToFacts(...read);
  return facts.length === 0
    ? ignored("an amount of 0 moves no money")
    : { outcome: "facts", facts };
}

function customers(body: unknown, known: Known): NamedCustomer[] {
  const read = readBody(body, known);
  return "outcome" in read ? [] : recordToCustomers(...read);
}

function readBody(body: unknown, known?: Known): Parameters<typeof recordToFacts> | Unreported {
  if (typeof body !== "object" || body === null || Array.isArray(body)) {
    return rejected("malformed", "The body must be a JSON object.");
  }
  if ("provider" in body && body.provider !== "custom") {
    return rejected("provider_conflict", "provider must be custom, or left out");
  }
  const { nativeId, receivedAt, firstReceivedAt, environment } = known ?? {};
  if (nativeId === undefined || receivedAt === undefined || firstReceivedAt === undefined) {
    return rejected("malformed", "An event without an id and a time of receipt.");
  }
  const reading = readRecord({ ...body, provider: "custom" }, receivedAt, environment);
  if (!reading.ok) return rejected(reading.code, reading.message);
  return [reading.record, nativeId, firstReceivedAt];
}
