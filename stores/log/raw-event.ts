/**
 * A raw event is the untouched body, sealed, and bound to what the endpoint recorded of the call:
 * write access to the topic is not enough to book revenue (docs/architecture.md).
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
