/** JSON lines on standard output. */
import { type Logger, pino, stdTimeFunctions } from "pino";

export type { Logger };

/** Never log bodies, headers or settings whole: they hold secrets and personal data. */
export function createLogger(level: string): Logger {
  return pino({ level, base: null, timestamp: stdTimeFunctions.isoTime });
}
