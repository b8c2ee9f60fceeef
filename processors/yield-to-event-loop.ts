/**
 * Endpoints first: while callers crowd at them, a batch waits its turn. What is taken is durable
 * and can be booked a moment later; a provider that gets no answer sends everything again.
 */
import { setImmediate, setTimeout as pause } from "node:timers/promises";
import type { Watermark } from "../watermark/watermark.js";

/** More calls than this at once are a crowd; 200 webhooks a second are two or three. */
const callsMax = 10;
/** A burst this long is taken before it is booked; booking goes on under any load. */
const waitMsMax = 2_000;
const lookEveryMs = 25;

export async function yieldToCallers(watermark: Pick<Watermark, "callsInFlight">): Promise<void> {
  const until = Date.now() + waitMsMax;
  while (watermark.callsInFlight > callsMax && Date.now() < until) await pause(lookEveryMs);
}

/** Of the time, while callers crowd: enough that what they bring is not put off for ever. */
const crowdedShare = 1 / 4;
/** Work that waited for something else is no reason to rest long. */
const sliceMsMax = 50;

/** Long work in slices of some 10 ms, which leave most of the time to callers who crowd. */
export class Slices {
  #began = performance.now();

  constructor(private readonly watermark: Pick<Watermark, "callsInFlight">) {}

  /** Between two slices. */
  async letOthersRun(): Promise<void> {
    if (this.watermark.callsInFlight > callsMax) {
      const workedMs = Math.min(performance.now() - this.#began, sliceMsMax);
      await pause(workedMs / crowdedShare - workedMs);
    } else {
      await setImmediate();
    }
    this.#began = performance.now();
  }
}

/** What is worked through without a pause holds up every call and every socket so long. */
const turnMsMax = 10;
const itemsPerLook = 32;

/** `items.map(map)`, letting others have their turns in between. */
export async function mapInTurns<Item, Result>(
  items: readonly Item[],
  map: (item: Item) => Result,
): Promise<Result[]> {
  const results: Result[] = [];
  let began = performance.now();
  for (const [index, item] of items.entries()) {
    results.push(map(item));
    if (index % itemsPerLook !== 0 || performance.now() - began < turnMsMax) continue;
    await setImmediate();
    began = performance.now();
  }
  return results;
}
