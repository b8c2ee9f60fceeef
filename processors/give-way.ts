/**
 * Doors first: while callers crowd at them, a batch waits its turn. What is taken is durable and
 * can be booked a moment later; a provider that gets no answer sends everything again.
 */
import { setTimeout as pause } from "node:timers/promises";
import type { Watermark } from "../backends/watermark.js";

/** More calls than this at once are a crowd; 200 webhooks a second are about five. */
const callsMax = 24;
/** A batch waits no longer, so that booking goes on under any load. */
const waitMsMax = 1_500;
const lookEveryMs = 25;

export async function giveWay(watermark: Pick<Watermark, "callsAtTheDoor">): Promise<void> {
  const until = Date.now() + waitMsMax;
  while (watermark.callsAtTheDoor > callsMax && Date.now() < until) await pause(lookEveryMs);
}
