/**
 * The events of a call under its receipt time. Where a rate is missing, the day's list is fetched
 * first (`definitions.md`, Money and rates) and the call is stamped again, so that others' figures
 * do not wait for a list.
 */
import { setTimeout as pause } from "node:timers/promises";
import type { Receipt } from "../stores/watermark/in-flight-receipts.js";
import { unprocessable } from "../schemas/http/errors.js";
import type { Access } from "../workspaces/keys.js";
import { hadIntegration, mirrorsAt } from "../workspaces/integrations.js";
import type { Receipts } from "./idempotency.js";
import { identityConflict, type IngestCall, resume, UnpricedEvent } from "./event.js";
import { type Line, planLines, type Source } from "./lines.js";
import type { IngestService } from "./append-sealed.js";

/** How long an ingest call waits for such lists; later ones come after its refusal. */
const ingestRatesMsMax = 5_000;

export interface StampingEndpoint {
  readonly service: Pick<IngestService, "postgres" | "rates"> & {
    readonly watermark: Pick<IngestService["watermark"], "receive">;
  };
  readonly providers: IngestCall["providers"];
  readonly receipts: Pick<Receipts, "recall">;
}

export interface Stamped {
  /** To be settled by the caller. */
  readonly receipt: Receipt;
  readonly lines: readonly Line[];
}

/** @throws when a store is unavailable; then no receipt is left */
export async function stamped(
  endpoint: StampingEndpoint,
  access: Access,
  sources: readonly Source[],
): Promise<Stamped> {
  const { rates } = endpoint.service;
  const until = Date.now() + ingestRatesMsMax;
  const mayCome = (line: Line): line is UnpricedEvent =>
    line instanceof UnpricedEvent && rates.mayCome(line.currency, access.baseCurrency, line.at);
  for (let isLast = false; ; isLast ||= Date.now() >= until) {
    const { receipt, lines } = await stampedNow(endpoint, access, sources);
    const missing = lines.filter(mayCome);
    if (isLast || missing.length === 0) {
      return { receipt, lines: lines.map((line) => (mayCome(line) ? later(line) : line)) };
    }
    receipt.settle();
    const { edition } = rates;
    const lists = missing.map(({ currency, at }) =>
      rates.ensureQuote(currency, access.baseCurrency, at),
    );
    const patience = pause(Math.max(0, until - Date.now()), undefined, { ref: false });
    await Promise.race([Promise.all(lists), patience]);
    isLast = rates.edition === edition;
  }
}

async function stampedNow(
  endpoint: StampingEndpoint,
  access: Access,
  sources: readonly Source[],
): Promise<Stamped> {
  const { service, providers } = endpoint;
  const receipt = service.watermark.receive(access.workspace);
  try {
    const { receivedAt } = receipt;
    const looking = { hadIntegration: hadIntegration(service.postgres), providers };
    const isMirrored = mirrorsAt(looking, access, receivedAt);
    const call = { service, providers, access, receivedAt, isMirrored };
    const lines = await planLines(call, sources);
    return { receipt, lines: await withRepeats(endpoint, access, sources, lines) };
  } catch (error) {
    receipt.settle();
    throw error;
  }
}

/**
 * A repeated call gets its earlier answer, by the rate of that time: a newer list may have ended it
 * since (`schemas/money/rates.ts`).
 */
async function withRepeats(
  { receipts }: StampingEndpoint,
  access: Access,
  sources: readonly Source[],
  lines: readonly Line[],
): Promise<Line[]> {
  const answered = new Map<Line, Line>();
  const unpriced = sources.flatMap((source, index) => {
    const line = lines[index];
    if (!(line instanceof UnpricedEvent)) return [];
    const identities = source.identitiesOf(line.event);
    return identities.length === 0 ? [] : [{ line, identities }];
  });
  if (unpriced.length === 0) return [...lines];
  const claims = unpriced.map(({ line, identities }) => ({
    identities,
    bodyHash: line.event.bodyHash,
  }));
  for (const [index, known] of (await receipts.recall(access, claims)).entries()) {
    const asked = unpriced[index];
    if (asked === undefined || known.outcome === "fresh") continue;
    const { line } = asked;
    if (known.outcome === "conflict") answered.set(line, identityConflict(known.identity));
    else answered.set(line, resume(line.event, known.answer));
  }
  return lines.map((line) => answered.get(line) ?? line);
}

/** The list is being fetched, or will be when the call is repeated. */
function later({ code, message, param }: UnpricedEvent) {
  return unprocessable(code, `${message} It may be in a moment: try again.`, param);
}
