/**
 * `Stripe-Signature: t=<unix s>,v1=<hex>[,v1=<hex>…][,v0=<hex>]`, HMAC-SHA256 over `<t>.<raw body>`
 * with the endpoint's secret as it stands (`whsec_…` is not decoded). Source: docs.stripe.com
 * /webhooks/signature, stripe-node `Webhooks.js`.
 */
import type { Delivery, Verdict } from "../provider.js";
import { anyEqual, hmacSha256, readTimedDigests, refused } from "../signatures.js";

export const signatureHeader = "stripe-signature";

/**
 * The age is checked last, so that only a genuine call learns that it is stale, which helps a
 * person with a wrong clock. It is checked in both directions: Stripe's libraries accept any future
 * `t`, which would keep a captured call valid for ever.
 */
export function verifySignature(
  delivery: Delivery,
  secrets: readonly string[],
  toleranceSeconds: number,
  now: number,
): Verdict {
  const header = delivery.headers[signatureHeader];
  if (header === undefined || header === "") return refused("signature_missing");
  const given = readTimedDigests(header, names);
  if (given === null) return refused("signature_malformed");
  const expected = secrets.map((secret) => digest(secret, given.timestamp, delivery.body));
  if (!anyEqual(expected, given.digests)) return refused("signature_mismatch");
  const ageSeconds = Math.floor(now / 1000) - Number.parseInt(given.timestamp, 10);
  if (Math.abs(ageSeconds) > toleranceSeconds) return refused("signature_stale");
  return { ok: true, verdict: "signature" };
}

export function signatureOf(body: Buffer, secret: string, now: number): string {
  const timestamp = Math.floor(now / 1000).toString();
  return `t=${timestamp},v1=${digest(secret, timestamp, body).toString("hex")}`;
}

/** A pasted secret's stray blanks are the classic failure; no secret begins or ends with one. */
function digest(secret: string, timestamp: string, body: Buffer): Buffer {
  return hmacSha256(secret.trim(), [`${timestamp}.`, body]);
}

/** Only `v1` counts: `v0` is a dummy, and accepting it would allow a downgrade. */
const names = { separator: ",", time: "t", digest: "v1" } as const;
