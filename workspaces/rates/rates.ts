/**
 * Exchange rates of this process: the pure table of `schemas/money/rates.ts`, filled from the
 * release, from Postgres and daily from the sources. Without a network it answers from what it has
 * and says how old that is.
 */
import { setTimeout as pause } from "node:timers/promises";
import { LRUCache } from "lru-cache";
import { schedule } from "node-cron";
import type { Config } from "../../config.js";
import { exponentOf } from "../../schemas/money/money.js";
import {
  type QuoteTable,
  type RateSource,
  dayAfter,
  isAbsent,
  isPublished,
  newestDay,
  quoteFor,
  rateSources,
  utcDay,
  waitsForEcb,
} from "../../schemas/money/rates.js";
import type { Quote } from "../../schemas/records/records.js";
import { giveTurnBack, takeTurn } from "../../stores/postgres/leases.js";
import type { Logger } from "../../runtime/logger.js";
import type { Postgres } from "../../stores/postgres/postgres.js";
import { Editions } from "./editions.js";
import { type Patience, contradiction, type Fetched, RateFeeds } from "./sources.js";
import { wideListsSince } from "./published.js";
import type { Releases } from "../../runtime/releases.js";

interface RefreshOutcome {
  readonly added: boolean;
  readonly failed: readonly RateSource[];
}

/** `definitions.md`: older than this, `/metrics` and the log say so. */
export const staleDays = 5;
/** Days that are tried, from the wanted one back, where the wide list has gaps. */
const wideGapDaysMax = 10;
/** The ECB publishes at about 16:00; the later tries are for delays. */
const refreshTimes = "30 16,19,22 * * *";
const refreshJitterMsMax = 10 * 60 * 1000;
/** Among several processes: shorter than between two times, longer than their jitter. */
const refreshTurn = "refresh of rates";
const refreshTurnMs = 30 * 60 * 1000;
const firstRefreshAfterMs = 5_000;
const firstRefreshJitterMs = 25_000;
/** A day that could not be fetched is not asked for again before. */
const askAgainAfterMs = 60 * 60 * 1000;
const failedDaysKeptMax = 10_000;

interface Given {
  readonly postgres: Postgres;
  readonly config: Config;
  readonly logger: Logger;
  readonly releases: Releases;
  readonly patience?: Patience;
  /** Other processes add editions, too, and ask the sources. */
  readonly shared?: boolean;
  /** How late a process learns of rates that another added, or reports its own while it fetches. */
  readonly seenMs?: number;
  /** How long a start waits for days that were published since the newest one here. */
  readonly catchUpMsMax?: number;
}

/** Opens the rates with what is known here; the sources are asked later, in the background. */
export async function openRates(given: Given): Promise<Rates> {
  const rates = new Rates(given, await Editions.open(given.postgres));
  given.releases.push("rates", () => rates.close());
  rates.start();
  return rates;
}

export class Rates {
  readonly #given: Required<Given>;
  readonly #editions: Editions;
  /** The newest edition that listeners were notified of. */
  #reportedEdition: number;
  readonly #stopping = new AbortController();
  readonly #listeners = new Set<(edition: number) => void>();
  /** At most as many as there are days since the first list. */
  readonly #waitingDays = new Map<string, Promise<boolean>>();
  readonly #failedDays = new LRUCache<string, true>({
    max: failedDaysKeptMax,
    ttl: askAgainAfterMs,
  });
  readonly #saidToday = new Map<string, string>();
  #refreshing: Promise<RefreshOutcome> | undefined;
  /** One day at a time: a backfill must not flood a free service. */
  #lastDay: Promise<unknown> = Promise.resolve();
  #notifying: NodeJS.Timeout | undefined;
  #stopClock: () => Promise<void> | void = () => {};

  constructor(given: Given, editions: Editions) {
    this.#given = { ...defaults, ...given };
    this.#editions = editions;
    this.#reportedEdition = editions.table.edition;
  }

  get #table(): QuoteTable {
    return this.#editions.table;
  }

  /** The newest edition, which an endpoint stamps on a raw event. */
  get edition(): number {
    return this.#table.edition;
  }

  /**
   * The quote of an event (`definitions.md`, Money and rates).
   * @param atMs when the event happened, ms since 1970
   * @param edition the one stamped on the raw event; the newest when left out
   * @returns null when no rate is known: `fx_rate_missing`
   * @throws when the edition is not loaded: `await know(edition)` first
   */
  quote(currency: string, base: string, atMs: number, edition = this.edition): Quote | null {
    return quoteFor(this.#table, { currency, base, day: utcDay(atMs), edition });
  }

  /** Resolves when the edition, perhaps added by another process, is loaded. */
  async know(edition: number): Promise<void> {
    await this.#editions.know(edition);
    if (edition > this.edition) throw new Error(`Edition ${edition} of the rates does not exist`);
  }

  /** Asks the sources now. Never rejects because of them. */
  refresh(patience = this.#given.patience): Promise<RefreshOutcome> {
    this.#refreshing ??= this.#refreshOnce(this.#feeds(patience)).finally(
      () => (this.#refreshing = undefined),
    );
    return this.#refreshing;
  }

  #feeds(patience: Patience): RateFeeds {
    return new RateFeeds(this.#given.config, patience, this.#stopping.signal);
  }

  /**
   * To be called before anything is stamped with an edition: fetches days that are published by
   * now. A source that fails at its first try is not waited for.
   */
  async catchUp(): Promise<void> {
    if (this.#given.config.RATES_REFRESH === "off" || !this.#isBehind()) return;
    const late = new AbortController();
    const { signal } = late;
    await Promise.race([
      this.refresh({ ...this.#given.patience, attemptsMax: 1 }),
      pause(this.#given.catchUpMsMax, undefined, { signal }).catch(() => undefined),
    ]);
    late.abort();
  }

  /** An event of today needs the quote of yesterday. */
  #isBehind(): boolean {
    const { ecb, wide } = this.newestAgeDays();
    return ecb > 1 || wide > 1;
  }

  /**
   * Fetches the wide list that an event without a quote needs, when the network allows.
   * @returns whether a new edition appeared, with which to ask again
   */
  ensureQuote(currency: string, base: string, atMs: number): Promise<boolean> {
    const list = this.#listFor(currency, base, atMs);
    if (list === null) return Promise.resolve(false);
    const waiting = this.#waitingDays.get(list);
    if (waiting !== undefined) return waiting;
    const run = (): Promise<boolean> => this.#fetchDay(list);
    const mine = this.#lastDay.then(run).finally(() => {
      this.#waitingDays.delete(list);
      this.#notifyInTime();
    });
    this.#lastDay = mine;
    this.#waitingDays.set(list, mine);
    return mine;
  }

  /** Whether a list that could still be fetched might have the unknown quote. */
  mayCome(currency: string, base: string, atMs: number): boolean {
    return this.#listFor(currency, base, atMs) !== null;
  }

  /** Calls the listener with the number of each new edition; returns its removal. */
  onEdition(listener: (edition: number) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  newestDay(): Readonly<Record<RateSource, string | null>> {
    return { ecb: newestDay(this.#table, "ecb"), wide: newestDay(this.#table, "wide") };
  }

  /** Whole days since each source's newest quote. */
  newestAgeDays(): Readonly<Record<RateSource, number>> {
    const { ecb, wide } = this.newestDay();
    return { ecb: daysSince(ecb), wide: daysSince(wide) };
  }

  /** Starts the clock; the sources are asked at once only when something is missing. */
  start(): void {
    const tick = async (): Promise<void> => {
      if (this.#given.config.RATES_REFRESH === "on") await this.#refreshInTurn();
      this.#warnWhenStale();
    };
    const look = this.#given.shared
      ? setInterval(() => void this.#seeOthers(), this.#given.seenMs).unref()
      : undefined;
    const task = schedule(refreshTimes, tick, {
      timezone: "Europe/Berlin",
      maxRandomDelay: refreshJitterMsMax,
      noOverlap: true,
      suppressMissedWarning: true,
      unref: true,
    });
    const afterMs = firstRefreshAfterMs + Math.random() * firstRefreshJitterMs;
    const first = setTimeout(() => {
      if (this.#isBehind()) void tick();
    }, afterMs).unref();
    this.#stopClock = () => {
      clearTimeout(first);
      clearInterval(look);
      return task.destroy();
    };
  }

  async close(): Promise<void> {
    clearTimeout(this.#notifying);
    await this.#stopClock();
    this.#stopping.abort(new Error("the service stops"));
    await Promise.allSettled([this.#refreshing, this.#lastDay]);
  }

  /** One process asks for all; if it fails, the next one does. */
  async #refreshInTurn(): Promise<void> {
    try {
      if (!this.#given.shared) {
        await this.refresh();
        return;
      }
      if (!(await takeTurn(this.#given.postgres, refreshTurn, refreshTurnMs))) return;
      const { failed } = await this.refresh();
      if (failed.length > 0) await giveTurnBack(this.#given.postgres, refreshTurn);
    } catch (error) {
      this.#given.logger.warn({ err: error }, "rates could not be refreshed");
    }
  }

  async #seeOthers(): Promise<void> {
    try {
      await this.#editions.know();
      this.#notifyInTime();
    } catch (error) {
      this.#given.logger.warn({ err: error }, "newer rates could not be requested");
    }
  }

  /**
   * At once if no list is awaited, otherwise once for all that arrive within an interval: each
   * notification replays the rejects that wait for a rate, and a backfill adds hundreds of
   * editions.
   */
  #notifyInTime(): void {
    if (this.#waitingDays.size === 0) this.#notifyListeners();
    else if (this.edition > this.#reportedEdition) {
      this.#notifying ??= setTimeout(() => this.#notifyListeners(), this.#given.seenMs).unref();
    }
  }

  #notifyListeners(): void {
    clearTimeout(this.#notifying);
    this.#notifying = undefined;
    const { edition } = this;
    if (edition <= this.#reportedEdition) return;
    this.#reportedEdition = edition;
    for (const listener of this.#listeners) listener(edition);
  }

  async #refreshOnce(feeds: RateFeeds): Promise<RefreshOutcome> {
    const failed: RateSource[] = [];
    const reasons: Partial<Record<RateSource, string>> = {};
    let added = false;
    // ECB first; a source that fails does not hold up the other.
    for (const source of rateSources) {
      try {
        const found = await feeds[source](this.#table);
        added = (await this.#append("refreshed", found)) || added;
        if (found.problem !== undefined) throw found.problem;
      } catch (error) {
        failed.push(source);
        reasons[source] = reasonOf(error);
      }
    }
    if (failed.length > 0) {
      this.#warnOnceADay(`refresh ${failed.join()}`, "rates could not be refreshed", reasons);
    }
    return { added, failed };
  }

  /** The day whose wide list could have what no source here has. */
  #listFor(currency: string, base: string, atMs: number): string | null {
    const isKnowable = exponentOf(currency) !== null && exponentOf(base) !== null;
    if (this.#given.config.RATES_REFRESH === "off" || !isKnowable) return null;
    if (this.quote(currency, base, atMs) !== null) return null;
    const { edition } = this;
    if (waitsForEcb(this.#table, { currency, base, day: utcDay(atMs), edition })) return null;
    let list = dayAfter(utcDay(atMs), -1);
    for (let back = 1; back < wideGapDaysMax && isAbsent(this.#table, list); back++) {
      list = dayAfter(list, -1);
    }
    if (list < wideListsSince || list > utcDay(Date.now())) return null;
    return isPublished(this.#table, "wide", list) || this.#failedDays.has(list) ? null : list;
  }

  async #fetchDay(wanted: string): Promise<boolean> {
    try {
      const lists = await this.#feeds(this.#given.patience).lastWideList(wanted, wideGapDaysMax);
      if (await this.#append(`fetched for ${wanted}`, lists)) return true;
    } catch (error) {
      this.#warnOnceADay("a day", "the wide list of a day could not be fetched", {
        day: wanted,
        reason: reasonOf(error),
      });
    }
    this.#failedDays.set(wanted, true);
    return false;
  }

  async #append(note: string, { quotes, absentDays }: Fetched): Promise<boolean> {
    const plausible = quotes.filter((quote) => {
      const before = contradiction(this.#table, quote);
      const subject = `outlier ${quote.source} ${quote.currency}`;
      if (before) this.#warnOnceADay(subject, "a rate is not believed", { ...quote, before });
      return before === null;
    });
    const added = await this.#editions.append(note, plausible, absentDays);
    if (!added) return false;
    const { edition } = this;
    this.#given.logger.info(
      { edition, newest: this.newestDay(), note },
      "rates have a new edition",
    );
    this.#notifyInTime();
    return true;
  }

  #warnWhenStale(): void {
    const ages = this.newestAgeDays();
    if (rateSources.every((source) => ages[source] <= staleDays)) return;
    this.#warnOnceADay("stale", "the newest rates are old", { age_days: ages });
  }

  /** A machine without a network would repeat it all day. */
  #warnOnceADay(subject: string, message: string, details: object): void {
    const today = utcDay(Date.now());
    if (this.#saidToday.get(subject) === today || this.#stopping.signal.aborted) return;
    this.#saidToday.set(subject, today);
    this.#given.logger.warn(details, message);
  }
}

const defaults = {
  patience: {
    /** The largest real answer has 200 kB. */
    bytesMax: 4 * 1024 * 1024,
    answerMsMax: 10_000,
    /** Tries of one fetch, the pause between them doubling from this. */
    attemptsMax: 3,
    pauseMs: 2_000,
  },
  shared: false,
  seenMs: 5_000,
  catchUpMsMax: 3_000,
};

/** A sentence, not a stack: an unreachable source is an everyday thing. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return cause instanceof Error ? cause.message : String(cause);
}

function daysSince(day: string | null): number {
  const today = Date.parse(utcDay(Date.now()));
  return day === null ? Number.POSITIVE_INFINITY : (today - Date.parse(day)) / 86_400_000;
}
