/** What tests await. */
import { setTimeout as pause } from "node:timers/promises";

/** Doubled with each answer: to ask takes a processor that what is waited for could have. */
const askAgainAfterMs = { least: 10, most: 160 };

/** As many calls as a busy merchant makes. */
const atOnceMax = 16;

/** Mocha's own limit ends a wait that never comes true. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  await untilThere(async () => ((await holds()) ? true : null));
}

/** The first answer that is not null; asked as by `until`. */
export async function untilThere<Answer>(ask: () => Promise<Answer | null>): Promise<Answer> {
  const { least, most } = askAgainAfterMs;
  for (let waitMs = least; ; waitMs = Math.min(2 * waitMs, most)) {
    const answer = await ask();
    if (answer !== null) return answer;
    await pause(waitMs);
  }
}

/** Begun in this order; resolves when all have ended. */
export async function severalAtOnce<Item>(
  items: readonly Item[],
  run: (item: Item) => Promise<unknown>,
  most = atOnceMax,
): Promise<void> {
  const waiting = [...items];
  const next = async (): Promise<void> => {
    for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) await run(item);
  };
  await Promise.all(Array.from({ length: most }, next));
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
