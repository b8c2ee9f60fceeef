/**
 * The first proof: random portfolios, delivered in random order with repeats through the real
 * doors; every figure must be the reference model's. `FUZZ_MINUTES` makes it longer, `FUZZ_SEED`
 * and `FUZZ_PATH` (printed by a failure) repeat a case; days count back from today.
 */
import * as fc from "fast-check";
import { bundledQuotes } from "./model/bundled-quotes.js";
import { expectFigures } from "./model/compare.js";
import { figuresOf } from "./model/figures.js";
import { number } from "./model/json.js";
import type { ModelEvent } from "./model/facts.js";
import { openMerchant, sendAll, whenBooked } from "./model/merchant.js";
import { type Portfolio, portfolios } from "./model/portfolio.js";
import { dayMs, secondMs } from "./model/story.js";
import { openTestService } from "./service.js";

const minutes = Number(process.env["FUZZ_MINUTES"] ?? "0.2");
const limitMs = minutes * 60 * secondMs;
const runsMax = 100_000;
const quotes = bundledQuotes();
const end = Math.floor(Date.now() / dayMs) * dayMs - secondMs;

describe("figures", () => {
  it("should be the reference model's for any portfolio in any order", async () => {
    const door = await openTestService();
    const property = fc.asyncProperty(portfolios(end), (portfolio) => prove(door, portfolio));
    await fc.assert(property, {
      numRuns: runsMax,
      interruptAfterTimeLimit: limitMs,
      ...seedFrom(process.env["FUZZ_SEED"]),
      ...(process.env["FUZZ_PATH"] === undefined ? {} : { path: process.env["FUZZ_PATH"] }),
    });
  }).timeout(limitMs + 60 * secondMs);
});

function seedFrom(text: string | undefined): { seed?: number } {
  return text === undefined ? {} : { seed: Number(text) };
}

/** Halfway it notes what is known, and asks for it again when all has come. */
async function prove(
  door: { readonly base: string; readonly adminToken: string },
  { base, deliveries }: Portfolio,
): Promise<void> {
  const merchant = await openMerchant(door, base);
  const half = Math.floor(deliveries.length / 2);
  const early = await sendAll(merchant, deliveries.slice(0, half));
  const knownAt = await whenBooked(merchant);
  const late = await sendAll(merchant, deliveries.slice(half));
  await whenBooked(merchant);
  const now = figuresOf([...early, ...late], base, quotes);
  const then = figuresOf(early, base, quotes, now.names);
  await expectFigures(merchant, now, end + secondMs);
  await expectFigures(merchant, then, end + secondMs, knownAt, ["lifetime"]);
  for (const moment of momentsOf([...early, ...late])) {
    await expectFigures(merchant, now, moment, null, ["3m"]);
    await expectFigures(merchant, then, moment, knownAt, ["12m"]);
  }
}

/** When something happened, and the last moment of the month before. */
function momentsOf(events: readonly ModelEvent[]): number[] {
  const times = events
    .flatMap(({ body }) => number(body, "created") ?? [])
    .map((time) => time * secondMs)
    .sort((a, b) => a - b);
  const middle = times[Math.floor(times.length / 2)] ?? end;
  const date = new Date(times[Math.floor(times.length * 0.9)] ?? end);
  return [middle, Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1) - 1];
}
