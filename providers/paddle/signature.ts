/**
 * `Paddle-Signature: ts=<unix s>;h1=<hex>[;h1=<hex>…]`, HMAC-SHA256 over `<ts>:<raw body>` with the
 * destination's secret as it stands (`pdl_ntfset_…`). Source: developer.paddle.com (signature
 * verification), paddle-node-sdk `webhooks-validator.ts`. That SDK keeps only the last `h1` and
 * refuses half of a rotation, and it compares with `===`: so this is our own.
 */
import type { Delivery, Verdict } from "../provider.js";
import { anyEqual, hmacSha256, refused, signaturesMax } from "../signatures.js";

export const signatureHeader = "paddle-signature";

/**
 * The age is looked at last, and both ways: only a genuine call is told that it is stale, and a
 * `ts` ahead of us must not keep a captured call good for ever (the SDK lets any future pass).
 */
export function verifySignature(
  delivery: Delivery,
  secrets: readonly string[],
  toleranceSeconds: number,
  now: number,
): Verdict {
  const header = delivery.headers[signatureHeader];
  if (header === undefined || header === "") return refused("signature_missing");
  const given = readHeader(header);
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
  return hmacSha256(secret.trim(), [timestamp, ":", body]);
}

/** Other keys (`h2` to come) are looked past; without an `h1` there is nothing to believe. */
function readHeader(header: string): { timestamp: string; digests: Buffer[] } | null {
  const fields = header.split(";").map((field) => field.trim().split("=", 2));
  const [timestamp, ...others] = valuesOf(fields, "ts");
  const digests = valuesOf(fields, "h1")
    .slice(0, signaturesMax)
    .map((hex) => Buffer.from(/^[0-9a-f]{64}$/.test(hex) ? hex : "", "hex"));
  const readable = timestamp !== undefined && /^\d{1,12}$/.test(timestamp);
  if (!readable || others.length > 0 || digests.length === 0) return null;
  return { timestamp, digests };
}

function valuesOf(fields: readonly string[][], name: string): string[] {
  return fields.flatMap(([key, value = ""]) => (key === name ? [value] : []));
}
