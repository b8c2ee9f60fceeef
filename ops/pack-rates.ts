/**
 * Packs the ECB's history of reference rates into the file a release carries:
 *
 *   unzip -p eurofxref-hist.zip | node dist/ops/pack-rates.js
 *
 * Days that are packed already stay as they are, also where the bank has corrected one since:
 * figures were booked on them (workspaces/rates/bundle.ts).
 */
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { text } from "node:stream/consumers";
import { brotliCompressSync, constants } from "node:zlib";
import { packedHistory, readPackedCsv } from "../workspaces/rates/bundle.js";
import { readEcbCsv } from "../workspaces/rates/published.js";
import type { PublishedQuote } from "../schemas/money/rates.js";

const heading =
  "# European Central Bank, euro foreign exchange reference rates: units for one EUR.\n" +
  "# https://www.ecb.europa.eu/stats/policy_and_exchange_rates/euro_reference_exchange_rates/\n" +
  "# Free to reuse with the source named. Packed by ops/pack-rates.ts, oldest day first.\n";

type Days = Map<string, Map<string, string>>;

const packed = existsSync(packedHistory) ? byDay(readEcbCsv(await readPackedCsv())) : new Map();
const given = byDay(readEcbCsv(await text(process.stdin)));
const days: Days = new Map([...given, ...packed]);
const bytes = brotliCompressSync(heading + toCsv(days), {
  params: { [constants.BROTLI_PARAM_LGWIN]: constants.BROTLI_MAX_WINDOW_BITS },
});
await writeFile(packedHistory, bytes);
process.stdout.write(`${days.size} days (${packed.size} before), ${bytes.length} bytes\n`);

function byDay(quotes: Iterable<PublishedQuote>): Days {
  const found: Days = new Map();
  for (const { day, currency, perEur } of quotes) {
    const rates = found.get(day) ?? new Map<string, string>();
    found.set(day, rates.set(currency, perEur));
  }
  return found;
}

function toCsv(found: Days): string {
  const currencies = [...new Set([...found.values()].flatMap((rates) => [...rates.keys()]))].sort();
  const lines = [...found]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([day, rates]) => [day, ...currencies.map((code) => rates.get(code) ?? "")].join(","));
  return [["Date", ...currencies].join(","), ...lines, ""].join("\n");
}
