/** Tokens and credentials of integrations, as they are stored: sealed. */
import type { Vault } from "../vault/vault.js";

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
