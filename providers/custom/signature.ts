/**
 * Standard Webhooks: `webhook-id`, `webhook-timestamp` (unix s) and `webhook-signature`, a list of
 * `<version>,<base64>` apart by spaces. `v1` is HMAC-SHA256 over `<id>.<timestamp>.<raw body>`
 * with the secret's decoded bytes. Source: standard-webhooks/standard-webhooks
 * `spec/standard-webhooks.md`. Svix sends the same under names of its own.
 */
import { createHash } from "node:crypto";
import type { Delivery, Headers, Verdict } from "../provider.js";
import { anyEqual, hmacSha256, refused, signaturesMax, verifyAge } from "../signatures.js";

const prefixes = ["webhook-", "svix-"] as const;
const secretPrefix = "whsec_";
/** What the standard asks of a secret. */
const secretBytes = { min: 24, max: 64 } as const;

export function verifySignature(
  delivery: Delivery,
  secrets: readonly string[],
  toleranceSeconds: number,
  now: number,
): Verdict {
  const given = readHeaders(delivery.headers);
  if (given === null) return refused("signature_missing");
  const { id, timestamp, signatures } = given;
  if (!/^\d{1,12}$/.test(timestamp) || signatures.length === 0) {
    return refused("signature_malformed");
  }
  const expected = secrets.map((secret) => digest(secret, id, timestamp, delivery.body));
  if (!anyEqual(expected, signatures)) return refused("signature_mismatch");
  return verifyAge(timestamp, toleranceSeconds, now);
}

/** The id is made of the body: the same event signed again is the same message. */
export function signedHeaders(body: Buffer, secret: string, now: number): Record<string, string> {
  const id = `msg_${createHash("sha256").update(body).digest("base64url").slice(0, 27)}`;
  return signedMessage(id, body, [secret], now);
}

/** @param secrets each signs: who checks it needs one of them */
export function signedMessage(
  id: string,
  body: Buffer,
  secrets: readonly string[],
  now: number,
): Record<string, string> {
  const timestamp = Math.floor(now / 1000).toString();
  const signatures = secrets.map(
    (secret) => `v1,${digest(secret, id, timestamp, body).toString("base64")}`,
  );
  return {
    "webhook-id": id,
    "webhook-timestamp": timestamp,
    "webhook-signature": signatures.join(" "),
  };
}

/** Constant over all tries of one message; null when the call has none. */
export function messageId(headers: Headers): string | null {
  return readHeaders(headers)?.id ?? null;
}

/** @param random at least 24 bytes */
export function makeSecret(random: Buffer): string {
  return `${secretPrefix}${random.toString("base64")}`;
}

export function isSecret(text: string): boolean {
  const base64 = text.startsWith(secretPrefix) ? text.slice(secretPrefix.length) : text;
  const { length } = keyOf(text);
  const isBase64 = /^[A-Za-z0-9+/]+={0,2}$/.test(base64);
  return isBase64 && length >= secretBytes.min && length <= secretBytes.max;
}

function digest(secret: string, id: string, timestamp: string, body: Buffer): Buffer {
  return hmacSha256(keyOf(secret), [`${id}.${timestamp}.`, body]);
}

function keyOf(secret: string): Buffer {
  const base64 = secret.startsWith(secretPrefix) ? secret.slice(secretPrefix.length) : secret;
  return Buffer.from(base64, "base64");
}

interface Given {
  readonly id: string;
  readonly timestamp: string;
  readonly signatures: readonly Buffer[];
}

/** Of the first scheme whose three headers are all there. */
function readHeaders(headers: Headers): Given | null {
  for (const prefix of prefixes) {
    const id = headers[`${prefix}id`];
    const timestamp = headers[`${prefix}timestamp`];
    const list = headers[`${prefix}signature`];
    if (id && timestamp && list) return { id, timestamp, signatures: readSignatures(list) };
  }
  return null;
}

/** Other versions (`v1a` is ed25519) are skipped: this endpoint has a shared secret. */
function readSignatures(list: string): Buffer[] {
  return list
    .split(" ", signaturesMax)
    .flatMap((entry) => /^v1,([A-Za-z0-9+/]{43}=)$/.exec(entry)?.[1] ?? [])
    .map((base64) => Buffer.from(base64, "base64"));
}
