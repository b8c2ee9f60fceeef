/**
 * Rates as their sources publish them, units of a currency for one euro.
 *
 * The European Central Bank's euro foreign exchange reference rates come every working day at about
 * 16:00 CET. Free to reuse with the source named.
 *
 * The wide list, `@fawazahmed0/currency-api`, is one file a day with some 200 currencies (and as
 * many coins, which are left out). It fills in what the ECB does not quote.
 */
import { exponentOf, parseDecimal, trimmedText } from "../../schemas/money/money.js";
import type { PublishedQuote } from "../../schemas/money/rates.js";
import { z } from "zod";

/** In the bank's own file; empty in the packed one. */
const notQuoted = "N/A";

/**
 * The bank's history file (`eurofxref-hist.csv`) and our packed one: a heading `Date,USD,…`, then
 * a line a day in any order.
 * @throws naming the line that is not in that shape
 */
export function* readEcbCsv(text: string): Generator<PublishedQuote> {
  const [heading = "", ...lines] = text.trimEnd().split(/\r?\n/);
  const [first, ...currencies] = heading.split(",");
  if (first !== "Date") throw new Error(`No history of reference rates: ${heading.slice(0, 40)}`);
  for (const line of lines) {
    const [day = "", ...cells] = line.split(",");
    if (!dayShape.test(day) || cells.length !== currencies.length) {
      throw new Error(`No line of reference rates: ${line.slice(0, 40)}`);
    }
    for (let index = 0; index < cells.length; index++) {
      const currency = currencies[index];
      const perEur = cells[index];
      if (!currency || !perEur || perEur === notQuoted) continue;
      yield { source: "ecb", day, currency, perEur };
    }
  }
}

/**
 * The bank's daily XML, `<Cube time='…'>` around `<Cube currency='…' rate='…'/>`.
 * @param after only later days are read
 * @throws on an unknown form of a day or a rate: half an answer is none
 */
export function readEcbXml(text: string, after = ""): PublishedQuote[] {
  const quotes: PublishedQuote[] = [];
  let day = "";
  for (const [cube] of text.matchAll(/<Cube\b[^>]*>/g)) {
    // The whole history has a quarter of a million quotes, of which some years are needed at most.
    if (day !== "" && day <= after && !cube.includes("time=")) continue;
    const attributes = new Map(
      [...cube.matchAll(/(\w+)=["']([^"']*)["']/g)].map(([, name, value]) => [name, value ?? ""]),
    );
    day = attributes.get("time") ?? day;
    const [currency, rate] = [attributes.get("currency"), attributes.get("rate")];
    if ((currency === undefined && rate === undefined) || day <= after) continue;
    const perEur = parseDecimal(rate ?? "");
    if (!dayShape.test(day) || !currency || perEur === null || perEur.digits <= 0n) {
      throw new Error(`No reference rate: ${day} ${cube.slice(0, 80)}`);
    }
    if (exponentOf(currency) === null) continue;
    quotes.push({ source: "ecb", day, currency, perEur: trimmedText(perEur) });
  }
  if (quotes.length === 0) throw new Error("An answer without reference rates");
  if (!text.trimEnd().endsWith("</gesmes:Envelope>")) throw new Error("An answer cut short");
  return quotes;
}

const dayShape = /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])$/;

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
