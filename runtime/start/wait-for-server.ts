/** A start that waits for a server says so: it may be starting, or a setting may be wrong. */
import { setTimeout as pause } from "node:timers/promises";
import type { Logger } from "../logger.js";

/** How long a start waits for a server, and what ends it sooner. */
export interface Waiting {
  readonly waitsMsMax: number;
  readonly pauseMs: number;
  /** The process is to stop. */
  readonly stopping?: AbortSignal | undefined;
}

/** Not what is over by the next try. */
const reportedAtTry = 3;

/**
 * After each try that failed, counted from 1. @param why what it would end with
 * @throws AbortError when stopping
 */
export async function waitForServer(
  logger: Logger | undefined,
  tries: number,
  { waitsMsMax, pauseMs, stopping }: Waiting,
  why: string,
): Promise<void> {
  if (tries === reportedAtTry) logger?.warn({ waitsMsMax }, `waiting, it may be starting: ${why}`);
  await pause(pauseMs, undefined, stopping && { signal: stopping });
}
