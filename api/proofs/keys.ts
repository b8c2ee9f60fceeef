/**
 * The keys that sign proofs (Ed25519), of the whole installation; the first one is drawn with the
 * first proof. Their seeds are sealed among the service's own secrets; old public keys stay listed,
 * so that what they signed can still be verified.
 */
import { type KeyObject, createHash, createPrivateKey, createPublicKey } from "node:crypto";
import { limits } from "../../config.js";
import { ExpiringCache } from "../../runtime/expiring-cache.js";
import { canonicalJson } from "../../schemas/canonical-json.js";
import type { Service } from "../../service.js";
import { durably } from "../../stores/postgres/rows.js";
import { ownSecret } from "../../stores/vault/own-secrets.js";

interface ProofKey {
  /** RFC 7638: the thumbprint of its public half. */
  readonly kid: string;
  /** ms since 1970 */
  readonly madeAt: number;
  readonly privateKey: KeyObject;
  readonly jwk: Readonly<Record<string, string>>;
}

export type ProofKeys = ReturnType<typeof openProofKeys>;

/** Longer than other processes and readers keep the list without the new key. */
export const keyRestMs = 120_000;
const listKeptMs = 4_000;
const prefix = "proof_key:";

export function openProofKeys({ postgres, vault }: Pick<Service, "postgres" | "vault">) {
  const listed = new ExpiringCache<ProofKey[]>({ ttlMs: listKeptMs, entriesMax: 1, load: read });

  /** Shared by simultaneous first proofs; a failure is tried again. */
  let first: Promise<ProofKey> | undefined;

  async function read(): Promise<ProofKey[]> {
    const rows = await postgres.query<{ readonly name: string }>(
      "SELECT name FROM sealed_secrets WHERE starts_with(name, $1) ORDER BY name DESC LIMIT $2",
      [prefix, limits.proofKeysMax],
    );
    return Promise.all(
      rows.map(async ({ name }) =>
        keyOf(await ownSecret(postgres, vault, name), Date.parse(name.slice(prefix.length))),
      ),
    );
  }

  async function make(): Promise<ProofKey> {
    const at = new Date();
    const key = keyOf(await ownSecret(postgres, vault, prefix + at.toISOString()), at.getTime());
    await postgres.query(
      `DELETE FROM sealed_secrets WHERE starts_with(name, $1) AND name NOT IN
         (SELECT name FROM sealed_secrets WHERE starts_with(name, $1) ORDER BY name DESC LIMIT $2)`,
      [prefix, limits.proofKeysMax],
    );
    listed.clear();
    return key;
  }

  /** What it signed can no longer be verified. @returns false when there is no such key */
  async function revoke(kid: string): Promise<boolean> {
    const found = (await read()).find((key) => key.kid === kid);
    if (found === undefined) return false;
    const name = prefix + new Date(found.madeAt).toISOString();
    await durably(postgres, "DELETE FROM sealed_secrets WHERE name = $1", [name]);
    listed.clear();
    return true;
  }

  return {
    revoke,
    list: () => listed.get(""),
    make,
    async signing(): Promise<ProofKey> {
      const keys = await listed.get("");
      const known = signingKeyOf(keys, Date.now());
      if (known !== null) return known;
      first ??= make().finally(() => (first = undefined));
      return first;
    },
  };
}

/**
 * @param keys newest first
 * @param now ms since 1970
 */
export function signingKeyOf<Key extends Pick<ProofKey, "madeAt">>(
  keys: readonly Key[],
  now: number,
): Key | null {
  return keys.find(({ madeAt }) => madeAt + keyRestMs <= now) ?? keys.at(-1) ?? null;
}

/** The DER prefix of an Ed25519 private key (RFC 8410); its 32 bytes follow. */
const pkcs8Head = Buffer.from("302e020100300506032b657004220420", "hex");

function keyOf(seed: Buffer, madeAt: number): ProofKey {
  const der = Buffer.concat([pkcs8Head, seed]);
  const privateKey = createPrivateKey({ key: der, format: "der", type: "pkcs8" });
  const { x = "" } = createPublicKey(privateKey).export({ format: "jwk" });
  const jwk = { kty: "OKP", crv: "Ed25519", x };
  const kid = createHash("sha256").update(canonicalJson(jwk)).digest("base64url");
  return { kid, madeAt, privateKey, jwk: { ...jwk, kid, use: "sig", alg: "EdDSA" } };
}
