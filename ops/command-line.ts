/** The words of a program for developers: what is wrong with them is said, with how it goes. */
import { type ParseArgsConfig, parseArgs } from "node:util";

const wrongWords = 2;

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
    return parseArgs(given);
  } catch (error) {
    // Its own way to say that an option is unknown or lacks its value.
    if (error instanceof TypeError) refuseWords(usage, error.message);
    throw error;
  }
}

/** A whole number from 1 to `max`; else the process ends, with code 2. */
export function countOf(usage: string, name: string, text: string, max: number): number {
  const count = Number(text);
  if (Number.isInteger(count) && count >= 1 && count <= max) return count;
  return refuseWords(usage, `--${name} must be a whole number from 1 to ${max}`);
}

export function refuseWords(usage: string, why: string): never {
  process.stderr.write(`${why}\n\n${usage}`);
  process.exit(wrongWords);
}
