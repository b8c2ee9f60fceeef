/** What several providers' signature checks share: digests, and comparing them in constant time. */
import { createHmac, timingSafeEqual } from "node:crypto";
import type { Refusal } from "./provider.js";

/** More signatures than any rotation needs; keeps one header from costing more than a few µs. */
export const signaturesMax = 16;

/** HMAC-SHA256 over the parts one after the other, so that a body need not be copied. */
export function hmacSha256(key: string | Buffer, parts: readonly (string | Buffer)[]): Buffer {
  const hmac = createHmac("sha256", key);
  for (const part of parts) hmac.update(part);
  return hmac.digest();
}

/** Compares every pair whatever it finds, so the time taken tells nothing about a digest. */
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
