/**
 * What several providers share to prove who calls: signatures with their digests, compared in
 * constant time, and an API that takes the merchant's key as it stands.
 */
import { createHmac, type KeyObject, sign, timingSafeEqual } from "node:crypto";
import type { Delivery, ProviderApi, Refusal, Signed, Verdict } from "./provider.js";

/** More signatures than any rotation needs; keeps one header from costing more than a few µs. */
export const signaturesMax = 16;

/**
 * A header that names its parts, `t=<unix s>,v1=<hex>[,v1=<hex>…]` and the like, with HMAC-SHA256
 * over the time and the raw body.
 */
export interface TimedScheme {
  readonly header: string;
  readonly separator: string;
  /** Names other than these two are skipped: schemes to come, or ones not to be believed. */
  readonly time: string;
  readonly digest: string;
  /** Between the time and the body, in what is signed. */
  readonly joint: string;
}

interface Secret {
  readonly signing_secret: string;
}

/** What an adapter does whose only proof is such a header. */
export function timedSignatures(scheme: TimedScheme, toleranceSeconds: number) {
  return {
    verify(delivery: Delivery, given: readonly Secret[], now: number): Verdict {
      const secrets = given.map(({ signing_secret: secret }) => secret);
      return verifyTimed(scheme, delivery, secrets, toleranceSeconds, now);
    },
    sign(body: Buffer, { signing_secret: secret }: Secret, now: number): Signed {
      const headers = {
        // Stripe names the charset.
        "content-type": "application/json; charset=utf-8",
        [scheme.header]: signTimed(scheme, body, secret, now),
      };
      return { headers, body };
    },
  };
}

export function verifyTimed(
  scheme: TimedScheme,
  { headers, body }: Delivery,
  secrets: readonly string[],
  toleranceSeconds: number,
  now: number,
): Verdict {
  const header = headers[scheme.header];
  if (header === undefined || header === "") return refused("signature_missing");
  const given = readTimedDigests(header, scheme);
  if (given === null) return refused("signature_malformed");
  const expected = secrets.map((secret) => timedDigest(scheme, secret, given.timestamp, body));
  if (!anyEqual(expected, given.digests)) return refused("signature_mismatch");
  return verifyAge(given.timestamp, toleranceSeconds, now);
}

/** @returns the header's value */
export function signTimed(scheme: TimedScheme, body: Buffer, secret: string, now: number): string {
  const timestamp = Math.floor(now / 1000).toString();
  const digest = timedDigest(scheme, secret, timestamp, body).toString("hex");
  return `${scheme.time}=${timestamp}${scheme.separator}${scheme.digest}=${digest}`;
}

/**
 * To be checked last: only a genuine call learns that it is stale, which helps a person with a
 * wrong clock. In both directions: a future time would keep a captured call valid for ever.
 */
export function verifyAge(timestamp: string, toleranceSeconds: number, now: number): Verdict {
  const ageSeconds = Math.floor(now / 1000) - Number.parseInt(timestamp, 10);
  if (Math.abs(ageSeconds) > toleranceSeconds) return refused("signature_stale");
  return { ok: true, verdict: "signature" };
}

/** A pasted secret's stray blanks are the classic failure; no secret begins or ends with one. */
function timedDigest({ joint }: TimedScheme, secret: string, time: string, body: Buffer): Buffer {
  return hmacSha256(secret.trim(), [time + joint, body]);
}

interface TimedDigests {
  /** Digits, as they were signed. */
  readonly timestamp: string;
  /** Those of the scheme that counts; an unreadable one is empty and equals nothing. */
  readonly digests: readonly Buffer[];
}

/** @returns null without exactly one time, or without a digest */
function readTimedDigests(header: string, names: TimedScheme): TimedDigests | null {
  let timestamp: string | null = null;
  const digests: Buffer[] = [];
  for (const field of header.split(names.separator)) {
    const [name, value = ""] = field.trim().split("=", 2);
    if (name === names.time) {
      if (timestamp !== null) return null;
      timestamp = value;
    } else if (name === names.digest && digests.length < signaturesMax) {
      digests.push(Buffer.from(hexDigest.test(value) ? value : "", "hex"));
    }
  }
  if (timestamp === null || !unixSeconds.test(timestamp) || digests.length === 0) return null;
  return { timestamp, digests };
}

const hexDigest = /^[0-9a-f]{64}$/;
const unixSeconds = /^\d{1,12}$/;

/** HMAC-SHA256 over the parts one after the other, so that a body need not be copied. */
export function hmacSha256(key: string | Buffer, parts: readonly (string | Buffer)[]): Buffer {
  const hmac = createHmac("sha256", key);
  for (const part of parts) hmac.update(part);
  return hmac.digest();
}

/** A compact JWS: `alg` of the header is as the key is. */
export function signCompact(
  header: { readonly alg: "ES256" | "RS256" | "EdDSA"; readonly [name: string]: unknown },
  payload: unknown,
  key: KeyObject,
): string {
  const signed = [header, payload]
    .map((part) => Buffer.from(JSON.stringify(part)).toString("base64url"))
    .join(".");
  // Ed25519 hashes by itself.
  const hash = header.alg === "EdDSA" ? null : "sha256";
  const signature = sign(hash, Buffer.from(signed), { key, dsaEncoding: "ieee-p1363" });
  return `${signed}.${signature.toString("base64url")}`;
}

/** Always compares every pair, so the time taken reveals nothing about a digest. */
export function anyEqual(expected: readonly Buffer[], given: readonly Buffer[]): boolean {
  let found = false;
  for (const one of expected) {
    for (const other of given) {
      const equal = one.length === other.length && timingSafeEqual(one, other);
      found = equal || found;
    }
  }
  return found;
}

/** @param detail see `Refusal` */
export function refused(reason: Refusal["reason"], detail?: string): Refusal {
  return { ok: false, reason, ...(detail === undefined ? {} : { detail }) };
}

/**
 * An API that takes the merchant's key as it stands: nothing is exchanged for it.
 *
 * @param api.keyOf a key is optional
 */
export function bearerApi<Credentials>(api: {
  readonly baseUrl: (credentials: Credentials) => string;
  readonly keyOf: (credentials: Credentials) => string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  readonly requestsPerSecond: number;
  readonly limitsAddress?: true;
  readonly meaningOf?: ProviderApi<Credentials>["meaningOf"];
}): ProviderApi<Credentials> {
  const { baseUrl, keyOf, headers, requestsPerSecond, limitsAddress, meaningOf } = api;
  return {
    baseUrl,
    requestsPerSecond,
    ...(limitsAddress && { limitsAddress }),
    ...(meaningOf && { meaningOf }),
    allowsCalls: (credentials) => keyOf(credentials) !== undefined,
    authorize: async (credentials) => {
      const key = keyOf(credentials);
      if (key === undefined) return null;
      const authorization = `Bearer ${key}`;
      return { headers: { authorization, ...headers }, until: Number.MAX_SAFE_INTEGER };
    },
  };
}
