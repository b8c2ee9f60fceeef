/**
 * Two ways RevenueCat proves a call, each opt-in: a fixed `Authorization` value, sent verbatim, and
 * `X-RevenueCat-Webhook-Signature: t=<unix s>,v1=<hex>[,v1=<hex>…]`, HMAC-SHA256 over
 * `<t>.<raw body>`. Source: revenuecat.com/docs/integrations/webhooks.
 */
import type { Delivery, Verdict } from "../provider.js";
import { anyEqual, hmacSha256, readTimedDigests, refused } from "../signatures.js";

export const signatureHeader = "x-revenuecat-webhook-signature";

export interface Secrets {
  readonly authorization?: string | undefined;
  readonly signing_secret?: string | undefined;
}

/** With both secrets set both must fit; of several integrations' secrets (a rotation) any may. */
export function verifyDelivery(
  delivery: Delivery,
  given: readonly Secrets[],
  toleranceSeconds: number,
  now: number,
): Verdict {
  const verdicts = given.map((secrets) => verifyBy(delivery, secrets, toleranceSeconds, now));
  const refusal = (reason: string) =>
    verdicts.find((verdict) => !verdict.ok && verdict.reason === reason);
  // Of several refusals the one that came closest is reported.
  return (
    verdicts.find((verdict) => verdict.ok) ??
    refusal("signature_stale") ??
    refusal("signature_mismatch") ??
    verdicts[0] ??
    refused("signature_mismatch")
  );
}

export function signatureOf(body: Buffer, secret: string, now: number): string {
  const timestamp = Math.floor(now / 1000).toString();
  return `t=${timestamp},v1=${digest(secret, timestamp, body).toString("hex")}`;
}

function verifyBy(
  delivery: Delivery,
  { authorization, signing_secret: secret }: Secrets,
  toleranceSeconds: number,
  now: number,
): Verdict {
  if (authorization !== undefined) {
    const verdict = verifyAuthorization(delivery, authorization);
    if (!verdict.ok || secret === undefined) return verdict;
  }
  return secret === undefined
    ? refused("signature_mismatch")
    : verifySignature(delivery, secret, toleranceSeconds, now);
}

function verifyAuthorization({ headers }: Delivery, expected: string): Verdict {
  const given = headers["authorization"];
  if (given === undefined || given === "") return refused("signature_missing");
  return anyEqual([Buffer.from(expected)], [Buffer.from(given.trim())])
    ? { ok: true, verdict: "authorization" }
    : refused("signature_mismatch");
}

/**
 * The age is checked last, in both directions, so that only a genuine call learns that it is stale.
 */
function verifySignature(
  { headers, body }: Delivery,
  secret: string,
  toleranceSeconds: number,
  now: number,
): Verdict {
  const header = headers[signatureHeader];
  if (header === undefined || header === "") return refused("signature_missing");
  const given = readTimedDigests(header, names);
  if (given === null) return refused("signature_malformed");
  const expected = digest(secret, given.timestamp, body);
  if (!anyEqual([expected], given.digests)) return refused("signature_mismatch");
  const ageSeconds = Math.floor(now / 1000) - Number.parseInt(given.timestamp, 10);
  if (Math.abs(ageSeconds) > toleranceSeconds) return refused("signature_stale");
  return { ok: true, verdict: "signature" };
}

function digest(secret: string, timestamp: string, body: Buffer): Buffer {
  return hmacSha256(secret, [`${timestamp}.`, body]);
}

const names = { separator: ",", time: "t", digest: "v1" } as const;
