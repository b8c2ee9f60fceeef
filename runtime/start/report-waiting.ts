/** A start that waits for a server says so: it may be starting, or a setting may be wrong. */
import type { Logger } from "../logger.js";

/** Not what is over by the next try. */
const reportedAtTry = 3;

/** After each try that failed, counted from 1. @param why what it would end with */
export function reportWaiting(
  logger: Logger,
  tries: number,
  waitsMsMax: number,
  why: string,
): void {
  if (tries === reportedAtTry) logger.warn({ waitsMsMax }, `waiting, it may be starting: ${why}`);
}
