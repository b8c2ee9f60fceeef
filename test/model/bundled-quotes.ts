/** The model's own reading of the lists of rates that are bundled with the service. */
import { readFileSync } from "node:fs";
import { brotliDecompressSync } from "node:zlib";
import { projectFile } from "../../runtime/project-root.js";
import { type Published, type Quotes, quotesOf } from "./quotes.js";

let read: Quotes | undefined;

/** Read once: a process asks for them again and again. */
export function bundledQuotes(): Quotes {
  return (read ??= quotesOf([readHistory(), readWideDay()]));
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
