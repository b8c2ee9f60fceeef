/**
 * The European Central Bank's euro foreign exchange reference rates: units of a currency for one
 * euro, published every working day at about 16:00 CET. Free to reuse with the source named.
 */
import { exponentOf, parseDecimal, trimmedText } from "../../schemas/money/money.js";
import type { PublishedQuote } from "../../schemas/money/rates.js";

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
