/** What several providers' signature checks share: digests, and comparing them in constant time. */
import { createHmac, timingSafeEqual } from "node:crypto";
import type { Refusal } from "./provider.js";

/** More signatures than any rotation needs; keeps one header from costing more than a few µs. */
export const signaturesMax = 16;

/** What a header says that names its parts: `t=<unix s>,v1=<hex>[,v1=<hex>…]` and the like. */
export interface TimedDigests {
  /** Digits, as they were signed. */
  readonly timestamp: string;
  /** Those of the scheme that counts; an unreadable one is empty and equals nothing. */
  readonly digests: readonly Buffer[];
}

/**
 * Names other than the two are looked past: schemes to come, or ones not to be believed.
 * @returns null without exactly one time, or without a digest
 */
export function readTimedDigests(
  header: string,
  names: { readonly separator: string; readonly time: string; readonly digest: string },
): TimedDigests | null {
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

export function refused(reason: Refusal["reason"]): Refusal {
  return { ok: false, reason };
}
