/** Fetching a file of rates: bounded in time, in size and in tries. */
import { setTimeout as pause } from "node:timers/promises";
import { withDeadline } from "../../runtime/deadline.js";

export interface Patience {
  readonly bytesMax: number;
  readonly answerMsMax: number;
  readonly attemptsMax: number;
  /** Before the second try, doubling before each further one. */
  readonly pauseMs: number;
}

/**
 * @returns the body; null when the server says there is no such file (404)
 * @throws the last failure when no try brought a whole body, and at once when `stopping` fires
 */
export async function fetchText(
  url: string,
  patience: Patience,
  stopping: AbortSignal,
): Promise<string | null> {
  for (let attempt = 1; ; attempt++) {
    try {
      // The time limit covers the body, too: a server may answer at once and then send for ever.
      return await withDeadline(patience.answerMsMax, stopping, (signal) =>
        fetchOnce(url, patience.bytesMax, signal),
      );
    } catch (error) {
      if (attempt >= patience.attemptsMax || stopping.aborted) throw error;
      await pause(patience.pauseMs * 2 ** (attempt - 1), undefined, { signal: stopping });
    }
  }
}

async function fetchOnce(
  url: string,
  bytesMax: number,
  signal: AbortSignal,
): Promise<string | null> {
  const response = await fetch(url, { signal });
  if (!response.ok) {
    await response.body?.cancel();
    if (response.status === 404) return null;
    throw new Error(`${url} answered ${response.status}`);
  }
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  // Counted after decompression: the length header may lie.
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > bytesMax) throw new Error(`${url} sends more than ${bytesMax} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}
