/**
 * Tokens and credentials of integrations, sealed. Old credentials that still count, each until its
 * own end, are sealed together.
 */
import { z } from "zod";
import { limits } from "../config.js";
import { canonicalJson } from "../schemas/canonical-json.js";
import type { Vault } from "../stores/vault/vault.js";

type IntegrationSecret = "token" | "credentials";

/** Binds a sealed secret to its integration, so that rows cannot be swapped. */
export function sealSecret(vault: Vault, id: string, what: IntegrationSecret, text: string) {
  return vault.seal(Buffer.from(text), boundToIntegration(what)(id));
}

/** @throws SealBroken */
export function openSecret(vault: Vault, id: string, what: IntegrationSecret, sealed: Buffer) {
  return vault.open(sealed, boundToIntegration(what)(id)).toString();
}

export function boundToIntegration(what: IntegrationSecret): (id: string) => Buffer {
  return (id) => Buffer.from(`integration:${id}:${what}`);
}

const previousCredentials = z.object({
  credentials: z.unknown(),
  /** ms since 1970 */
  validUntil: z.number(),
});
export type PreviousCredentials = Readonly<z.output<typeof previousCredentials>>;

export interface SealedPrevious {
  readonly previous_credentials_sealed: Buffer | null;
  /** When the last of them expires. */
  readonly previous_valid_until: Date | null;
}

/**
 * Old credentials that are still accepted beside `next`, newest first: earlier ones that have not
 * expired, and `current`, for `limits.rotatedCredentialsTtlMs` from now on. Equal ones appear once.
 */
export function withReplaced(
  previous: readonly PreviousCredentials[],
  current: unknown,
  next: unknown,
  now: number,
): PreviousCredentials[] {
  const others = previous.filter(
    ({ credentials, validUntil }) =>
      validUntil > now &&
      !areSameCredentials(credentials, current) &&
      !areSameCredentials(credentials, next),
  );
  return [{ credentials: current, validUntil: now + limits.rotatedCredentialsTtlMs }, ...others];
}

export function areSameCredentials(one: unknown, other: unknown): boolean {
  return canonicalJson(one) === canonicalJson(other);
}

/** @throws SealBroken */
export function openPrevious(vault: Vault, id: string, row: SealedPrevious): PreviousCredentials[] {
  if (row.previous_credentials_sealed === null) return [];
  const text = openSecret(vault, id, "credentials", row.previous_credentials_sealed);
  const stored: unknown = JSON.parse(text);
  return z.array(previousCredentials).parse(stored);
}

export function sealPrevious(
  vault: Vault,
  id: string,
  previous: readonly PreviousCredentials[],
): SealedPrevious {
  if (previous.length === 0) {
    return { previous_credentials_sealed: null, previous_valid_until: null };
  }
  const last = Math.max(...previous.map(({ validUntil }) => validUntil));
  return {
    previous_credentials_sealed: sealSecret(vault, id, "credentials", JSON.stringify(previous)),
    previous_valid_until: new Date(last),
  };
}
