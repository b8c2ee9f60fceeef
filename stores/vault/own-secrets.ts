/**
 * Secrets the service made for itself, in Postgres, sealed by the vault: the key for hashing
 * accounts, and the previous vault keys. So the current vault key opens all that was ever sealed,
 * and nobody has to keep an old one (docs/decisions/backups-and-keys.md).
 */
import { randomBytes } from "node:crypto";
import { ConfigError } from "../../config.js";
import type { Postgres } from "../postgres/postgres.js";
import { durably } from "../postgres/rows.js";
import { type Vault, SealBroken, sealedUnder, vaultKeyId } from "./vault.js";

/** The name that a sealed secret is bound to. */
export function boundToName(name: string): Buffer {
  return Buffer.from(`sealed_secrets:${name}`);
}

/** 32 random bytes, drawn once: hashes made with them survive rotations of the vault key. */
export async function ownSecret(postgres: Postgres, vault: Vault, name: string): Promise<Buffer> {
  const associated = boundToName(name);
  // Two processes may start at once: both then read the one that was first.
  await postgres.query(
    "INSERT INTO sealed_secrets (name, sealed) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING",
    [name, vault.seal(randomBytes(32), associated)],
  );
  const [row] = await postgres.query<{ sealed: Buffer }>(
    "SELECT sealed FROM sealed_secrets WHERE name = $1",
    [name],
  );
  if (row === undefined) throw new Error(`${name} is not there right after it was written`);
  const secret = vault.open(row.sealed, associated);
  if (!vault.isCurrent(row.sealed)) {
    await postgres.query("UPDATE sealed_secrets SET sealed = $2 WHERE name = $1", [
      name,
      vault.seal(secret, associated),
    ]);
  }
  return secret;
}

/**
 * Teaches the vault the earlier keys.
 * @throws ConfigError when the vault's key is not the one of this installation
 */
export async function learnPreviousKeys(postgres: Postgres, vault: Vault): Promise<void> {
  const secrets = await readSecrets(postgres);
  const order = inOrderOfKeys(secrets, vault.keyId);
  // Secrets that the current key does not open, the given previous one may.
  for (const { name, sealed } of [...order, ...secrets.filter((one) => !order.includes(one))]) {
    const secret = open(vault, name, sealed);
    if (name.startsWith(ringPrefix)) vault.learn(secret.toString("hex"));
  }
}

/**
 * Whether the current key alone leads to every secret of this installation. During a rotation it
 * does not.
 */
export async function leadsToAll(postgres: Postgres, vault: Vault): Promise<boolean> {
  const secrets = await readSecrets(postgres);
  const led = inOrderOfKeys(secrets, vault.keyId);
  if (led.length < secrets.length) return false;
  const known = new Set([vault.keyId, ...led.flatMap(({ name }) => keyIn(name) ?? [])]);
  const rows = await postgres.query<{ key: string }>(
    `SELECT DISTINCT encode(substring(sealed FROM 2 FOR 8), 'hex') AS key FROM (
       SELECT token_sealed AS sealed FROM integrations
       UNION ALL SELECT credentials_sealed FROM integrations
       UNION ALL SELECT previous_credentials_sealed FROM integrations
       UNION ALL SELECT url_sealed FROM chat_channels
       UNION ALL SELECT name_sealed FROM users
       UNION ALL SELECT email_sealed FROM users
       UNION ALL SELECT email_sealed FROM invitations
       UNION ALL SELECT secret_sealed FROM webhook_endpoints
       UNION ALL SELECT previous_secret_sealed FROM webhook_endpoints) AS all_sealed
     WHERE sealed IS NOT NULL`,
  );
  return rows.every(({ key }) => known.has(key));
}

/**
 * The secrets the key leads to, through the keys in the ring, each after the one it is sealed
 * under.
 */
function inOrderOfKeys(secrets: readonly Secret[], keyId: string): Secret[] {
  const led: Secret[] = [];
  const known = new Set([keyId]);
  for (;;) {
    const next = secrets.filter((one) => !led.includes(one) && known.has(sealedUnder(one.sealed)));
    if (next.length === 0) return led;
    led.push(...next);
    for (const { name } of next) known.add(keyIn(name) ?? keyId);
  }
}

/** The id of the vault key that a secret is. */
function keyIn(name: string): string | null {
  return name.startsWith(ringPrefix) ? name.slice(ringPrefix.length) : null;
}

/** Puts an old key into the ring, sealed under the current one. Safe to repeat. */
export async function keepPreviousKey(
  postgres: Postgres,
  vault: Vault,
  previousHex: string,
): Promise<void> {
  const id = vaultKeyId(previousHex);
  if (id === vault.keyId) return;
  const name = `${ringPrefix}${id}`;
  const sealed = vault.seal(Buffer.from(previousHex, "hex"), boundToName(name));
  await durably(
    postgres,
    `INSERT INTO sealed_secrets (name, sealed) VALUES ($1, $2)
     ON CONFLICT (name) DO UPDATE SET sealed = excluded.sealed`,
    [name, sealed],
  );
}

const ringPrefix = "vault_key:";

interface Secret {
  readonly name: string;
  readonly sealed: Buffer;
}

function readSecrets(postgres: Postgres): Promise<Secret[]> {
  return postgres.query<Secret>("SELECT name, sealed FROM sealed_secrets ORDER BY name");
}

function open(vault: Vault, name: string, sealed: Buffer): Buffer {
  try {
    return vault.open(sealed, boundToName(name));
  } catch (error) {
    if (!(error instanceof SealBroken)) throw error;
    throw new ConfigError([
      `VAULT_ENCRYPTION_KEY: this installation is sealed under another vault key than ` +
        `${vault.keyId}. Give it that one, also as VAULT_ENCRYPTION_KEY_PREVIOUS`,
    ]);
  }
}
