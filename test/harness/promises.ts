/** What tests await. */
import { setTimeout as pause } from "node:timers/promises";

/** Doubled with each answer: to ask takes a processor that what is waited for could have. */
const askAgainAfterMs = { least: 10, most: 160 };

/** Mocha's own limit ends a wait that never comes true. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  const { least, most } = askAgainAfterMs;
  for (let waitMs = least; !(await holds()); waitMs = Math.min(2 * waitMs, most)) {
    await pause(waitMs);
  }
}

/** A promise, and what resolves it. */
export function latch(): readonly [reached: Promise<void>, reach: () => void] {
  let reach = (): void => {};
  const reached = new Promise<void>((resolve) => (reach = resolve));
  return [reached, reach];
}

/** What it is rejected with. */
export async function rejection(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error("it should have been rejected");
}
