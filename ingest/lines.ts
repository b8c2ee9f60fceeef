/** Reads the events of a call one by one; nothing is claimed or written yet. */
import { ApiError, eventFailed, tooLarge } from "../schemas/http/errors.js";
import { limits } from "../config.js";
import { isStoreAway } from "../stores/store-away.js";
import { inTurns } from "./batch-lines.js";
import { type IngestCall, type PlannedEvent, type ReadEvent, planEvent } from "./event.js";

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
