/** Tokens and credentials of integrations, as they are stored: sealed. */
import type { Vault } from "../vault/vault.js";

export type IntegrationSecret = "token" | "credentials";

/** Binds a sealed secret to its integration, so that rows cannot be swapped. */
export function sealSecret(vault: Vault, id: string, what: IntegrationSecret, text: string) {
  return vault.seal(Buffer.from(text), secretOf(id, what));
}

/** @throws SealBroken */
export function openSecret(vault: Vault, id: string, what: IntegrationSecret, sealed: Buffer) {
  return vault.open(sealed, secretOf(id, what)).toString();
}

const secretOf = (id: string, what: IntegrationSecret) => Buffer.from(`integration:${id}:${what}`);
