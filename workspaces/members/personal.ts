/** Names and e-mails of members, sealed; their ids at identity providers, hashed. */
import { createHmac } from "node:crypto";
import { ownSecret } from "../../stores/vault/own-secrets.js";
import type { Postgres } from "../../stores/postgres/postgres.js";
import type { Vault } from "../../stores/vault/vault.js";

export type Personal = "name" | "email" | "id_token";

/** Bound to its row, so that rows cannot be swapped. */
export function sealPersonal(vault: Vault, id: string, what: Personal, text: string): Buffer {
  return vault.seal(Buffer.from(text), boundToPerson(what)(id));
}

/** @throws SealBroken */
export function openPersonal(vault: Vault, id: string, what: Personal, sealed: Buffer): string {
  return vault.open(sealed, boundToPerson(what)(id)).toString();
}

export function boundToPerson(what: Personal): (id: string) => Buffer {
  return (id) => Buffer.from(`member:${id}:${what}`);
}

/** The stored form of a subject or session of an identity provider, which nobody can guess back. */
export type HashSubject = (issuer: string, subject: string) => Buffer;

export async function subjectHasher(postgres: Postgres, vault: Vault): Promise<HashSubject> {
  const key = await ownSecret(postgres, vault, "identity_hash_key");
  return (issuer, subject) =>
    createHmac("sha256", key)
      .update(JSON.stringify([issuer, subject]))
      .digest();
}
