/** One raw record: the seal, the adapter, the rates. Bad data is an outcome, never an exception. */
import { parseBody } from "../backends/http/strict-body.js";
import { keepObjects, recallObjects } from "../backends/kept-objects.js";
import type { LogRecord } from "../backends/log.js";
import { openRawEvent } from "../backends/raw-event.js";
import { SealBroken } from "../backends/vault.js";
import { limits } from "../config.js";
import { readIngestEvent } from "../providers/ingest-event.js";
import type { Decoded, Provider } from "../providers/provider.js";
import { type Fact, type RawEvent, type RawEventMeta, rawEventCodec } from "../schemas/records.js";
import { completeFacts, type MissingRate } from "./facts.js";
import type { NormalizingService } from "./normalize.js";

interface Seen {
  readonly record: LogRecord;
  /** What the door wrote; blank where the record cannot even be read. */
  readonly event: RawEventMeta;
}
export interface Rejected extends Seen {
  readonly kind: "rejected";
  readonly step: string;
  readonly reason: string;
  readonly detail: string;
  readonly missingRate?: MissingRate;
}
export type Outcome =
  | (Seen & { readonly kind: "facts"; readonly facts: readonly Fact[] })
  | (Seen & { readonly kind: "ignored"; readonly reason: string })
  | Rejected;

/** @throws when the world fails (a database, the rates): the whole batch is tried again */
export async function readRaw(service: NormalizingService, record: LogRecord): Promise<Outcome> {
  const raw = decodeRecord(record);
  if (raw === null) {
    const event = unreadable(record);
    const detail = "The record is no raw event; something else wrote to the topic.";
    return { kind: "rejected", record, event, step: "open", reason: "not_a_raw_event", detail };
  }
  const event = raw.meta;
  const seen = { record, event };
  const body = openSeal(service, raw);
  if (body === null) {
    const detail = "The seal does not fit: changed after the door, or sealed with another key.";
    return { ...seen, kind: "rejected", step: "open", reason: "seal_broken", detail };
  }
  const baseCurrency = await service.baseCurrencyOf(event.workspace);
  if (baseCurrency === null) {
    const detail = "The workspace of this event does not exist.";
    return { ...seen, kind: "rejected", step: "open", reason: "workspace_unknown", detail };
  }
  const decoded = await decodeBody(service, event, body);
  if (decoded.outcome === "ignored") return { ...seen, kind: "ignored", reason: decoded.why };
  if (decoded.outcome === "rejected") {
    const { reason, detail } = decoded;
    return { ...seen, kind: "rejected", step: "decode", reason, detail };
  }
  await service.rates.know(event.rates_edition);
  const completed = completeFacts(decoded.facts, {
    meta: event,
    position: record,
    baseCurrency,
    amountMinorMax: limits.amountMinorMax,
    earliest: limits.eventEarliest,
    latest: event.received_at + limits.eventAheadMsMax,
    hashAccount: (account) =>
      service.hashAccount(event.workspace, event.environment, event.provider, account),
    quote: (currency, at) => service.rates.quote(currency, baseCurrency, at, event.rates_edition),
  });
  return completed.outcome === "facts"
    ? { ...seen, kind: "facts", facts: completed.facts }
    : { ...seen, ...completed, kind: "rejected" };
}

function decodeRecord(record: LogRecord): RawEvent | null {
  try {
    return rawEventCodec.decode(record.value);
  } catch {
    return null;
  }
}

function openSeal({ vault }: NormalizingService, raw: RawEvent): Buffer | null {
  try {
    return openRawEvent(vault, raw);
  } catch (error) {
    if (error instanceof SealBroken) return null;
    throw error;
  }
}

async function decodeBody(
  service: NormalizingService,
  event: RawEventMeta,
  body: Buffer,
): Promise<Decoded> {
  const { providers } = service;
  const webhookOf = event.form === "webhook" ? providers.get(event.provider) : null;
  if (webhookOf === undefined) {
    const detail = `This version has no adapter for ${event.provider}.`;
    return { outcome: "rejected", reason: "provider_unknown", detail };
  }
  const json = parseBody(webhookOf ?? {}, body);
  // The door has read it: only a rule that became stricter since can fail here.
  if (!json.ok) return { outcome: "rejected", reason: json.code, detail: json.message };
  if (webhookOf !== null) return decodeWebhook(service, webhookOf, event, json.value);
  const read = readIngestEvent(json.value, providers, event.received_at);
  if (!read.ok) return { outcome: "rejected", reason: read.code, detail: read.message };
  return { outcome: "facts", facts: read.facts(event.native_id) };
}

/** What the event names without telling it may have been told by an earlier one. */
async function decodeWebhook(
  { postgres, keptNews }: NormalizingService,
  provider: Provider,
  event: RawEventMeta,
  value: unknown,
): Promise<Decoded> {
  const told = provider.keeps?.(value) ?? [];
  if (told.length > 0 && (await keepObjects(postgres, event, told))) {
    keptNews(event.workspace);
  }
  const needed = provider.needs?.(value) ?? [];
  const kept =
    needed.length === 0 ? new Map<string, unknown>() : await recallObjects(postgres, event, needed);
  const { native_id: nativeId, received_at: receivedAt } = event;
  return provider.decode(value, { kept, answers: new Map(), nativeId, receivedAt });
}

function unreadable(record: LogRecord): RawEventMeta {
  return {
    event_id: `evt_unreadable_${record.partition}_${record.offset}`,
    workspace: "",
    environment: "live",
    provider: "",
    integration: null,
    form: "webhook",
    native_id: "",
    native_type: "",
    received_at: 0,
    verdict: "",
    rates_edition: 0,
  };
}
