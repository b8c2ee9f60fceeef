import { createLogger, type Logger } from "../../runtime/logger.js";

/** A logger, and the lines it has written. */
export function keptLog(level: string): { readonly logger: Logger; readonly lines: string[] } {
  const lines: string[] = [];
  const destination = { write: (line: string) => void lines.push(line) };
  return { logger: createLogger(level, { destination }), lines };
}
