/**
 * `Paddle-Signature: ts=<unix s>;h1=<hex>[;h1=<hex>…]`, HMAC-SHA256 over `<ts>:<raw body>` with the
 * destination's secret as it stands (`pdl_ntfset_…`). Source: developer.paddle.com (signature
 * verification), paddle-node-sdk `webhooks-validator.ts`. That SDK keeps only the last `h1` and
 * refuses half of a rotation, and it compares with `===`: so this is our own.
 */
import type { Delivery, Verdict } from "../provider.js";
import { anyEqual, hmacSha256, readTimedDigests, refused } from "../signatures.js";

export const signatureHeader = "paddle-signature";

/**
 * The age is checked last, so that only a genuine call learns that it is stale. It is checked both
 * ways, because a future `ts` must not keep a captured call valid for ever (the SDK accepts any
 * future).
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
  return `ts=${timestamp};h1=${digest(secret, timestamp, body).toString("hex")}`;
}

/** A pasted secret's stray blanks are the classic failure; no secret begins or ends with one. */
function digest(secret: string, timestamp: string, body: Buffer): Buffer {
  return hmacSha256(secret.trim(), [`${timestamp}:`, body]);
}

/** Other keys (`h2` to come) are looked past; without an `h1` there is nothing to believe. */
const names = { separator: ";", time: "ts", digest: "h1" } as const;
