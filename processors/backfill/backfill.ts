/**
 * Runs backfills: reads a provider's lists page by page, appends each object as a raw event like a
 * webhook's, and then compares what the provider lists with what is booked. After a crash it
 * continues with the same page; a page read twice changes nothing.
 */
import { setTimeout as pause } from "node:timers/promises";
import {
  type Backfill,
  type BackfillStep,
  type LeasedBackfill,
  backfillNews,
  endLeases,
  leaseBackfill,
  moveBackfill,
} from "../../workspaces/history/backfills.js";
import { repeatReconciliations } from "../../workspaces/history/reconciliations.js";
import type { Unread } from "../../providers/api/ask-json.js";
import type { Service } from "../../service.js";
import { recordsBehind } from "../../stores/watermark/backlog.js";
import { groups } from "../../stores/watermark/watermark.js";
import { RecordTooLarge } from "../../stores/log/log.js";
import { Lookout } from "../../runtime/lookout.js";
import { isStoreAway } from "../../stores/store-away.js";
import {
  type HistoryList,
  type HistoryPage,
  nothingListed,
  placeOf,
} from "../../providers/backfill.js";
import type { Provider } from "../../providers/provider.js";
import type { Integration } from "../../workspaces/integrations.js";
import { topics } from "../../schemas/records/records.js";
import { comparePage, isSame, KnownIds } from "./compare.js";
import type { HashAccount } from "../../stores/vault/account-hash.js";
import { takeHistory, WrongMode } from "./append-sealed.js";
import { type ExportList, exportList, readLines, readPage } from "./read-page.js";

/** Records that may wait at each step when a turn begins. */
const backfillAheadRecordsMax = 300;
/** Beyond these its position is kept, and other backfills get their turn. */
const turnPagesMax = 10;
/**
 * A page may fail so often for reasons other than the provider or a store; then the backfill fails.
 */
export const backfillTriesMax = 5;
/** While an API is unavailable the pause doubles up to this. */
const backfillPauseMsMax = 5 * 60 * 1000;

export type BackfillingService = Service & {
  readonly providers: ReadonlyMap<string, Provider>;
  readonly stopping: AbortSignal;
  readonly hashAccount: HashAccount;
};

const lookEveryMs = 500;
const calmLookEveryMs = 10_000;
const pauseMsFirst = 2_000;
/** How long it waits for booking, and then asks for pages, before it looks at other backfills. */
const turnMsMax = 1_000;
/** A look asks the log three times, which are calls over Kafka. */
const turnLookEveryMs = 50;

/** Works until `stopping`, some pages of one backfill at a time. */
export async function runBackfills(service: BackfillingService): Promise<void> {
  const { logger, stopping } = service;
  const calmEveryMs = service.log.shared ? lookEveryMs : calmLookEveryMs;
  const lookout = new Lookout(backfillNews, { everyMs: lookEveryMs, calmEveryMs });
  const ids = new KnownIds();
  const memory: Memory = { pauses: new Map(), startedAgain: new Map(), tries: new Map(), ids };
  let isAlone = !service.log.shared;
  const work = async () => {
    if (isAlone) await endLeases(service.postgres, new Date());
    isAlone = false;
    const backfill = await leaseBackfill(service.postgres, new Date());
    if (backfill === null) return false;
    lookout.found();
    await moveOn(service, backfill, memory).catch((error: unknown) =>
      afterFailure(service, backfill, memory, error),
    );
    return "more";
  };
  // The lease runs out, and the same page is read again.
  await lookout.watch(stopping, work, (err) =>
    logger.error({ err }, "a backfill could not go on; trying again"),
  );
}

/** What a process remembers of each running backfill. */
interface Memory {
  readonly pauses: Map<string, number>;
  /** The list and position from which it was last restarted. */
  readonly startedAgain: Map<string, string>;
  /** Tries of its current page that failed for reasons other than the provider or a store. */
  readonly tries: Map<string, number>;
  readonly ids: KnownIds;
}

/** @throws the error again where a store is unavailable, because the same page succeeds later */
async function afterFailure(
  { logger, postgres, stopping }: BackfillingService,
  backfill: LeasedBackfill,
  { pauses, tries }: Memory,
  error: unknown,
): Promise<void> {
  if (stopping.aborted || isStoreAway(error)) throw error;
  const { id, list } = backfill;
  const tried = (tries.get(id) ?? 0) + 1;
  logger.error({ err: error, backfill: id, list, tried }, "a page of a backfill failed");
  const isLast = tried >= backfillTriesMax || error instanceof RecordTooLarge;
  if (isLast) tries.delete(id);
  else tries.set(id, tried);
  const ms = nextPause(pauses, id, lookEveryMs);
  const now = new Date();
  const problem =
    error instanceof RecordTooLarge
      ? `An object of ${list} is larger than the log takes.`
      : `The service failed on a page of ${list}; its log has the reason (backfill ${id}).`;
  const step = { ...backfill, problem, restUntil: new Date(now.getTime() + ms) };
  await moveBackfill(postgres, backfill, isLast ? { ...step, state: "failed" } : step, now);
}

async function moveOn(
  service: BackfillingService,
  backfill: LeasedBackfill,
  memory: Memory,
): Promise<void> {
  const { postgres, stopping } = service;
  const { pauses, startedAgain, tries } = memory;
  const outcome = await stepOf(service, backfill, memory);
  if (stopping.aborted) return;
  const { id } = backfill;
  const now = new Date();
  if ("step" in outcome) {
    pauses.delete(id);
    tries.delete(id);
    if (outcome.step.state !== "reading") startedAgain.delete(id);
    if (outcome.step.state === "done" || outcome.step.state === "different") {
      // Missing payments may have been read, so the months are compared again.
      await repeatReconciliations(postgres, backfill.integration, backfill.from, now);
    }
    return moveBackfill(postgres, backfill, { ...outcome.step, restUntil: now }, now);
  }
  const { problem } = outcome;
  if (outcome.for === "good") {
    startedAgain.delete(id);
    const failed = { ...backfill, state: "failed" as const, problem, restUntil: now };
    return moveBackfill(postgres, backfill, failed, now);
  }
  const ms = problem === null ? lookEveryMs : nextPause(pauses, id);
  const restUntil = new Date(now.getTime() + ms);
  // It keeps the time of its last page, because the comparison waits until that is booked.
  await moveBackfill(postgres, backfill, { ...backfill, problem, restUntil }, backfill.updatedAt);
}

/** ms; each pause is twice as long as the one before. */
export function nextPause(pauses: Map<string, number>, of: string, first = pauseMsFirst): number {
  const ms = pauses.get(of) ?? first;
  pauses.set(of, Math.min(ms * 2, backfillPauseMsMax));
  return ms;
}

/**
 * It goes on to the next page, or stops for now or for good (`problem` null: others come first).
 */
type Outcome =
  | { readonly step: Omit<BackfillStep, "restUntil"> }
  | Unread
  | { readonly for: "now"; readonly problem: null };

/** Of the provider's API, or the lines of an uploaded file. */
type AnyList = HistoryList | ExportList;

function listsOf(provider: Provider, { source }: Backfill): readonly AnyList[] {
  const { backfill, historyExport } = provider;
  if (source === "api") return backfill?.lists ?? [];
  return historyExport === undefined ? [] : [exportList(historyExport)];
}

async function stepOf(
  service: BackfillingService,
  backfill: Backfill,
  { startedAgain, ids }: Memory,
): Promise<Outcome> {
  const integration = await service.integrations.byId(backfill.integration);
  const provider = integration && service.providers.get(integration.provider);
  const lists = provider ? listsOf(provider, backfill) : [];
  const list = lists.find(({ name }) => name === backfill.list);
  if (!integration || !provider || list === undefined) {
    return { for: "good", problem: "The integration was deleted, or has no history to read." };
  }
  if (!(await isItsTurn(service, backfill, list))) return { for: "now", problem: null };
  const isComparing = backfill.state === "comparing";

  // 1. Pages of one list, each appended while the next is asked for. Only then may the position
  // move: after a crash the same pages are read again, with the same event ids.
  const until = performance.now() + turnMsMax;
  const pageAfter = (after: string | null): Promise<HistoryPage | Unread> =>
    pageOf(service, { ...backfill, after }, provider, integration, { list, ids });
  const pages: HistoryPage[] = [];
  // If there is none, the next turn finds out why.
  const following = async ({ next }: HistoryPage): Promise<HistoryPage | Unread | null> => {
    const isLast = next === null || pages.length === turnPagesMax || performance.now() > until;
    return isLast ? null : pageAfter(next);
  };
  const append = async ({ events }: HistoryPage): Promise<void> =>
    takeHistory(service, provider, integration, events, backfill.source);
  let read: HistoryPage | Unread | null = await pageAfter(backfill.after);
  if (!("objects" in read)) return fromItsStart(backfill, read, startedAgain) ?? read;
  try {
    while (read !== null && "objects" in read) {
      pages.push(read);
      [read] = await Promise.all([following(read), isComparing ? null : append(read)]);
    }
  } catch (error) {
    if (error instanceof WrongMode) return { for: "good", problem: error.message };
    throw error;
  }
  const last = pages.at(-1) ?? nothingListed;

  if (isComparing) {
    // 2. Compare what they list with what is booked, added up by month.
    const payments = pages.flatMap((page) => page.payments);
    const comparison = await comparePage(service, backfill, integration, payments);
    return { step: nextStep(backfill, comparing(lists), last, { comparison }) };
  }
  const objects = pages.reduce((sum, page) => sum + page.objects, backfill.counts[list.name] ?? 0);
  const counts = { ...backfill.counts, [list.name]: objects };
  return { step: nextStep(backfill, lists, last, { counts }) };
}

/**
 * A page is asked for by the last object of the one before. If that was deleted (as Stripe's
 * products can be), there is no such page, and the list is read again.
 * @returns null where it was restarted from there before, or something else is wrong
 */
function fromItsStart(
  backfill: Backfill,
  { for: until }: Extract<Outcome, { for: string }>,
  startedAgain: Map<string, string>,
): Outcome | null {
  const { id, state, list, after, counts, comparison } = backfill;
  const place = `${list} ${after}`;
  if (until !== "good" || state !== "reading" || after === null) return null;
  if (startedAgain.get(id) === place) return null;
  startedAgain.set(id, place);
  const anew = { after: null, counts: { ...counts, [list]: 0 }, problem: null };
  return { step: { state, list, comparison, ...anew, ...listBegun() } };
}

/** Live events wait behind few of history, and what was read is booked before it is compared. */
async function isItsTurn(
  service: BackfillingService,
  backfill: Backfill,
  list: AnyList,
): Promise<boolean> {
  const until = performance.now() + turnMsMax;
  while (!service.stopping.aborted) {
    if (await isReady(service, backfill, list)) return true;
    if (performance.now() > until) return false;
    await pause(turnLookEveryMs);
  }
  return false;
}

async function isReady(
  { log, watermark }: BackfillingService,
  { state, after, updatedAt }: Backfill,
  { ofEach }: AnyList,
): Promise<boolean> {
  // What was read before must be booked where ids are looked up in the books.
  const looksUp = state === "comparing" || ofEach !== undefined;
  if (looksUp && after === null && (await watermark.completeTo()) <= updatedAt.getTime()) {
    return false;
  }
  if (state === "comparing") return true;
  watermark.hurry("transactions");
  const normalized = await recordsBehind(log, topics.raw, groups.normalize, "committed");
  const completed = await recordsBehind(log, topics.incomplete, groups.complete, "committed");
  const booked = await recordsBehind(log, topics.facts, groups.book, "handled");
  return [normalized, completed, booked].every((behind) => behind <= backfillAheadRecordsMax);
}

/** In a list that is asked about each id, `after` is an id whose last page was read. */
async function pageOf(
  service: BackfillingService,
  backfill: Backfill,
  provider: Provider,
  integration: Integration,
  { list, ids }: { readonly list: AnyList; readonly ids: KnownIds },
): Promise<HistoryPage | Unread> {
  if (!("path" in list)) return readLines(service, list, backfill);
  const span = { from: backfill.from.getTime(), to: backfill.createdAt.getTime() };
  const of = { provider, integration, list, span };
  if (list.ofEach === undefined) return readPage(service, of, backfill.after);
  const { id: last, next } = placeOf(backfill.after);
  const id =
    next === null ? await ids.next(service, backfill, integration, list.ofEach, last) : last;
  if (id === null) return nothingListed;
  const after = next === null ? id : backfill.after;
  const page = await readPage(service, of, after);
  return "objects" in page ? { ...page, next: page.next ?? id } : page;
}

type Progress = Partial<Pick<BackfillStep, "counts" | "comparison">>;

function nextStep(
  backfill: Backfill,
  lists: readonly AnyList[],
  { next, through = null }: HistoryPage,
  progress: Progress,
): Omit<BackfillStep, "restUntil"> {
  const { state, list, counts, listSince, comparison } = backfill;
  const known = { state, list, counts, comparison, problem: null, ...progress };
  if (next !== null) return { ...known, after: next, listSince, through };
  const here = { ...known, ...listBegun() };
  const place = lists.findIndex(({ name }) => name === list);
  const following = lists[place + 1];
  if (following !== undefined) return { ...here, list: following.name, after: null };
  if (state === "comparing") {
    const same = (here.comparison ?? []).every(isSame);
    return { ...here, state: same ? "done" : "different", after: null };
  }
  const [first] = comparing(lists);
  if (first === undefined) return { ...here, state: "done", after: null };
  return { ...here, state: "comparing", list: first.name, after: null, comparison: [] };
}

function listBegun() {
  return { listSince: new Date(), through: null };
}

function comparing(lists: readonly AnyList[]): AnyList[] {
  return lists.filter(({ reportsPayments }) => reportsPayments);
}
