/** A start that waits for a server says so: it may be starting, or a setting may be wrong. */
import { setTimeout as pause } from "node:timers/promises";
import { ConfigError } from "../config.js";
import type { Logger } from "./logger.js";

/** How long a start waits for a server, and what ends it sooner. */
export interface Waiting {
  readonly waitsMsMax: number;
  readonly pauseMs: number;
  readonly stopping?: AbortSignal | undefined;
}

/** Not what passes by the next try. */
const reportedAtTry = 3;

/**
 * Asks a server again while it may be starting.
 * @param judge what a failure means, for a person, and whether the next try may succeed
 * @throws ConfigError with that sentence; AbortError when stopping
 */
export async function whenAnswering<T>(
  ask: () => Promise<T>,
  judge: (error: unknown) => { readonly sentence: string; readonly mayPass: boolean },
  { waitsMsMax, pauseMs, stopping }: Waiting,
  logger: Logger | undefined,
): Promise<T> {
  const until = performance.now() + waitsMsMax;
  for (let tries = 1; ; tries += 1) {
    try {
      return await ask();
    } catch (error) {
      if (error instanceof ConfigError) throw error;
      const { sentence, mayPass } = judge(error);
      if (!mayPass || performance.now() >= until) throw new ConfigError([sentence]);
      if (tries === reportedAtTry) {
        logger?.warn({ waitsMsMax }, `waiting, it may be starting: ${sentence}`);
      }
      await pause(pauseMs, undefined, stopping && { signal: stopping });
    }
  }
}
