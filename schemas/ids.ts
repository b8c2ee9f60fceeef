/**
 * Ids that are functions of what they name, so that a redelivery, a replay and a second process
 * make the same one, and the keys by which facts about money are looked up (`money_facts`). A hash
 * is 160 bits of SHA-256, in base 62. Beside them, how tokens are stored.
 */
import { hash } from "node:crypto";
import type { Environment, FactBody } from "./records/records.js";

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

export function paymentKey(payment: string): string {
  return `payment:${payment}`;
}

export function purchaseKey(purchase: string): string {
  return `purchase:${purchase}`;
}

/** The payment and the purchase that a link, or a refund naming a purchase, ties together. */
export function tieOf(body: FactBody): { payment: string; purchase: string } | null {
  if ("Link" in body) return body.Link;
  if (!("Refund" in body)) return null;
  const { payment, purchase = null } = body.Refund;
  return payment === null || purchase === null ? null : { payment, purchase };
}

/** Text of digits and letters only: safe in URLs, selected whole by a double click. */
export const base62Alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** So many digits are divided off at once: a remainder and 16 bits stay far below 2^53. */
const digitsAtOnce = 5;
const divisor = 62 ** digitsAtOnce;

/** The number the bytes stand for, big-endian, padded to the width the number of bytes needs. */
export function base62(bytes: Uint8Array): string {
  const limbs = limbsOf(bytes);
  let text = "";
  // Every event and every row has such an id: with bigints this took three times as long.
  for (let first = 0; first < limbs.length;) {
    let rest = 0;
    for (let index = first; index < limbs.length; index++) {
      const value = rest * 0x10000 + (limbs[index] ?? 0);
      const quotient = Math.floor(value / divisor);
      limbs[index] = quotient;
      rest = value - quotient * divisor;
    }
    text = digitsOf(rest) + text;
    while (first < limbs.length && limbs[first] === 0) first++;
  }
  const width = Math.ceil((bytes.length * 8) / Math.log2(62));
  return text.length > width ? text.slice(-width) : text.padStart(width, "0");
}

/** 16 bits each, the most significant first. */
function limbsOf(bytes: Uint8Array): number[] {
  const limbs: number[] = [];
  for (let end = bytes.length; end > 0; end -= 2) {
    limbs.push((end > 1 ? (bytes[end - 2] ?? 0) << 8 : 0) | (bytes[end - 1] ?? 0));
  }
  return limbs.reverse();
}

function digitsOf(number: number): string {
  let text = "";
  for (let rest = number, digit = 0; digit < digitsAtOnce; digit++) {
    text = base62Alphabet.charAt(rest % 62) + text;
    rest = Math.floor(rest / 62);
  }
  return text;
}

/** The stored form of a token of 256 random bits. */
export function hashToken(token: string): Buffer {
  return hash("sha256", token, "buffer");
}
