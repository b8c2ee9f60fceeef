/** The log: readable lines on a terminal, JSON lines everywhere else. */
import { isatty } from "node:tty";
import {
  destination as fileDescriptor,
  type DestinationStream,
  type Logger,
  pino,
  stdTimeFunctions,
} from "pino";
import pretty from "pino-pretty";

export type { Logger };

export interface LogPlace {
  /** The process's role; in every line. */
  readonly role?: string;
  /** Standard output (1), or standard error (2) where the output is a command's own words. */
  readonly descriptor?: 1 | 2;
  /** Instead of both. */
  readonly destination?: DestinationStream;
}

/** Never log bodies, headers or settings whole: they hold secrets and personal data. */
export function createLogger(level: string, place: LogPlace = {}): Logger {
  const { role, descriptor = 1, destination } = place;
  const options = {
    level,
    base: { ...(role === undefined ? {} : { role }), pid: process.pid },
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    // The embedded Postgres attaches the values of the statement to its errors.
    redact: { paths: ["err.params"], remove: true },
  };
  if (destination !== undefined) return pino(options, destination);
  // Synchronous: lines of another thread could come late, or be lost at the end.
  if (!isatty(descriptor)) return pino(options, fileDescriptor({ dest: descriptor, sync: true }));
  return pino(options, readableLines(level, descriptor));
}

/**
 * @param destination a descriptor, or a stream
 * @returns a stream that makes one line of each entry; a stack is shown at `debug` and below
 */
export function readableLines(level: string, destination: 1 | 2 | NodeJS.WritableStream) {
  const hasStacks = level === "debug" || level === "trace";
  return pretty({
    destination,
    sync: true,
    colorize: destination === 1 || destination === 2,
    singleLine: true,
    translateTime: "SYS:HH:MM:ss",
    ignore: hasStacks ? "pid,hostname,role" : "pid,hostname,role,err",
    errorLikeObjectKeys: hasStacks ? ["err"] : [],
    messageFormat: (entry, key) => `${String(entry[key])}${causeOf(entry["err"])}`,
  });
}

function causeOf(error: unknown): string {
  if (typeof error !== "object" || error === null || !("message" in error)) return "";
  return `: ${String(error.message).split("\n", 1)[0]}`;
}
