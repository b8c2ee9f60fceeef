/**
 * The vault: AES-256-GCM under keys derived from the master key (`definitions.md`, Vault).
 *
 * A sealed value is: version (1 byte) | id of the master key (8) | salt (16) | nonce (12) |
 * ciphertext | tag (16). Each process derives a data key of its own from the master key and a
 * random salt, so its nonces may simply count and never meet those of another process. The
 * associated data is bound to the value and not stored.
 */
import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from "node:crypto";
import { LRUCache } from "lru-cache";
import {
  type RawEvent,
  type RawEventMeta,
  rawEventCodec,
  rawEventMetaCodec,
} from "../../schemas/records/records.js";

export type Vault = ReturnType<typeof openVault>;

/** The fingerprint of a master key, as sealed values carry it: 16 hexadecimal characters. */
export function vaultKeyId(keyHex: string): string {
  return masterKey(keyHex).id.toString("hex");
}

/** The id of the master key that a sealed value needs. */
export function sealedUnder(sealed: Buffer): string {
  return sealed.toString("hex", 1, saltAt);
}

/** The value or its associated data was changed, or its master key is missing. */
export class SealBroken extends Error {
  override readonly name = "SealBroken";
}

const version = 1;
const keyIdBytes = 8;
const saltBytes = 16;
const nonceBytes = 12;
const tagBytes = 16;
const saltAt = 1 + keyIdBytes;
const nonceAt = saltAt + saltBytes;
const textAt = nonceAt + nonceBytes;
/** Far below the bound of AES-GCM for one key (NIST SP 800-38D: 2^32). */
const sealsPerDataKeyMax = 2 ** 31;
/** One for each process start that is read; a derivation costs about 10 µs. */
const derivedKeysMax = 256;

/**
 * @param keyHex 64 hexadecimal characters
 * @param previousHex the master key before a rotation: opens, never seals
 */
export function openVault(keyHex: string, previousHex?: string) {
  const current = masterKey(keyHex);
  const masters = new Map([[current.id.toString("hex"), current.key]]);
  const learn = (hex: string): void => {
    const { id, key } = masterKey(hex);
    masters.set(id.toString("hex"), key);
  };
  if (previousHex !== undefined) learn(previousHex);
  const derived = new LRUCache<string, Buffer>({ max: derivedKeysMax });
  let sealing = freshDataKey(current);

  function dataKeyFor(sealed: Buffer): Buffer {
    const name = sealed.toString("hex", 1, nonceAt);
    let key = derived.get(name);
    if (key === undefined) {
      const master = masters.get(sealed.toString("hex", 1, saltAt));
      if (master === undefined) {
        throw new SealBroken(
          "sealed under a master key that is neither current nor a previous one",
        );
      }
      key = dataKey(master, sealed.subarray(saltAt, nonceAt));
      derived.set(name, key);
    }
    return key;
  }

  return {
    seal(plain: Buffer, associated: Buffer): Buffer {
      if (sealing.seals >= sealsPerDataKeyMax) sealing = freshDataKey(current);
      const nonce = Buffer.alloc(nonceBytes);
      nonce.writeUIntBE(sealing.seals, nonceBytes - 6, 6);
      sealing.seals += 1;
      const cipher = createCipheriv("aes-256-gcm", sealing.key, nonce);
      cipher.setAAD(associated);
      const text = cipher.update(plain);
      cipher.final();
      return Buffer.concat([sealing.head, nonce, text, cipher.getAuthTag()]);
    },

    /** @throws SealBroken when a byte of the value or of the associated data was changed */
    open(sealed: Buffer, associated: Buffer): Buffer {
      if (sealed.length < textAt + tagBytes || sealed[0] !== version) {
        throw new SealBroken("this is no sealed value");
      }
      const nonce = sealed.subarray(nonceAt, textAt);
      const decipher = createDecipheriv("aes-256-gcm", dataKeyFor(sealed), nonce);
      decipher.setAAD(associated);
      decipher.setAuthTag(sealed.subarray(-tagBytes));
      const plain = decipher.update(sealed.subarray(textAt, -tagBytes));
      try {
        decipher.final();
      } catch (cause) {
        throw new SealBroken("the value or what is bound to it was changed", { cause });
      }
      return plain;
    },

    /** False for what the previous master key sealed, which should be sealed again. */
    isCurrent: (sealed: Buffer) => sealed.subarray(1, saltAt).equals(current.id),

    /** A key of 32 bytes for one purpose, the same in every process with this master key. */
    deriveKey: (purpose: string) => derive(current.key, Buffer.alloc(0), `purpose:${purpose}`),

    /** Adds another master key that opens and never seals: 64 hexadecimal characters. */
    learn,

    /** The fingerprint of the master key that seals: it reveals nothing about the key. */
    keyId: current.id.toString("hex"),
  };
}

interface MasterKey {
  readonly key: Buffer;
  readonly id: Buffer;
}

function masterKey(hex: string): MasterKey {
  if (!/^[0-9a-fA-F]{64}$/.test(hex)) throw new Error("a vault key has 64 hexadecimal characters");
  const key = Buffer.from(hex, "hex");
  const id = createHash("sha256").update("vault key id").update(key).digest();
  return { key, id: id.subarray(0, keyIdBytes) };
}

function freshDataKey(master: MasterKey) {
  const salt = randomBytes(saltBytes);
  const head = Buffer.concat([Buffer.from([version]), master.id, salt]);
  return { key: dataKey(master.key, salt), head, seals: 0 };
}

function dataKey(master: Buffer, salt: Buffer): Buffer {
  return derive(master, salt, "data key");
}

function derive(master: Buffer, salt: Buffer, info: string): Buffer {
  return Buffer.from(hkdfSync("sha256", master, salt, info, 32));
}

/**
 * A raw event is the untouched body, sealed, and bound to what the endpoint recorded of the call:
 * write access to the topic is not enough to book revenue (docs/architecture.md).
 */
export function sealRawEvent(vault: Vault, meta: RawEventMeta, body: Buffer): RawEvent {
  return { meta, sealed: vault.seal(body, rawEventMetaCodec.encode(meta)) };
}

/** @throws SealBroken when the body or any field of `meta` was changed */
export function openRawEvent(vault: Vault, raw: RawEvent): Buffer {
  return vault.open(raw.sealed, rawEventMetaCodec.encode(raw.meta));
}

/**
 * ms since 1970: the date of events without one of their own; when recorded, it is `received_at`.
 */
export function firstReceivedAt(meta: RawEventMeta): number {
  return meta.first_received_at ?? meta.received_at;
}

/** The value of a record of the raw topic; null when something else wrote it. */
export function readRawEvent(value: Buffer): RawEvent | null {
  try {
    return rawEventCodec.decode(value);
  } catch {
    return null;
  }
}

/** As `openRawEvent`; null when the seal is broken. */
export function openIntact(vault: Vault, raw: RawEvent): Buffer | null {
  try {
    return openRawEvent(vault, raw);
  } catch (error) {
    if (error instanceof SealBroken) return null;
    throw error;
  }
}
