/**
 * While many calls are in flight, a batch waits: an accepted event can be booked a moment later,
 * but a provider that gets no answer sends everything again.
 */
import { setImmediate, setTimeout as pause } from "node:timers/promises";
import type { Watermark } from "../stores/watermark/watermark.js";

/** More concurrent calls than this count as a burst; 200 webhooks a second are two or three. */
const callsMax = 10;
/** A burst may delay booking this long. */
const waitMsMax = 2_000;
const lookEveryMs = 25;

export async function yieldToCallers(watermark: Pick<Watermark, "callsInFlight">): Promise<void> {
  const until = Date.now() + waitMsMax;
  while (watermark.callsInFlight > callsMax && Date.now() < until) await pause(lookEveryMs);
}

/** Share of the time during a burst, so that booking never stops entirely. */
const crowdedShare = 1 / 4;
/** Bounds the pause after work that waited for something else. */
const sliceMsMax = 50;

/** Runs long work in slices of some 10 ms, which leave most of the time to calls during a burst. */
export class Slices {
  #began = performance.now();

  constructor(private readonly watermark: Pick<Watermark, "callsInFlight">) {}

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
