/**
 * Doors first: while callers crowd at them, a batch waits its turn. What is taken is durable and
 * can be booked a moment later; a provider that gets no answer sends everything again.
 */
import { setTimeout as pause } from "node:timers/promises";
import type { Watermark } from "../backends/watermark.js";

/** More calls than this at once are a crowd; 200 webhooks a second are two or three. */
const callsMax = 10;
/** A burst this long is taken before it is booked; booking goes on under any load. */
const waitMsMax = 2_000;
const lookEveryMs = 25;

export async function giveWay(watermark: Pick<Watermark, "callsAtTheDoor">): Promise<void> {
  const until = Date.now() + waitMsMax;
  while (watermark.callsAtTheDoor > callsMax && Date.now() < until) await pause(lookEveryMs);
}
