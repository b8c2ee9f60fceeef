/**
 * The rates a release carries: the ECB's history in one packed file, and one day of the wide list
 * in an npm package. Both can be read without a network.
 */
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { promisify } from "node:util";
import { brotliDecompress } from "node:zlib";
import type { PublishedQuote } from "../../schemas/money/rates.js";
import { projectFile } from "../../runtime/project-root.js";
import { readEcbCsv } from "./ecb.js";
import { readWideList } from "./wide.js";

/**
 * Edition 1 of every installation holds the packed ECB rates up to this day, for ever, because
 * figures were booked on them. A release with a longer history leaves this line as it is; the rest
 * becomes a later edition.
 */
export const firstEditionEnds = "2026-10-30";

export const packedHistory = projectFile("workspaces", "rates", "ecb-history.csv.br");

export async function readPackedHistory(): Promise<Generator<PublishedQuote>> {
  const text = (await decompress(await readFile(packedHistory))).toString("latin1");
  return readEcbCsv(text.slice(text.indexOf("\nDate,") + 1));
}

export async function readPackagedWideList(): Promise<PublishedQuote[]> {
  return readWideList(await readFile(packagedList, "utf8"));
}

const packagedList = createRequire(import.meta.url).resolve(
  "@fawazahmed0/currency-api/v1/currencies/eur.min.json",
);

const decompress = promisify(brotliDecompress);
