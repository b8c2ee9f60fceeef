/** Reads the sources of rates over HTTP, and rejects implausible values. */
import type { Config } from "../../config.js";
import { isFartherApart, parseDecimal } from "../../schemas/money/money.js";
import {
  type PublishedQuote,
  type QuoteTable,
  dayAfter,
  ecbBreaksOffAt,
  isPublished,
  lastPublished,
  utcDay,
} from "../../schemas/money/rates.js";
import { readEcbXml, readWideList } from "./published.js";
import { setTimeout as pause } from "node:timers/promises";
import { withDeadline } from "../../runtime/deadline.js";

/** The ECB's whole history has some 10 MB. */
const patienceOfHistory = { bytesMax: 64 * 1024 * 1024, answerMsMax: 120_000 };
/** Past days of the wide list that a refresh fetches; older ones are fetched on demand. */
const ratesCatchUpDaysMax = 7;

export class RateFeeds {
  constructor(
    private readonly config: Pick<Config, "ECB_RATES_URL" | "ECB_HISTORY_URL" | "WIDE_RATES_URL">,
    private readonly patience: Patience,
    private readonly stopping: AbortSignal,
  ) {}

  /** The last 90 days, and older ones that the table lacks: the machine was off, or is new. */
  async ecb(table: QuoteTable): Promise<Fetched> {
    const recent = readEcbXml(await this.#ecbFile(this.config.ECB_RATES_URL, this.patience));
    const first = recent.reduce((least, { day }) => (day < least ? day : least), "9999-12-31");
    const after = ecbBreaksOffAt(table, first);
    if (after === null) return { quotes: recent };
    try {
      const patience = { ...this.patience, ...patienceOfHistory };
      const file = await this.#ecbFile(this.config.ECB_HISTORY_URL, patience);
      const missed = readEcbXml(file, after);
      return { quotes: [...missed.filter(({ day }) => day < first), ...recent] };
    } catch (problem) {
      // Today's rates need not wait: the days in between have no rate until the others come.
      return { quotes: recent, problem };
    }
  }

  async #ecbFile(url: string, patience: Patience): Promise<string> {
    const text = await fetchText(url, patience, this.stopping);
    if (text === null) throw new Error(`${url} answered 404`);
    return text;
  }

  /** @returns nothing when there is no list of that day */
  async wideList(day: string): Promise<PublishedQuote[]> {
    const url = this.config.WIDE_RATES_URL.replaceAll("{date}", day);
    const text = await fetchText(url, this.patience, this.stopping);
    const quotes = text === null ? [] : readWideList(text);
    const [first] = quotes;
    if (first !== undefined && first.day !== day) {
      throw new Error(`Asked for the wide list of ${day}, got that of ${first.day}`);
    }
    return quotes;
  }

  /** The lists of the last days that the table lacks, oldest first. */
  async wide(table: QuoteTable): Promise<Fetched> {
    const today = utcDay(Date.now());
    const quotes: PublishedQuote[] = [];
    const without: string[] = [];
    for (let back = ratesCatchUpDaysMax - 1; back >= 0; back--) {
      const day = dayAfter(today, -back);
      if (isPublished(table, "wide", day)) continue;
      const list = await this.wideList(day);
      if (list.length === 0) without.push(day);
      else quotes.push(...list);
    }
    const newest = quotes.at(-1)?.day ?? "";
    return { quotes, absentDays: without.filter((day) => day < newest) };
  }

  /**
   * The last list up to a day, looked for on `daysMax` days.
   * @returns nothing when there was none: a wrong address knows no day at all, so days count as
   *   absent only beside a list that came
   */
  async lastWideList(day: string, daysMax: number): Promise<Fetched> {
    const absentDays: string[] = [];
    for (let back = 0; back < daysMax; back++) {
      const quotes = await this.wideList(dayAfter(day, -back));
      if (quotes.length > 0) return { quotes, absentDays };
      absentDays.push(dayAfter(day, -back));
    }
    return { quotes: [] };
  }
}

export interface Fetched {
  readonly quotes: readonly PublishedQuote[];
  /** Days before the newest of them that have no wide list. */
  readonly absentDays?: readonly string[];
  /** Why days of the ECB before the last 90 are still missing. */
  readonly problem?: unknown;
}

/** A currency does not rise tenfold overnight, but a misplaced decimal point looks so. */
const outlierTimes = 10n;
/** A quote this old no longer judges a new one, so that a real redenomination passes in the end. */
const outlierWindowDays = 60;

/** @returns the earlier quote of the same source that this one contradicts, or null */
export function contradiction(
  table: QuoteTable,
  { source, currency, day, perEur }: PublishedQuote,
): { readonly day: string; readonly perEur: string } | null {
  const last = lastPublished(table, { source, currency, day: dayAfter(day, -1) });
  if (last === null || last.day < dayAfter(day, -outlierWindowDays)) return null;
  const [before, now] = [parseDecimal(last.perEur), parseDecimal(perEur)];
  return before && now && !isFartherApart(before, now, outlierTimes) ? null : last;
}

export interface Patience {
  readonly bytesMax: number;
  readonly answerMsMax: number;
  readonly attemptsMax: number;
  /** Before the second try, doubling before each further one. */
  readonly pauseMs: number;
}

/**
 * @returns the body; null when the server says there is no such file (404)
 * @throws the last failure when no try brought a whole body, and at once when `stopping` fires
 */
async function fetchText(
  url: string,
  patience: Patience,
  stopping: AbortSignal,
): Promise<string | null> {
  for (let attempt = 1; ; attempt++) {
    try {
      // The time limit covers the body, too: a server may answer at once and then send for ever.
      return await withDeadline(patience.answerMsMax, stopping, (signal) =>
        fetchOnce(url, patience.bytesMax, signal),
      );
    } catch (error) {
      if (attempt >= patience.attemptsMax || stopping.aborted) throw error;
      await pause(patience.pauseMs * 2 ** (attempt - 1), undefined, { signal: stopping });
    }
  }
}

async function fetchOnce(
  url: string,
  bytesMax: number,
  signal: AbortSignal,
): Promise<string | null> {
  const response = await fetch(url, { signal });
  if (!response.ok) {
    await response.body?.cancel();
    if (response.status === 404) return null;
    throw new Error(`${url} answered ${response.status}`);
  }
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  // Counted after decompression: the length header may lie.
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > bytesMax) throw new Error(`${url} sends more than ${bytesMax} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}
