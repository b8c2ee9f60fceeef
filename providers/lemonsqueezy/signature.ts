/**
 * `X-Signature: <hex>`, HMAC-SHA256 of the raw body with the secret the merchant typed. No time, so
 * nothing ages and a captured call stays good: booking by the event's identity is the defence.
 * Source: docs.lemonsqueezy.com (signing requests), NdoleStudio/lemonsqueezy-go.
 */
import type { Delivery, Signed, Verdict } from "../provider.js";
import { anyEqual, hmacSha256, refused } from "../signatures.js";

const signatureHeader = "x-signature";

interface Secret {
  readonly signing_secret: string;
}

export function verify(delivery: Delivery, given: readonly Secret[]): Verdict {
  const header = delivery.headers[signatureHeader];
  if (header === undefined || header === "") return refused("signature_missing");
  if (!/^[0-9a-f]{64}$/.test(header)) return refused("signature_malformed");
  const expected = given.map((secret) => digest(secret, delivery.body));
  return anyEqual(expected, [Buffer.from(header, "hex")])
    ? { ok: true, verdict: "signature" }
    : refused("signature_mismatch");
}

export function sign(body: Buffer, secret: Secret): Signed {
  const signature = digest(secret, body).toString("hex");
  return { headers: { "content-type": "application/json", [signatureHeader]: signature }, body };
}

/** A person's own words, but none that begins or ends with a blank survives their form. */
function digest({ signing_secret: secret }: Secret, body: Buffer): Buffer {
  return hmacSha256(secret.trim(), [body]);
}
