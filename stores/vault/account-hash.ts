/**
 * Accounts outside the vault are keyed hashes, so that nobody can find a customer by hashing a list
 * of ids (`definitions.md`, Vault). The key is drawn once, kept sealed, and outlives rotations of
 * the vault key, because accounts keep their names for ever.
 */
import { createHmac, createSecretKey } from "node:crypto";
import { LRUCache } from "lru-cache";
import { base62 } from "../../schemas/ids.js";
import type { Environment, RawEventMeta } from "../../schemas/records/records.js";
import type { Postgres } from "../postgres/postgres.js";
import { ownSecret } from "./own-secrets.js";
import type { Vault } from "./vault.js";

/** 32 base62 characters. */
export type HashAccount = (
  workspace: string,
  environment: Environment,
  provider: string,
  account: string,
) => string;

/** The key of a raw event on the log: never too long, and nothing that its sender chose. */
export function rawKey(
  hash: HashAccount,
  { workspace, environment, provider, event_id: id }: RawEventMeta,
  accountHint: string | null,
): string {
  return `${workspace}:${hash(workspace, environment, provider, accountHint ?? id)}`;
}

/** 184 bits need 31 characters; at most 186 fit in 32. */
const hashBytes = 23;
const hashLength = 32;
/** The events of one purchase come together and name the same account and payment. */
const recentMax = 5_000;

export async function accountHasher(postgres: Postgres, vault: Vault): Promise<HashAccount> {
  const key = createSecretKey(await accountKey(postgres, vault));
  const recent = new LRUCache<string, string>({ max: recentMax });
  return (workspace, environment, provider, account) => {
    const parts = [workspace, environment, provider, account];
    const text = parts.map((part) => `${part.length}:${part}`).join("");
    const known = recent.get(text);
    if (known !== undefined) return known;
    const digest = createHmac("sha256", key).update(text).digest();
    const hash = base62(digest.subarray(0, hashBytes)).padStart(hashLength, "0");
    recent.set(text, hash);
    return hash;
  };
}

/**
 * Identifies this installation, wherever it was restored or moved to, because each has its own key.
 * @returns 16 hexadecimal digits
 */
export async function installationId(postgres: Postgres, vault: Vault): Promise<string> {
  const key = await accountKey(postgres, vault);
  return createHmac("sha256", key).update("installation").digest("hex").slice(0, 16);
}

function accountKey(postgres: Postgres, vault: Vault): Promise<Buffer> {
  return ownSecret(postgres, vault, "account_hash_key");
}
