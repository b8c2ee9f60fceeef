/**
 * The rates a release carries: the ECB's history in one packed file, and one day of the wide list
 * in an npm package. Both can be read without a network.
 */
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { promisify } from "node:util";
import { brotliDecompress } from "node:zlib";
import type { PublishedQuote, QuoteHistory } from "../../schemas/money/rates.js";
import { projectFile } from "../../runtime/project-root.js";
import { readEcbCsv, readWideList } from "./published.js";

/**
 * Edition 1 of every installation holds the packed ECB rates up to this day, for ever, because
 * figures were booked on them. A release with a longer history leaves this line as it is; the rest
 * becomes a later edition.
 */
const firstEditionEnds = "2026-10-30";

export const packedHistory = projectFile("workspaces", "rates", "ecb-history.csv.br");

/** As `readEcbCsv` takes it. */
export async function readPackedCsv(): Promise<string> {
  const text = (await decompress(await readFile(packedHistory))).toString("latin1");
  return text.slice(text.indexOf("\nDate,") + 1);
}

/**
 * The packed history: quotes of edition 1 (`first`), and those that no edition has yet (`later`).
 * A line of `first` is split only when one of its currencies is used.
 */
export async function readPackedHistory(): Promise<{
  readonly first: QuoteHistory;
  readonly later: readonly PublishedQuote[];
}> {
  const [heading = "", ...lines] = (await readPackedCsv()).trimEnd().split("\n");
  const [, ...currencies] = heading.split(",");
  const isLater = (line: string): boolean => dayOf(line) > firstEditionEnds;
  const firstLines = lines.filter((line) => !isLater(line));
  return {
    first: {
      days: firstLines.map(dayOf),
      currencies,
      *quotesOf(currency) {
        const column = currencies.indexOf(currency) + 1;
        for (const line of column === 0 ? [] : firstLines) {
          const perEur = line.split(",", column + 1)[column];
          if (perEur) yield { day: dayOf(line), perEur };
        }
      },
    },
    later: [...readEcbCsv([heading, ...lines.filter(isLater)].join("\n"))],
  };
}

function dayOf(line: string): string {
  return line.slice(0, "2026-10-30".length);
}

export async function readPackagedWideList(): Promise<PublishedQuote[]> {
  return readWideList(await readFile(packagedList, "utf8"));
}

const packagedList = createRequire(import.meta.url).resolve(
  "@fawazahmed0/currency-api/v1/currencies/eur.min.json",
);

const decompress = promisify(brotliDecompress);
