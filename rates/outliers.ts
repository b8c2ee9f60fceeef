/** Which fetched rates are not believed. */
import { isFartherApart, parseDecimal } from "../schemas/money/decimal.js";
import {
  type PublishedQuote,
  type QuoteTable,
  dayAfter,
  lastPublished,
} from "../schemas/money/rates.js";

/** A currency does not become ten times dearer overnight; a misplaced point does that. */
const outlierTimes = 10n;
/** A quote this old no longer judges a new one, so a real redenomination passes in the end. */
const outlierWindowDays = 60;

/** @returns the earlier quote of the same source that speaks against this one, or null */
export function contradiction(
  table: QuoteTable,
  { source, currency, day, perEur }: PublishedQuote,
): { readonly day: string; readonly perEur: string } | null {
  const last = lastPublished(table, { source, currency, day: dayAfter(day, -1) });
  if (last === null || last.day < dayAfter(day, -outlierWindowDays)) return null;
  const [before, now] = [parseDecimal(last.perEur), parseDecimal(perEur)];
  return before && now && !isFartherApart(before, now, outlierTimes) ? null : last;
}
