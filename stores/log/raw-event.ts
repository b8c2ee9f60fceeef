/**
 * A raw event is the untouched body, sealed, with what the endpoint wrote down about the call bound
 * to it: write access to the topic is not enough to book revenue (docs/architecture.md).
 */
import {
  type RawEvent,
  type RawEventMeta,
  rawEventCodec,
  rawEventMetaCodec,
} from "../../schemas/records/records.js";
import { SealBroken, type Vault } from "../vault/vault.js";

export function sealRawEvent(vault: Vault, meta: RawEventMeta, body: Buffer): RawEvent {
  return { meta, sealed: vault.seal(body, rawEventMetaCodec.encode(meta)) };
}

/** @throws SealBroken when the body or any field of `meta` is not what the endpoint sealed */
export function openRawEvent(vault: Vault, raw: RawEvent): Buffer {
  return vault.open(raw.sealed, rawEventMetaCodec.encode(raw.meta));
}

/** ms since 1970: the date of what reports none of its own; as recorded it is `received_at`. */
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

/** As `openRawEvent`; null when it is not what the endpoint sealed. */
export function openIntact(vault: Vault, raw: RawEvent): Buffer | null {
  try {
    return openRawEvent(vault, raw);
  } catch (error) {
    if (error instanceof SealBroken) return null;
    throw error;
  }
}
