/**
 * Accounts outside the vault are keyed hashes: no e-mail, no name, and no guessing by hashing a
 * list of customer ids (`definitions.md`, Vault). The key is drawn once, kept sealed, and outlives
 * a rotation of the vault key, because accounts must keep their names for ever.
 */
import { createHmac, createSecretKey, randomBytes } from "node:crypto";
import { base62 } from "../schemas/base62.js";
import type { Environment } from "../schemas/records/records.js";
import type { Postgres } from "../postgres/postgres.js";
import { ownSecretAssociated } from "./own-secrets.js";
import type { Vault } from "./vault.js";

/** 32 base62 characters. */
export type HashAccount = (
  workspace: string,
  environment: Environment,
  provider: string,
  account: string,
) => string;

const secretName = "account_hash_key";
const associated = ownSecretAssociated(secretName);
/** 184 bits need 31 characters; 186 would be the most that fit in 32. */
const hashBytes = 23;
const hashLength = 32;

export async function accountHasher(postgres: Postgres, vault: Vault): Promise<HashAccount> {
  const key = createSecretKey(await accountKey(postgres, vault));
  return (workspace, environment, provider, account) => {
    const parts = [workspace, environment, provider, account];
    const text = parts.map((part) => `${part.length}:${part}`).join("");
    const digest = createHmac("sha256", key).update(text).digest();
    return base62(digest.subarray(0, hashBytes)).padStart(hashLength, "0");
  };
}

/**
 * Names this installation, wherever it was restored or moved to: each has drawn a key of its own.
 * @returns 16 hexadecimal digits
 */
export async function installationId(postgres: Postgres, vault: Vault): Promise<string> {
  const key = await accountKey(postgres, vault);
  return createHmac("sha256", key).update("installation").digest("hex").slice(0, 16);
}

async function accountKey(postgres: Postgres, vault: Vault): Promise<Buffer> {
  // Two processes may start at once: both then read the one that was first.
  await postgres.query(
    "INSERT INTO sealed_secrets (name, sealed) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING",
    [secretName, vault.seal(randomBytes(32), associated)],
  );
  const [row] = await postgres.query<{ sealed: Buffer }>(
    "SELECT sealed FROM sealed_secrets WHERE name = $1",
    [secretName],
  );
  if (row === undefined) throw new Error("the account key is not there right after it was written");
  const key = vault.open(row.sealed, associated);
  if (!vault.isCurrent(row.sealed)) {
    await postgres.query("UPDATE sealed_secrets SET sealed = $2 WHERE name = $1", [
      secretName,
      vault.seal(key, associated),
    ]);
  }
  return key;
}
