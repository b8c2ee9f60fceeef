/** Plans one event of the ingest endpoint, before anything is promised or written. */
import { createHash } from "node:crypto";
import { z } from "zod";
import { jsonIn } from "../http/body.js";
import { type ApiError, conflict, unprocessable } from "../schemas/http/errors.js";
import type { Access } from "../workspaces/keys.js";
import type { IsMirrored } from "../workspaces/integrations.js";
import { randomBase62 } from "../stores/vault/random.js";
import { eventId } from "../schemas/ids.js";
import { firstReceivedAt } from "../stores/vault/vault.js";
import type { Claim } from "./idempotency.js";
import { type IngestEvent, readIngestEvent } from "../providers/ingest-event.js";
import type { Provider } from "../providers/provider.js";
import { ingestRefusal } from "../providers/record.js";
import { canonicalJson } from "../schemas/canonical-json.js";
import { type IngestAnswer, ingestAnswer } from "../schemas/http/ingest.js";
import { normalize, notBooked, RateMissing } from "./normalized.js";
import type { IngestService, Taken } from "./append-sealed.js";

export interface IngestCall {
  readonly service: Pick<IngestService, "rates">;
  readonly providers: ReadonlyMap<string, Provider>;
  readonly access: Access;
  /** The recorded clock, ms since 1970. */
  readonly receivedAt: number;
  /**
   * Identifies an event without an id: the Idempotency-Key, its line in a batch, and a hash of the
   * event. Null: an identity is drawn.
   */
  readonly ownIdentity: string | null;
  /** As of the recorded clock. */
  readonly isMirrored: IsMirrored;
}

export interface ReadEvent {
  readonly taken: Taken;
  /** What it is claimed by on its own; a single call adds its Idempotency-Key. */
  readonly identities: readonly string[];
  readonly bodyHash: Buffer;
}

export interface PlannedEvent extends ReadEvent {
  readonly answer: IngestAnswer;
}

/** The stored part of an answer, so that the same call gets the same answer. */
const keptAnswer = z.object({
  answer: ingestAnswer,
  /** Of rates: if it has to be appended again, it is booked as it was answered. */
  rates_edition: z.int(),
  /** ms since 1970, for the same reason: its date if it reports none. */
  received_at: z.int(),
});

/**
 * Pure but for the drawn identity, the clock of `latency_ms` and which stores are connected.
 * @throws ApiError 400 for what is no JSON, 422 for what is wrong in it
 */
export async function planEvent(call: IngestCall, bytes: Buffer): Promise<PlannedEvent> {
  const read = readWhole(call, bytes);
  const { event, taken, identities, bodyHash } = read;
  const { event_id, native_id } = taken.meta;
  const { baseCurrency } = call.access;
  const { mirrorOf } = event;
  const normalized =
    mirrorOf !== null && (await call.isMirrored(mirrorOf))
      ? notBooked(mirrorOf, baseCurrency, call.receivedAt)
      : priced(read, () => normalize(event, native_id, baseCurrency, call));
  return { taken, identities, bodyHash, answer: { status: "success", event_id, normalized } };
}

/**
 * It lacks only its rate. What was read is kept, because reading a large batch again costs much.
 */
export class UnpricedEvent extends RateMissing {
  constructor(
    missing: RateMissing,
    readonly event: ReadEvent,
  ) {
    super(missing.message, missing.param, missing);
  }
}

/** @throws UnpricedEvent */
function priced<T>(read: ReadEvent, price: () => T): T {
  try {
    return price();
  } catch (error) {
    throw error instanceof RateMissing ? new UnpricedEvent(error, read) : error;
  }
}

function readWhole(call: IngestCall, bytes: Buffer): ReadEvent & { readonly event: IngestEvent } {
  const { access, receivedAt } = call;
  const { workspace, environment } = access;
  const value = jsonIn(bytes);
  const event = readIngestEvent(value, call.providers, receivedAt, receivedAt, environment);
  if (!event.ok) throw unprocessable(event.code, event.message, event.param);
  const refusal = event.record && ingestRefusal(event.record, prefixes[event.form]);
  if (refusal) throw unprocessable(refusal.code, refusal.message, refusal.param);
  if (event.sandbox !== null && event.sandbox !== (environment === "test")) {
    throw environmentConflict(environment);
  }
  // Over the meaning of the body: spaces, the order of keys and 1.0 for 1 make no other event.
  const bodyHash = createHash("sha256").update(canonicalJson(value)).digest();
  const identity = event.eventId ?? identityOf(call.ownIdentity, bodyHash);
  const event_id = eventId(workspace, environment, event.provider, identity);
  const rates_edition = call.service.rates.edition;
  return {
    event,
    taken: {
      meta: {
        event_id,
        workspace,
        environment,
        provider: event.provider,
        integration: null,
        form: event.form,
        native_id: identity,
        native_type: event.eventType,
        received_at: receivedAt,
        verdict: "api_key",
        rates_edition,
      },
      body: bytes,
      accountHint: event.accountHint,
    },
    identities: event.eventId === null ? [] : [`event:${event.provider}:${event.eventId}`],
    bodyHash,
  };
}

/** Of the fields of a record. */
const prefixes = { record: "", native: "payload." } as const;

/** After its day a key may name other events, so the body is part of the identity. */
function identityOf(ownIdentity: string | null, bodyHash: Buffer): string {
  return ownIdentity === null
    ? `drawn:${randomBase62(27)}`
    : `${ownIdentity}:${bodyHash.toString("base64url")}`;
}

export function claimOf(planned: PlannedEvent, more: readonly string[]): Claim {
  const kept: z.output<typeof keptAnswer> = {
    answer: planned.answer,
    rates_edition: planned.taken.meta.rates_edition,
    received_at: firstReceivedAt(planned.taken.meta),
  };
  return { identities: [...planned.identities, ...more], bodyHash: planned.bodyHash, answer: kept };
}

/**
 * A claim whose append may not have happened is appended as it was answered: recorded now, but
 * dated then.
 * @param stored the `answer` of that claim
 */
export function resume(read: ReadEvent, stored: unknown): PlannedEvent {
  const { taken } = read;
  const { answer, rates_edition, received_at: first_received_at } = keptAnswer.parse(stored);
  const meta = { ...taken.meta, rates_edition, first_received_at };
  return { ...read, taken: { ...taken, meta }, answer };
}

/** 409, naming what was used before. */
export function identityConflict(identity: string): ApiError {
  return identity.startsWith("event:")
    ? conflict("event_id_conflict", "This event id was already used with another body.", "event_id")
    : conflict(
        "idempotency_key_conflict",
        "This Idempotency-Key was already used with another body.",
        "Idempotency-Key",
      );
}

function environmentConflict(environment: Access["environment"]): ApiError {
  return unprocessable(
    "environment_conflict",
    `The key is of the ${environment} environment, the payload is not.`,
    "payload",
  );
}
