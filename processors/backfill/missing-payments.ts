/**
 * Fetches payments that no event reports. When a purchase (an invoice) has no payment an hour after
 * its event, the provider's API is asked. Its answers become raw events with the same ids as a
 * backfill's, so that neither a later webhook nor a backfill changes anything.
 */
import { setTimeout as pause } from "node:timers/promises";
import { tryExclusively } from "../../stores/postgres/leases.js";
import { LogThrottle } from "../../runtime/log-throttle.js";
import { withDeadline } from "../../runtime/deadline.js";
import { parseJsonText } from "../../schemas/parse.js";
import type { HistoryEvent, PaymentLookup, UnpaidPurchase } from "../../providers/backfill.js";
import type { Provider } from "../../providers/provider.js";
import type { Integration } from "../../workspaces/integrations.js";
import { unpaidAfterMs, unpaidPurchases } from "../../workspaces/unpaid-purchases.js";
import { takeHistory, WrongMode } from "./append-sealed.js";
import type { BackfillingService } from "./backfill.js";
import { clockSkewMsMax } from "./read-page.js";

const lookEveryMs = 60_000;
/** Older ones are left to backfills: Stripe itself keeps events this long. */
const lookBackMs = 30 * 24 * 60 * 60 * 1000;
const eventsAtOnce = 200;
/** Looks at one integration before the others have their turn. */
const looksAtOnce = 5;
/** All questions about one purchase together. */
const lookupMsMax = 60_000;
const roundsMax = 4;
/** Somebody may give the key more rights, so an API that refused is asked again. */
const refusedRestMs = 60 * 60 * 1000;

interface Progress {
  readonly credentials: string;
  /** ms since 1970, by receipt */
  to: number;
  restUntil: number;
  /** The purchase that its API refused to report on; the second time it is passed over. */
  refused: string | null;
}
export type LookupMemory = Map<string, Progress>;

/** Works until `stopping`; in one process at a time. */
export async function runPaymentLookups(service: BackfillingService): Promise<void> {
  const { log, logger, postgres, stopping } = service;
  const memory: LookupMemory = new Map();
  const failures = new LogThrottle();
  while (!stopping.aborted) {
    // Rejects when stopping, which ends the loop.
    await pause(lookEveryMs, undefined, { signal: stopping }).catch(() => undefined);
    if (stopping.aborted) return;
    try {
      const work = () => fetchMissingPayments(service, memory, Date.now());
      if (log.shared) await tryExclusively(postgres, "payment lookups", work);
      else await work();
    } catch (err) {
      if (stopping.aborted || failures.turn("lookups") === null) continue;
      logger.error({ err }, "missing payments could not be looked for; trying again");
    }
  }
}

/** @param now ms since 1970 */
export async function fetchMissingPayments(
  service: BackfillingService,
  memory: LookupMemory,
  now: number,
): Promise<void> {
  const { integrations, postgres, providers, watermark } = service;
  const tokens = [...providers.values()].filter(({ paymentLookup }) => paymentLookup !== undefined);
  const ids = await postgres.query<{ id: string }>(
    "SELECT id FROM integrations WHERE provider = ANY($1) AND deleted_at IS NULL ORDER BY id",
    [tokens.map(({ token }) => token)],
  );
  for (const id of memory.keys()) {
    if (!ids.some((row) => row.id === id)) memory.delete(id);
  }
  // A payment that is not booked yet may be the missing one.
  const to = Math.min(now - unpaidAfterMs, await watermark.completeTo());
  for (const { id } of ids) {
    const integration = await integrations.byId(id);
    const provider = integration && providers.get(integration.provider);
    const credentials = integration?.credentials[0];
    if (!integration || !provider || provider.api?.allowsCalls(credentials) !== true) continue;
    const progress = progressOf(memory, integration, now);
    if (progress.restUntil <= now) await lookThrough(service, provider, integration, progress, to);
  }
}

/** New credentials begin anew, because they may allow more. */
function progressOf(memory: LookupMemory, { id, credentials }: Integration, now: number): Progress {
  const text = JSON.stringify(credentials[0]);
  const known = memory.get(id);
  if (known?.credentials === text) return known;
  const begun = { credentials: text, to: now - lookBackMs, restUntil: 0, refused: null };
  memory.set(id, begun);
  return begun;
}

async function lookThrough(
  service: BackfillingService,
  provider: Provider,
  integration: Integration,
  progress: Progress,
  to: number,
): Promise<void> {
  const { clickhouse, logger, stopping } = service;
  const { paymentLookup: lookup } = provider;
  if (lookup === undefined) return;
  for (let looks = 0; progress.to < to && looks < looksAtOnce && !stopping.aborted; looks += 1) {
    const span = { from: progress.to, to };
    const types = lookup.purchasesIn;
    const look = await unpaidPurchases(clickhouse, integration, types, span, eventsAtOnce);
    const events: HistoryEvent[] = [];
    let stop: Unanswered | null = null;
    for (const unpaid of look.unpaid) {
      const found = await ask(service, provider, integration, lookup, unpaid);
      if ("events" in found) {
        events.push(...found.events);
        continue;
      }
      const isSecond = found.isRefused && progress.refused === unpaid.purchase;
      if (isSecond) continue;
      stop = found;
      if (found.isRefused) progress.refused = unpaid.purchase;
      break;
    }
    if (stopping.aborted) return;
    stop = (await take(service, provider, integration, events)) ?? stop;
    if (stop !== null) {
      if (stop.isRefused) progress.restUntil = Date.now() + refusedRestMs;
      const where = { integration: integration.id, provider: provider.token };
      logger.warn({ ...where, detail: stop.detail }, "missing payments could not be fetched");
      return;
    }
    progress.to = look.to;
  }
}

interface Unanswered {
  readonly isRefused: boolean;
  readonly detail: string;
}

async function ask(
  { apis, stopping }: BackfillingService,
  provider: Provider,
  integration: Integration,
  lookup: PaymentLookup,
  unpaid: UnpaidPurchase,
): Promise<{ readonly events: readonly HistoryEvent[] } | Unanswered> {
  const { id, credentials } = integration;
  const asker = { provider, integration: { id, credentials: credentials[0] } };
  const asOf = Date.now() - clockSkewMsMax;
  const answers = new Map<string, unknown>();
  return withDeadline(lookupMsMax, stopping, async (signal) => {
    for (let round = 0; round < roundsMax; round += 1) {
      const paths = lookup.asks(unpaid, answers);
      if (paths.length === 0) break;
      for (const path of paths) {
        const asked = await apis.ask(asker, { path, freshForMs: 0 }, signal);
        if (asked.outcome !== "answered") {
          const detail = asked.outcome === "silent" ? "no key" : asked.detail;
          return { isRefused: asked.outcome === "refused", detail };
        }
        const json = asked.text === null ? null : parseJsonText(asked.text);
        answers.set(path, json?.ok === true ? json.value : null);
      }
    }
    return { events: lookup.events(unpaid, answers, asOf) };
  });
}

/** @returns why they may not be booked; null: they are durable */
async function take(
  service: BackfillingService,
  provider: Provider,
  integration: Integration,
  events: readonly HistoryEvent[],
): Promise<Unanswered | null> {
  try {
    await takeHistory(service, provider, integration, events);
  } catch (error) {
    if (!(error instanceof WrongMode)) throw error;
    return { isRefused: true, detail: error.message };
  }
  if (events.length > 0) {
    const where = { integration: integration.id, provider: provider.token };
    service.logger.info({ ...where, events: events.length }, "missing payments were fetched");
  }
  return null;
}
