/**
 * Ids that are functions of what they name, so that a redelivery, a replay and a second process
 * make the same one. 160 bits of SHA-256, in base 62.
 */
import { hash } from "node:crypto";
import { base62 } from "./base62.js";
import type { Environment } from "./records/records.js";

/** What an id is made of; the last is the provider's own id of it. */
type Identity = readonly [
  workspace: string,
  environment: Environment,
  provider: string,
  nativeId: string,
];

/** Of an ingested event without an id, `nativeId` is its identity. */
export function eventId(...event: Identity): string {
  return `evt_norm_${hashOf("event", ...event)}`;
}

/**
 * Of what a backfill read. It begins with zeros, so that where a reading of history and an event
 * report the same moment, the event's greater id wins (`definitions.md`, MRR).
 */
export function historyEventId(...read: Identity): string {
  const text = hashOf("history", ...read);
  return `evt_norm_${"0".repeat(zerosOfHistory)}${text.slice(zerosOfHistory)}`;
}

/** An event's id begins so once in 2·10¹⁴; 19 characters of hash remain. */
const zerosOfHistory = 8;

export function transactionId(...payment: Identity): string {
  return `tx_norm_${hashOf("transaction", ...payment)}`;
}

/** The product a SKU makes when it joins none. */
export function productId(...sku: Identity): string {
  return `prod_unf_${hashOf("product", ...sku)}`;
}

/** @param parts what the movement is compared by, and the delivery that caused it */
export function movementId(...parts: string[]): string {
  return `mov_norm_${hashOf("movement", ...parts)}`;
}

/** `webhook-id` of what is sent about it. @param about what it is, and its id */
export function webhookMessageId(...about: string[]): string {
  return `msg_${hashOf("webhook", ...about)}`;
}

/** Of a message to one endpoint. */
export function webhookDeliveryId(endpoint: string, message: string): string {
  return `whd_${hashOf("delivery", endpoint, message)}`;
}

/**
 * Of what an answer of the provider's API adds to an event. A fuller answer to the same event says
 * more and is another fact.
 * @param position among the facts of the event
 * @param saying what the fact says, whenever and wherever it was reported
 */
export function enrichedFactId(event: string, position: number, saying: string): string {
  return `${event}:enriched:${position}:${hashOf("enriched", saying)}`;
}

const hashBytes = 20;

/** Lengths stand before the parts, so no two lists of parts make the same text. */
function hashOf(kind: string, ...parts: string[]): string {
  let text = `${kind.length}:${kind}`;
  for (const part of parts) text += `${part.length}:${part}`;
  return base62(hash("sha256", text, "buffer").subarray(0, hashBytes));
}
