/** Programs of the tests that report what they have done, a line each, until they end. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { expect } from "chai";

/** Of the tests' folder. */
type Program = "log/log-appender" | "state/state-worker";

/** @returns what it reported until it was killed, at so many lines or some more */
export async function linesUntilKilled(
  program: Program,
  words: readonly string[],
  lines: number,
): Promise<string[]> {
  const child = spawn(process.execPath, [pathOf(program), ...words], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const closed = once(child, "close");
  let reported = "";
  for await (const chunk of child.stdout.setEncoding("utf8")) {
    reported += chunk;
    if (reported.split("\n").length > lines) child.kill("SIGKILL");
  }
  await closed;
  expect(child.signalCode).to.equal("SIGKILL");
  return wholeLines(reported);
}

/** @returns what it reported until its disk was full and it ended */
export async function linesUntilFull(program: Program, words: readonly string[]) {
  // A limit on the file's size makes its writes fail as a full disk does.
  const limited = ["-c", 'ulimit -f 2000; exec "$0" "$@"', process.execPath];
  const child = spawn("sh", [...limited, pathOf(program), ...words], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  return wholeLines(await text(child.stdout));
}

function pathOf(program: Program): string {
  return fileURLToPath(new URL(`../${program}.js`, import.meta.url));
}

/** The last line may be cut short by a kill. */
function wholeLines(reported: string): string[] {
  return reported.split("\n").slice(0, -1);
}
