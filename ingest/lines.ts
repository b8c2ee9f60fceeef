/** Reads the events of a call one by one; nothing is claimed or written yet. */
import { ApiError, eventFailed, tooLarge } from "../schemas/http/errors.js";
import { limits } from "../config.js";
import { isStoreAway } from "../stores/store-away.js";
import { type IngestCall, planEvent, type PlannedEvent, type ReadEvent } from "./event.js";
import { setImmediate as letOthersRun } from "node:timers/promises";

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

export interface Source extends Pick<IngestCall, "ownIdentity"> {
  readonly bytes: Buffer;
  /** The identities it claims; empty when nothing distinguishes it from another event. */
  readonly identitiesOf: (event: ReadEvent) => readonly string[];
}

export type Line = PlannedEvent | ApiError;

export async function planLines(
  call: Omit<IngestCall, "ownIdentity">,
  sources: readonly Source[],
): Promise<Line[]> {
  const lines: Line[] = [];
  for await (const bytes of inTurns(sources.map((source) => source.bytes))) {
    const ownIdentity = sources[lines.length]?.ownIdentity ?? null;
    lines.push(await planLine({ ownIdentity, ...call }, bytes));
  }
  return lines;
}

async function planLine(call: IngestCall, bytes: Buffer): Promise<Line> {
  try {
    if (bytes.length > limits.bodyBytesMax) {
      throw tooLarge(`The line has more than ${limits.bodyBytesMax} bytes.`);
    }
    return await planEvent(call, bytes);
  } catch (error) {
    if (error instanceof ApiError) return error;
    // An unavailable store stops the whole call; our own mistake only its event.
    if (isStoreAway(error)) throw error;
    return eventFailed(error);
  }
}
