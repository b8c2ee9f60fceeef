/**
 * Reads one event of the ingest endpoint, form A or form B (`definitions.md`, Ingest). Pure: the
 * endpoint computes its answer from it, and the processor reads the sealed bytes again with the
 * same function and books what was answered.
 */
import { eventAheadMs, limits } from "../config.js";
import type { Environment } from "../schemas/records/records.js";
import type {
  Decoded,
  DecodedFact,
  Heading,
  NamedCustomer,
  Provider,
  ProviderToken,
} from "./provider.js";
import {
  type EventRecord,
  type RecordRefusal,
  eventRecordShape,
  eventTypes,
  flatToRecord,
  ingestTokens,
  providerRefusal,
  readRecord,
  refuse,
  tooFarAhead,
} from "./record.js";
import { recordToCustomers, recordToFacts } from "./record-facts.js";

export interface IngestEvent {
  readonly ok: true;
  readonly form: "record" | "native";
  readonly provider: EventRecord["provider"];
  readonly eventType: string;
  /** The event's own id, when it has one. */
  readonly eventId: string | null;
  /** The payload's own sandbox flag; null where it has none. */
  readonly sandbox: boolean | null;
  readonly accountHint: string | null;
  /** The record, unless the payload is the provider's own whole body. */
  readonly record: EventRecord | null;
  /** The store that may report it itself (see `Decoded`); null: it is no copy. */
  readonly mirrorOf: ProviderToken | null;
  /** @param identity the event's id, else the one the endpoint gave it */
  facts(identity: string): readonly DecodedFact[];
  /** Whom it names; of the same identity. */
  customers(identity: string): readonly NamedCustomer[];
}

type Providers = ReadonlyMap<string, Provider>;

/**
 * @param value parsed JSON
 * @param receivedAt ms since 1970: bounds the event's date
 * @param firstReceivedAt ms since 1970: its date when it has none; another only for what was taken
 *   before
 */
export function readIngestEvent(
  value: unknown,
  providers: Providers,
  receivedAt: number,
  firstReceivedAt = receivedAt,
  environment: Environment = "live",
): IngestEvent | RecordRefusal {
  if (!isObject(value)) return refuse("body_not_an_object", "body", "must be a JSON object");
  const received = { receivedAt, firstReceivedAt, environment };
  if (Object.hasOwn(value, "payload")) return readNative(value, providers, received);
  const reading = readRecord(value, receivedAt, environment);
  return reading.ok ? fromRecord("record", reading.record, received) : reading;
}

interface Received {
  /** ms since 1970 */
  readonly receivedAt: number;
  readonly firstReceivedAt: number;
  readonly environment: Environment;
}

function readNative(
  value: JsonObject,
  providers: Providers,
  received: Received,
): IngestEvent | RecordRefusal {
  const { provider: token, event_type: eventType, payload, ...others } = value;
  const [other] = Object.keys(others);
  if (other !== undefined) {
    return Object.hasOwn(eventRecordShape.shape, other)
      ? refuse("forms_mixed", other, "is a field of form A and payload one of form B")
      : refuse("field_unknown", other, "is no field of this form");
  }
  const provider = ingestTokens.find((known) => known === token);
  if (provider === undefined) {
    return token === undefined
      ? refuse("field_missing", "provider", "is required")
      : providerRefusal("provider", token);
  }
  if (eventType === undefined) return refuse("field_missing", "event_type", "is required");
  if (typeof eventType !== "string") {
    return refuse("event_type_unknown", "event_type", "must be a string");
  }
  if (!isObject(payload)) return refuse("field_invalid", "payload", "must be a JSON object");
  const adapter = providers.get(provider);
  const heading = adapter?.heading(payload) ?? null;
  if (adapter !== undefined && heading !== null) {
    return readWhole({ provider, eventType, payload, adapter, heading, received });
  }
  const types = { ...neutralTypes, ...adapter?.flatTypes };
  const { receivedAt, environment } = received;
  const reading = flatToRecord(provider, eventType, payload, types, receivedAt, environment);
  if (!reading.ok) return reading;
  const record = withOwnPayment(reading.record, adapter?.flatPayments ?? {}, eventType);
  return { ...fromRecord("native", record, received), eventType };
}

/**
 * With the payment named as the adapter names it; one that reads so already stays. A sale without
 * an id of its own is named by its event, and so may a refund name it.
 */
function withOwnPayment(
  record: EventRecord,
  prefixes: NonNullable<Provider["flatPayments"]>,
  eventType: string,
): EventRecord {
  const prefix = Object.hasOwn(prefixes, eventType) ? prefixes[eventType] : undefined;
  const isRefund = record.event_type === "transaction.refund";
  const id = record.transaction_id ?? (isRefund ? undefined : record.event_id);
  if (prefix === undefined || id === undefined) return record;
  if (Object.values(prefixes).some((known) => id.startsWith(known))) return record;
  return { ...record, transaction_id: `${prefix}${id}` };
}

/** A flat payload may also be named in the neutral words of form A. */
const neutralTypes = Object.fromEntries(eventTypes.map((type) => [type, type]));

function fromRecord(
  form: IngestEvent["form"],
  record: EventRecord,
  { firstReceivedAt }: Received,
): IngestEvent {
  return {
    ok: true,
    form,
    provider: record.provider,
    eventType: record.event_type,
    eventId: record.event_id ?? null,
    sandbox: null,
    accountHint: record.customer_id ?? record.subscription_id ?? null,
    record,
    mirrorOf: null,
    facts: (identity) => recordToFacts(record, identity, firstReceivedAt),
    customers: (identity) => recordToCustomers(record, identity, firstReceivedAt),
  };
}

/** The payload is the body the provider would have posted to the webhook. */
function readWhole(given: {
  readonly provider: EventRecord["provider"];
  readonly eventType: string;
  readonly payload: JsonObject;
  readonly adapter: Provider;
  readonly heading: Heading;
  readonly received: Received;
}): IngestEvent | RecordRefusal {
  const { provider, eventType, payload, adapter, heading, received } = given;
  const { nativeId, nativeType, sandbox, accountHint } = heading;
  if (eventType !== nativeType) {
    return refuse("event_type_conflict", "event_type", `is not ${nativeType}, as payload`);
  }
  const known = { kept: new Map(), answers: new Map(), nativeId, ...received };
  const decoded = adapter.decode(payload, known);
  if (decoded.outcome === "rejected") return refuse(decoded.reason, "payload", decoded.detail);
  if (decoded.outcome === "ignored" && !adapter.subscribeTo.includes(eventType)) {
    const types = adapter.subscribeTo.join(", ");
    return refuse("event_type_unknown", "event_type", `of ${provider} must be one of: ${types}`);
  }
  const reported: Reported = decoded.outcome === "facts" ? decoded : { facts: [] };
  const { facts, mirrorOf = null } = reported;
  const outOfBounds = facts.map((fact) => dateRefusal(fact, received)).find(Boolean);
  if (outOfBounds) return outOfBounds;
  return {
    ok: true,
    form: "native",
    provider,
    eventType,
    eventId: nativeId,
    sandbox,
    accountHint,
    record: null,
    mirrorOf,
    facts: () => facts,
    customers: () => adapter.customers?.(payload, known) ?? [],
  };
}

type Reported = Pick<Extract<Decoded, { readonly outcome: "facts" }>, "facts" | "mirrorOf">;

function dateRefusal(
  { happenedAt }: DecodedFact,
  { receivedAt, environment }: Received,
): RecordRefusal | null {
  if (happenedAt < limits.eventEarliest) {
    return refuse("occurred_at_too_early", "payload", "must not be dated before the year 2000");
  }
  if (happenedAt > receivedAt + eventAheadMs(environment)) {
    return refuse("occurred_at_in_future", "payload", `must not be dated ${tooFarAhead}`);
  }
  return null;
}

type JsonObject = Readonly<Record<string, unknown>>;

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
