/** JSON lines on standard output. */
import { type DestinationStream, type Logger, pino, stdTimeFunctions } from "pino";

export type { Logger };

/**
 * Never log bodies, headers or settings whole: they hold secrets and personal data.
 * @param destination standard output, unless told otherwise
 */
export function createLogger(level: string, destination?: DestinationStream): Logger {
  const options = {
    level,
    base: null,
    timestamp: stdTimeFunctions.isoTime,
    // What the embedded Postgres hangs on its errors: the values of the statement.
    redact: { paths: ["err.params"], remove: true },
  };
  return destination === undefined ? pino(options) : pino(options, destination);
}
