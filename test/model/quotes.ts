/**
 * The rule of rates, reported a second time (`definitions.md`, Money and rates), over the published
 * lists as they are bundled with the service.
 */
import { readFileSync } from "node:fs";
import { brotliDecompressSync } from "node:zlib";
import { projectFile } from "../../runtime/project-root.js";
import { dayMs } from "./calendar.js";
import { type Fraction, fractionOfText, one, over, significant } from "./fraction.js";

interface Quotes {
  /** Base per original by the rule, 10 significant digits; null when none is known. */
  quote(currency: string, base: string, time: number): Fraction | null;
}

/** One source: by currency, its quotes per EUR, oldest day first ("YYYY-MM-DD"). */
type Published = ReadonlyMap<string, readonly (readonly [day: string, perEur: string])[]>;

/** How long a quote goes on counting once its source went on without it: from that day. */
const gapDaysMax = 10;
/** The first source's days are all here; of the second, which has a list every day, some are. */
const scattered = 1;
const predecessors = ["BGN", "CYP", "EEK", "HRK", "LTL", "LVL", "MTL", "SIT", "SKK"];

/** @param sources in the order of trust */
export function quotesOf(sources: readonly Published[]): Quotes {
  const days = sources.map(publicationDays);
  const legOf = (currency: string, day: string): Fraction | null => {
    if (currency === "EUR") return one;
    for (const [index, source] of sources.entries()) {
      const last = source.get(currency)?.findLast(([published]) => published < day);
      if (last === undefined) continue;
      const next = days[index]?.find((published) => published > last[0]) ?? day;
      const daysSince = (Date.parse(day) - Date.parse(next)) / dayMs;
      const isFixed = predecessors.includes(currency);
      if (!isFixed && index === scattered && lacksList(days[index] ?? [], last[0], day)) continue;
      if (daysSince <= gapDaysMax || isFixed) return fractionOfText(last[1]);
    }
    return null;
  };
  const legs = new Map<string, Fraction | null>();
  const cachedLegOf = (currency: string, day: string) => {
    const key = currency + day;
    const known = legs.get(key) ?? (legs.has(key) ? null : legOf(currency, day));
    legs.set(key, known);
    return known;
  };
  return {
    quote(currency, base, time) {
      if (currency === base) return one;
      const day = new Date(time).toISOString().slice(0, 10);
      const original = cachedLegOf(currency, day);
      const target = cachedLegOf(base, day);
      if (original === null || target === null) return null;
      return significant(over(target, original), 10);
    },
  };
}

/** Whether one of the days between two has a list that is not among the known ones. */
function lacksList(known: readonly string[], from: string, to: string): boolean {
  const newest = known.at(-1) ?? "";
  const end = Date.parse(newest < to ? newest : to);
  const between = Math.max(0, (end - Date.parse(from)) / dayMs - 1);
  return known.filter((day) => day > from && day < to && day < newest).length < between;
}

function publicationDays(source: Published): string[] {
  return [...new Set([...source.values()].flatMap((quotes) => quotes.map(([day]) => day)))].sort();
}

let read: Quotes | undefined;

/** By the lists that are bundled with the service, which are read once. */
export function quote(currency: string, base: string, time: number): Fraction | null {
  read ??= quotesOf([readHistory(), readWideDay()]);
  return read.quote(currency, base, time);
}

/** Lines "day,quote,…" below a heading "Date,currency,…", oldest day first. */
function readHistory(): Published {
  const packed = readFileSync(projectFile("workspaces", "rates", "ecb-history.csv.br"));
  const lines = brotliDecompressSync(packed).toString("latin1").split("\n");
  const heading = lines.findIndex((line) => line.startsWith("Date,"));
  const currencies = lines[heading]?.split(",").slice(1) ?? [];
  const quotes = new Map(
    currencies.map((currency): [string, [string, string][]] => [currency, []]),
  );
  for (const line of lines.slice(heading + 1)) {
    const [day, ...cells] = line.split(",");
    for (const [index, perEur] of cells.entries()) {
      if (day !== undefined && perEur !== "")
        quotes.get(currencies[index] ?? "")?.push([day, perEur]);
    }
  }
  return quotes;
}

/** One day of many currencies: {"date": "…", "eur": {"kwd": 0.35, …}}, read as text. */
function readWideDay(): Published {
  const folder = ["node_modules", "@fawazahmed0", "currency-api", "v1", "currencies"];
  const list = readFileSync(projectFile(...folder, "eur.min.json"), "utf8");
  const day = /"date":"([\d-]+)"/.exec(list)?.[1] ?? "";
  const quotes = [...list.matchAll(/"([a-z]{3})":([\d.eE+-]+)/g)];
  return new Map(
    quotes.map(([, currency = "", perEur = ""]) => [currency.toUpperCase(), [[day, perEur]]]),
  );
}
