/**
 * Reads one raw record: the seal, the adapter, the rates. Bad data is an outcome, never an
 * exception. `openRaw`, then questions to the provider's API if the adapter has any, then
 * `conclude`.
 */
import { parseBody } from "../../schemas/parse.js";
import type { LogRecord } from "../../stores/log/log.js";
import { mirrorsAt } from "../../workspaces/integrations.js";
import { firstReceivedAt, openIntact, readRawEvent } from "../../stores/vault/vault.js";
import { eventAheadMs, limits } from "../../config.js";
import { readIngestEvent } from "../../providers/ingest-event.js";
import type { Decoded, NamedCustomer, Provider } from "../../providers/provider.js";
import type { RawEventMeta } from "../../schemas/records/records.js";
import {
  hasNewQuestions,
  asksNeeded,
  mayBeAnswered,
  keepAnswered,
  keptFor,
  withNamed,
} from "../enrich/questions.js";
import { completeFacts } from "./facts.js";
import type { NormalizingService, Rejected, Outcome, Opened } from "./outcome.js";

/** @throws when a store is unavailable: the whole batch is tried again */
export async function readRaw(service: NormalizingService, record: LogRecord): Promise<Outcome> {
  const opened = await openRaw(service, record);
  if (opened.kind === "rejected") return opened;
  if (asksNeeded(opened)) return { record, event: opened.event, kind: "asking" };
  return conclude(service, opened, new Map());
}

export async function openRaw(
  service: NormalizingService,
  record: LogRecord,
): Promise<Opened | Rejected> {
  const raw = readRawEvent(record.value);
  if (raw === null) {
    const event = unreadable(record);
    const detail = "The record is no raw event; something else wrote to the topic.";
    return { kind: "rejected", record, event, step: "open", reason: "not_a_raw_event", detail };
  }
  const event = raw.meta;
  const rejected = (step: string, reason: string, detail: string): Rejected => {
    return { record, event, kind: "rejected", step, reason, detail };
  };
  const bytes = openIntact(service.vault, raw);
  if (bytes === null) {
    const detail = "The seal does not fit: changed after the endpoint, or sealed with another key.";
    return rejected("open", "seal_broken", detail);
  }
  const baseCurrency = await service.baseCurrencyOf(event.workspace);
  if (baseCurrency === null) {
    return rejected("open", "workspace_unknown", "The workspace of this event does not exist.");
  }
  const isProviders = event.form === "webhook" || event.form === "history";
  const provider = isProviders ? service.providers.get(event.provider) : null;
  if (provider === undefined) {
    const detail = `This version has no adapter for ${event.provider}.`;
    return rejected("decode", "provider_unknown", detail);
  }
  const json = parseBody(provider ?? {}, bytes);
  // The endpoint has read it, so only a rule that became stricter since can fail here.
  if (!json.ok) return rejected("decode", json.code, json.message);
  if (contradictsIntegration(provider, event, json.value)) {
    const detail = `The integration is of the ${event.environment} environment, the event is not.`;
    return rejected("decode", "environment_mismatch", detail);
  }
  const kept = await keptFor(service, provider, event, json.value);
  const known = {
    kept,
    answers: new Map<string, unknown>(),
    nativeId: event.native_id,
    receivedAt: event.received_at,
    firstReceivedAt: firstReceivedAt(event),
    environment: event.environment,
  };
  return { kind: "opened", record, event, baseCurrency, provider, body: json.value, known };
}

/** Only webhooks: a backfill ends at the first object of the other environment. */
function contradictsIntegration(
  provider: Provider | null,
  { environment, form }: RawEventMeta,
  body: unknown,
): boolean {
  if (form !== "webhook" || provider?.separatesEnvironments !== true) return false;
  const sandbox = provider.heading(body)?.sandbox ?? null;
  return sandbox !== null && sandbox !== (environment === "test");
}

/** @param answers parsed, of the provider's API */
export async function conclude(
  service: NormalizingService,
  opened: Opened,
  answers: ReadonlyMap<string, unknown>,
): Promise<Outcome> {
  const { record, event, baseCurrency } = opened;
  const named = await withNamed(service, opened, answers);
  await keepAnswered(service, named, answers);
  const { decoded, named: whom } = decodeOpened(service, named, answers);
  if (decoded.outcome === "rejected") {
    const { reason, detail } = decoded;
    return { kind: "rejected", record, event, step: "decode", reason, detail };
  }
  const sandbox = decoded.outcome === "facts" ? decoded.sandbox : undefined;
  const { workspace, environment, provider } = inEnvironment(event, sandbox);
  const customers = whom.map((one) => ({ workspace, environment, provider, named: one }));
  if (decoded.outcome === "ignored") {
    return { kind: "ignored", record, event, reason: decoded.why, customers };
  }
  // Decided at first receipt: an integration that was connected later does not matter.
  const isMirrored = mirrorsAt(service, event, firstReceivedAt(event));
  if (await isMirrored(decoded.mirrorOf)) {
    return { kind: "ignored", record, event, reason: "mirrored", customers: [] };
  }
  await service.rates.know(event.rates_edition);
  const meta = inEnvironment(event, decoded.sandbox);
  const completed = completeFacts(decoded.facts, {
    meta,
    position: record,
    baseCurrency,
    amountMinorMax: limits.amountMinorMax,
    earliest: limits.eventEarliest,
    latest: event.received_at + eventAheadMs(meta.environment),
    hashAccount: (account) =>
      service.hashAccount(meta.workspace, meta.environment, meta.provider, account),
    quote: (currency, at) => service.rates.quote(currency, baseCurrency, at, event.rates_edition),
  });
  if (completed.outcome === "rejected") return { kind: "rejected", record, event, ...completed };
  const asksOptional =
    (await mayBeAnswered(service, opened.provider, event)) &&
    hasNewQuestions(service, opened, meta.environment, answers);
  return { kind: "facts", record, event, facts: completed.facts, asksOptional, customers };
}

/** The provider's own flag decides, even where only its answers report it (`definitions.md`). */
function inEnvironment(event: RawEventMeta, sandbox: boolean | undefined): RawEventMeta {
  return sandbox === undefined ? event : { ...event, environment: sandbox ? "test" : "live" };
}

interface Reading {
  readonly decoded: Decoded;
  readonly named: readonly NamedCustomer[];
}

function decodeOpened(
  service: NormalizingService,
  opened: Opened,
  answers: ReadonlyMap<string, unknown>,
): Reading {
  const { provider, event, body, known } = opened;
  if (provider !== null) {
    const all = { ...known, answers };
    try {
      const decoded = provider.decode(body, all);
      return { decoded, named: namedIn(decoded, () => provider.customers?.(body, all) ?? []) };
    } catch (error) {
      // Our own mistake with one event: if it were thrown, no event could be read.
      const { event_id: eventId, native_type: type } = event;
      const about = { err: error, provider: event.provider, eventId, type };
      service.logger.error(about, "an adapter failed");
      const detail = "The adapter failed on this event: see its log line.";
      return { decoded: { outcome: "rejected", reason: "adapter_failed", detail }, named: [] };
    }
  }
  const read = readIngestEvent(
    body,
    service.providers,
    event.received_at,
    firstReceivedAt(event),
    event.environment,
  );
  if (!read.ok) {
    return { decoded: { outcome: "rejected", reason: read.code, detail: read.message }, named: [] };
  }
  const { mirrorOf } = read;
  const decoded: Decoded = {
    outcome: "facts",
    facts: read.facts(event.native_id),
    ...(mirrorOf === null ? {} : { mirrorOf }),
  };
  return { decoded, named: namedIn(decoded, () => read.customers(event.native_id)) };
}

function namedIn(
  { outcome }: Decoded,
  read: () => readonly NamedCustomer[],
): readonly NamedCustomer[] {
  return outcome === "rejected" ? [] : read();
}

export function unreadable(record: Pick<LogRecord, "partition" | "offset">): RawEventMeta {
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
