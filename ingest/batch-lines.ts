/** Reads the lines of a batch so that neither their number nor their size holds up other calls. */
import { setImmediate as letOthersRun } from "node:timers/promises";
import { limits } from "../config.js";

/** About 10 ms of work, whichever comes first. */
const linesAtOnce = 100;
const bytesAtOnce = 64 * 1024;

/**
 * Lines end with LF or CRLF; blank ones at the end are no lines.
 * @returns one line too many if there are more than allowed
 */
export function splitLines(body: Buffer): Buffer[] {
  const lines: Buffer[] = [];
  const bodyEnd = endOfLastLine(body);
  for (let start = 0; start < bodyEnd && lines.length <= limits.batchLinesMax;) {
    const found = body.indexOf(lf, start);
    const end = found === -1 ? bodyEnd : found;
    const line = body.subarray(start, end);
    lines.push(line.at(-1) === cr ? line.subarray(0, -1) : line);
    start = end + 1;
  }
  return lines;
}

/** Lets other work run after some lines; one line is handled in one go. */
export async function* inTurns(lines: readonly Buffer[]): AsyncGenerator<Buffer> {
  let [linesSince, bytesSince] = [0, 0];
  for (const line of lines) {
    if (linesSince >= linesAtOnce || bytesSince >= bytesAtOnce) {
      await letOthersRun();
      [linesSince, bytesSince] = [0, 0];
    }
    linesSince += 1;
    bytesSince += line.length;
    yield line;
  }
}

const lf = 0x0a;
const cr = 0x0d;

/** 0 when all is blank. */
function endOfLastLine(body: Buffer): number {
  let end = body.length;
  while (end > 0 && isBlank(body[end - 1] ?? 0)) end -= 1;
  if (end === 0) return 0;
  const found = body.indexOf(lf, end);
  return found === -1 ? body.length : found;
}

/** A space, or one of tab, LF, VT, FF and CR. */
function isBlank(byte: number): boolean {
  return byte === 0x20 || (byte >= 0x09 && byte <= cr);
}
