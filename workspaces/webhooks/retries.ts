/** When a failed delivery is tried again, and when it is given up. Pure. */
import { limits } from "../../config.js";

/** After so many failures: 5 s, 20 s, 80 s, 5 min, … up to 8 hours. */
export function pauseMs(failures: number): number {
  const { webhookRetryMs: firstMs, webhookRetryMsMax: mostMs } = limits;
  return Math.min(mostMs, firstMs * growth ** (failures - 1));
}

const growth = 4;

/** @param asked ms that the receiver asks for (`Retry-After`) */
export function nextTry(failures: number, asked: number | null, now: Date): Date {
  const ms = Math.min(limits.webhookRetryMsMax, Math.max(pauseMs(failures), asked ?? 0));
  return new Date(now.getTime() + ms);
}

/** @param since when it failed first */
export function isOver(since: Date, now: Date): boolean {
  return now.getTime() - since.getTime() >= limits.webhookRetriesForMs;
}
