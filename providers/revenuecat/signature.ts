/**
 * Two ways RevenueCat proves a call, each opt-in: a fixed `Authorization` value, sent verbatim, and
 * `X-RevenueCat-Webhook-Signature: t=<unix s>,v1=<hex>[,v1=<hex>…]`, HMAC-SHA256 over
 * `<t>.<raw body>`. Source: revenuecat.com/docs/integrations/webhooks.
 */
import type { Delivery, Verdict } from "../provider.js";
import { anyEqual, refused, type TimedScheme, verifyTimed } from "../signatures.js";

export const signature: TimedScheme = {
  header: "x-revenuecat-webhook-signature",
  separator: ",",
  time: "t",
  digest: "v1",
  joint: ".",
};

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
    : verifyTimed(signature, delivery, [secret], toleranceSeconds, now);
}

function verifyAuthorization({ headers }: Delivery, expected: string): Verdict {
  const given = headers["authorization"];
  if (given === undefined || given === "") return refused("signature_missing");
  return anyEqual([Buffer.from(expected)], [Buffer.from(given.trim())])
    ? { ok: true, verdict: "authorization" }
    : refused("signature_mismatch");
}
