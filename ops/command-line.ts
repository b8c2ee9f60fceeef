/** The words of a program: what is wrong with them is said, with how it goes. */
import { type ParseArgsConfig, parseArgs } from "node:util";

const wrongWords = 2;

/** The words are wrong; the message says which there are. */
export class UsageError extends Error {
  override readonly name = "UsageError";

  constructor(usage: string, what?: string) {
    super(what === undefined ? usage : `${what}\n${usage}`);
  }
}

/** @throws UsageError */
export function parseWords<Given extends ParseArgsConfig>(
  usage: string,
  given: Given,
): ReturnType<typeof parseArgs<Given>> {
  try {
    return parseArgs(given);
  } catch (error) {
    // Its own way to say that an option is unknown or lacks its value.
    if (error instanceof TypeError) throw new UsageError(usage, error.message);
    throw error;
  }
}

/** Ends the process when help is asked for, or when the words are wrong: then with code 2. */
export function readWords<Given extends ParseArgsConfig>(
  usage: string,
  given: Given,
): ReturnType<typeof parseArgs<Given>> {
  if (process.argv.slice(2).includes("--help")) {
    process.stdout.write(usage);
    process.exit(0);
  }
  try {
    return parseWords(usage, given);
  } catch (error) {
    if (error instanceof UsageError) refuseWords(error.message);
    throw error;
  }
}

/** A whole number from 1 to `max`; else the process ends, with code 2. */
export function countOf(usage: string, name: string, text: string, max: number): number {
  const count = Number(text);
  if (Number.isInteger(count) && count >= 1 && count <= max) return count;
  return refuseWords(`--${name} must be a whole number from 1 to ${max}\n${usage}`);
}

export function refuseWords(why: string): never {
  process.stderr.write(`${why}\n`);
  process.exit(wrongWords);
}
