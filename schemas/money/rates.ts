/**
 * Exchange rates as a pure function of currency, day and edition (`definitions.md`, Money and
 * rates). An answer at the endpoint, the booked row and a replay years later ask the same table the
 * same question, so they agree to the last digit.
 *
 * A table only grows. Each addition is an **edition**; a question names the newest edition it may
 * use, and whatever came later does not exist for it.
 *
 * Days are UTC dates as `YYYY-MM-DD`: as text they sort as they follow each other.
 */
import {
  type Decimal,
  divideSignificant,
  euroPredecessors,
  exponentOf,
  parseDecimal,
  trimmedText,
} from "./money.js";
import type { Quote } from "../records/records.js";

/** In the order they are asked. */
export const rateSources = ["ecb", "wide"] as const;
export type RateSource = (typeof rateSources)[number];

/** What a source said one EUR was worth on a day, as decimal text. */
export interface PublishedQuote {
  readonly source: RateSource;
  readonly day: string;
  readonly currency: string;
  readonly perEur: string;
}

/** A day, and the first edition that knew of it. */
interface Known {
  readonly day: string;
  readonly edition: number;
}
interface KnownQuote extends Known {
  readonly perEur: string;
  /** `perEur` once it was needed: most of 27 years never is. */
  parsed: Decimal | null;
}
/** Of one source up to a day; a quarter of a million quotes of the ECB, of which few are used. */
export interface QuoteHistory {
  /** Each day it published anything, oldest first. */
  readonly days: readonly string[];
  readonly currencies: readonly string[];
  /** Oldest first; called once for each currency that is used. */
  quotesOf(currency: string): Iterable<Pick<PublishedQuote, "day" | "perEur">>;
}
/** All in the order of day, then edition. */
interface Source {
  /** Each day the source published anything. */
  readonly publications: Known[];
  /** Each day it was asked for and had nothing. */
  readonly absences: Known[];
  /** Those that were used so far; all the others are in `older`. */
  readonly quotes: Map<string, KnownQuote[]>;
  older: (currency: string) => KnownQuote[];
}
export interface QuoteTable {
  /** The newest edition, 0 while empty. */
  edition: number;
  /** Answers given, by question: an edition never changes, so an answer is right for ever. */
  readonly answers: Map<string, Quote | null>;
  readonly sources: Readonly<Record<RateSource, Source>>;
}

const rateDigitsMax = 10;
/** How long a quote counts once its source went on without the currency. */
const orphanDaysMax = 10;
/**
 * Of the ECB every day it published is here, from its history, as long as no two lie farther apart:
 * 5 days so far (Easter, Christmas). Of the wide list, which comes every day, some are.
 */
const ecbPauseDaysMax = 7;
/** A day's traffic asks few questions many times; a backfill asks each a few times in a row. */
const answersKeptMax = 20_000;

/**
 * The quote of an event: of each currency the last one published before the event's own day, so
 * that it exists whenever the event arrives. Each currency is looked up by its own best source.
 *
 * `date` is the older of the two, `source` is `ecb` only if both are, and `same` for one and the
 * same currency (rate 1, dated with the event). Between EUR and another the other's report.
 *
 * @returns null when either currency is unknown or has no quote that counts: never guessed
 * @throws when the edition is not in the table yet: the caller has to load it first
 */
export function quoteFor(table: QuoteTable, asked: Question): Quote | null {
  if (asked.edition > table.edition) {
    throw new Error(`Edition ${asked.edition} of the rates is not loaded`);
  }
  const key = `${asked.currency}/${asked.base}/${asked.day}/${asked.edition}`;
  const given = table.answers.get(key);
  if (given !== undefined) return given;
  const quote = lookUp(table, asked);
  if (table.answers.size >= answersKeptMax) table.answers.clear();
  table.answers.set(key, quote);
  return quote;
}

/** Whether it waits for days of the ECB that are not here: no other source is asked for those. */
export function waitsForEcb(
  table: QuoteTable,
  { currency, base, day, edition }: Question,
): boolean {
  return [currency, base].some((code) => {
    const last = lastBefore(quotesOf(table.sources.ecb, code), day, edition);
    if (last === undefined) return false;
    return isInEcbGap(table, { source: "ecb", currency: code, quoted: last.day, day, edition });
  });
}

export interface Question {
  readonly currency: string;
  readonly base: string;
  /** The event's own UTC day. */
  readonly day: string;
  readonly edition: number;
}

export function emptyQuoteTable(): QuoteTable {
  return { edition: 0, answers: new Map(), sources: { ecb: emptySource(), wide: emptySource() } };
}

/**
 * Adds what one edition brought. Of the same source, day and currency the greatest edition counts.
 * @param absentDays of which there is no wide list
 * @param ecb more quotes, of the first edition only
 * @throws when editions come out of order
 */
export function addEdition(
  table: QuoteTable,
  edition: number,
  published: Iterable<PublishedQuote>,
  absentDays: Iterable<string> = [],
  ecb?: QuoteHistory,
): void {
  if (edition <= table.edition) throw new Error(`Edition ${edition} comes after ${table.edition}`);
  if (ecb !== undefined) {
    for (const day of ecb.days) addDay(table.sources.ecb.publications, day, edition);
    table.sources.ecb.older = (currency) =>
      Array.from(ecb.quotesOf(currency), (quote) => ({ ...quote, edition, parsed: null }));
  }
  for (const day of absentDays) addDay(table.sources.wide.absences, day, edition);
  for (const quote of published) {
    const source = table.sources[quote.source];
    addDay(source.publications, quote.day, edition);
    const known = quotesOf(source, quote.currency);
    const { day, perEur } = quote;
    insert(known, firstAfter(known, day), { day, edition, perEur, parsed: null });
  }
  table.edition = edition;
}

/** The last quote of a source dated on or before a day, in the newest edition. */
export function lastPublished(
  table: QuoteTable,
  asked: { readonly source: RateSource; readonly currency: string; readonly day: string },
): { readonly day: string; readonly perEur: string } | null {
  const known = quotesOf(table.sources[asked.source], asked.currency);
  const last = known[firstAfter(known, asked.day) - 1];
  return last === undefined ? null : { day: last.day, perEur: last.perEur };
}

export function isPublished(table: QuoteTable, source: RateSource, day: string): boolean {
  return isIn(table.sources[source].publications, day, table.edition);
}

/** Whether the wide list of a day was asked for and there is none. */
export function isAbsent(table: QuoteTable, day: string): boolean {
  return isIn(table.sources.wide.absences, day, table.edition);
}

/**
 * The day of the ECB after which some of its days are not here; null: all are.
 * @param upTo a day from which on all can be had
 */
export function ecbBreaksOffAt(table: QuoteTable, upTo: string): string | null {
  const days = table.sources.ecb.publications.map(({ day }) => day);
  const last = days.at(-1);
  if (last === undefined) return null;
  return days.find((day, at) => isEcbGap(day, days[at + 1] ?? day)) ?? (last < upTo ? last : null);
}

/** @returns null while the source has published nothing */
export function newestDay(table: QuoteTable, source: RateSource): string | null {
  return table.sources[source].publications.at(-1)?.day ?? null;
}

/** The UTC day so many days later. */
export function dayAfter(day: string, days: number): string {
  return utcDay(Date.parse(day) + days * dayMs);
}

/** @param atMs ms since 1970 */
export function utcDay(atMs: number): string {
  return new Date(atMs).toISOString().slice(0, 10);
}

const dayMs = 24 * 60 * 60 * 1000;

function emptySource(): Source {
  return { publications: [], absences: [], quotes: new Map(), older: () => [] };
}

function quotesOf({ quotes, older }: Source, currency: string): KnownQuote[] {
  let known = quotes.get(currency);
  if (known === undefined) quotes.set(currency, (known = older(currency)));
  return known;
}

/** Once for each day, with the edition that was first. */
function addDay(days: Known[], day: string, edition: number): void {
  const at = firstFrom(days, day);
  if (days[at]?.day !== day) insert(days, at, { day, edition });
}

function lookUp(table: QuoteTable, { currency, base, day, edition }: Question): Quote | null {
  if (exponentOf(currency) === null || exponentOf(base) === null) return null;
  const answer = { currency, base_currency: base, edition };
  if (currency === base) return { ...answer, rate: "1", date: day, source: "same" };
  const original = legOf(table, currency, day, edition);
  const reporting = legOf(table, base, day, edition);
  if (original === null || reporting === null) return null;
  return {
    ...answer,
    rate: trimmedText(divideSignificant(reporting.perEur, original.perEur, rateDigitsMax)),
    date: original.day < reporting.day ? original.day : reporting.day,
    source: original.source === "ecb" && reporting.source === "ecb" ? "ecb" : "wide",
  };
}

interface Leg {
  readonly perEur: Decimal;
  readonly day: string;
  readonly source: RateSource;
}

/** One euro is one euro on any day, by any source: it neither ages nor widens a quote. */
const euro: Leg = { perEur: { digits: 1n, scale: 0 }, day: "9999-12-31", source: "ecb" };

function legOf(table: QuoteTable, currency: string, day: string, edition: number): Leg | null {
  if (currency === "EUR") return euro;
  for (const source of rateSources) {
    const last = lastBefore(quotesOf(table.sources[source], currency), day, edition);
    if (last === undefined) continue;
    const asked = { source, currency, quoted: last.day, day, edition };
    // Another source's would be a guess as well: what counts is a day of the ECB that is not here.
    if (source === "ecb" && isInEcbGap(table, asked)) return null;
    if (!stillCounts(table, asked)) continue;
    return { perEur: parsedOf(last), day: last.day, source };
  }
  return null;
}

interface Quoted {
  readonly source: RateSource;
  readonly currency: string;
  readonly quoted: string;
  readonly day: string;
  readonly edition: number;
}

/**
 * A quote counts as long as its source has published nothing newer. The first publication without
 * the currency does not end it at once: it counts through that day, as it would have anyway (the
 * quote of a day is for later days), and 10 days more.
 *
 * Before a newer publication, a day of the wide list that is not here may have reported another
 * quote: then none is known until that day's list was asked for.
 */
function stillCounts(table: QuoteTable, asked: Quoted): boolean {
  if (euroPredecessors.has(asked.currency)) return true;
  const { publications } = table.sources[asked.source];
  const next = firstKnown(publications, asked.quoted, asked.edition);
  if (next === null) return true;
  if (next < asked.day && asked.day > dayAfter(next, orphanDaysMax)) return false;
  return asked.source === "ecb" || isSeamless(table, asked);
}

/** Whether days of the ECB that are not here may have reported a later quote. */
function isInEcbGap(table: QuoteTable, { currency, quoted, day, edition }: Quoted): boolean {
  if (euroPredecessors.has(currency) || day <= dayAfter(quoted, 1)) return false;
  const next = firstKnown(table.sources.ecb.publications, quoted, edition);
  return next !== null && isEcbGap(quoted, next);
}

/** Whether more lies between two days of the ECB than days on which it does not publish. */
function isEcbGap(day: string, next: string): boolean {
  return next > dayAfter(day, ecbPauseDaysMax);
}

/** Whether of each day after the quoted one it is known what the source published, if anything. */
function isSeamless(table: QuoteTable, { source, quoted, day, edition }: Quoted): boolean {
  const { publications, absences } = table.sources[source];
  const newest = lastKnown(publications, edition);
  for (let at = dayAfter(quoted, 1); at < day && at < newest; at = dayAfter(at, 1)) {
    if (!isIn(publications, at, edition) && !isIn(absences, at, edition)) return false;
  }
  return true;
}

/** A day filled in by a later edition had not been published for this question. */
function firstKnown(days: readonly Known[], after: string, edition: number): string | null {
  let at = firstAfter(days, after);
  while ((days[at]?.edition ?? 0) > edition) at++;
  return days[at]?.day ?? null;
}

function lastKnown(days: readonly Known[], edition: number): string {
  return days.findLast((one) => one.edition <= edition)?.day ?? "";
}

function isIn(days: readonly Known[], day: string, edition: number): boolean {
  const found = days[firstFrom(days, day)];
  return found?.day === day && found.edition <= edition;
}

/** Those of one day are in the order of their editions, so the first that may be used is right. */
function lastBefore(
  quotes: readonly KnownQuote[],
  day: string,
  edition: number,
): KnownQuote | undefined {
  let at = firstFrom(quotes, day) - 1;
  while ((quotes[at]?.edition ?? 0) > edition) at--;
  return quotes[at];
}

function parsedOf(quote: KnownQuote): Decimal {
  quote.parsed ??= parseDecimal(quote.perEur);
  if (quote.parsed !== null && quote.parsed.digits > 0n) return quote.parsed;
  throw new Error(`No quote: ${quote.perEur}`);
}

/** Index of the first day that is not before the given one. */
function firstFrom(days: readonly Known[], day: string): number {
  const last = days.length - 1;
  if (days[last]?.day === day && days[last - 1]?.day !== day) return last;
  if ((days[last]?.day ?? "") < day) return days.length;
  return firstWhere(days, (one) => one >= day);
}

/** Index of the first day after the given one. */
function firstAfter(days: readonly Known[], day: string): number {
  if ((days.at(-1)?.day ?? "") <= day) return days.length;
  return firstWhere(days, (one) => one > day);
}

/** @param isReached false of the first days, true of the others */
function firstWhere(days: readonly Known[], isReached: (day: string) => boolean): number {
  let [low, high] = [0, days.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isReached(days[middle]?.day ?? "")) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Nearly always at the end, where a `push` does. */
function insert<T>(list: T[], at: number, value: T): void {
  if (at === list.length) list.push(value);
  else list.splice(at, 0, value);
}
