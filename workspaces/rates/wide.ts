/**
 * The wide list: `@fawazahmed0/currency-api`, one file a day with some 200 currencies (and as many
 * coins, which are left out) for one euro. It fills in what the ECB does not quote.
 */
import { z } from "zod";
import { exponentOf, parseDecimal, trimmedText } from "../../schemas/money/money.js";
import type { PublishedQuote } from "../../schemas/money/rates.js";

/** Earlier lists cannot be fetched: the project moved to npm then. */
export const wideListsSince = "2024-03-02";

const list = z.object({ date: z.iso.date(), eur: z.record(z.string(), z.number()) });

/**
 * Numbers are read as doubles and written in their shortest form, which is the text of the file up
 * to 15 digits; a rate has 10.
 * @param text `eur.min.json` or `eur.json`
 * @throws when it is not such a list
 */
export function readWideList(text: string): PublishedQuote[] {
  const { date, eur } = list.parse(JSON.parse(text));
  if (eur["usd"] === undefined) throw new Error("A wide list without the dollar");
  return Object.entries(eur).flatMap(([code, value]) => {
    const currency = code.toUpperCase();
    const perEur = parseDecimal(String(value));
    const isMoney = currency !== "EUR" && exponentOf(currency) !== null;
    if (!isMoney || perEur === null || perEur.digits <= 0n) return [];
    return [{ source: "wide", day: date, currency, perEur: trimmedText(perEur) } as const];
  });
}
