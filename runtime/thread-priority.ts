/** Which thread of this process goes first where they want more processors than there are. */
import { readdir } from "node:fs/promises";
import { getPriority, setPriority } from "node:os";

/** A third of the weight of the main thread, by Linux's scheduler. */
const yieldingBy = 5;
const niceMax = 19;

/**
 * The main thread answers every call and hands every batch on. It goes before the threads that are
 * there by now as its equals, and before those they start, which inherit it (Linux: setpriority(2)
 * takes a thread). On other systems, and where it is refused, nothing changes.
 */
export async function favourMainThread(): Promise<void> {
  const own = getPriority();
  for (const thread of await threads()) {
    if (thread !== process.pid) lower(thread, own);
  }
}

/** By their ids; none where there is no such list. */
async function threads(): Promise<number[]> {
  try {
    return (await readdir("/proc/self/task")).map(Number);
  } catch {
    return [];
  }
}

function lower(thread: number, from: number): void {
  try {
    // The engine has put one or the other where it wants it.
    if (getPriority(thread) === from) setPriority(thread, Math.min(from + yieldingBy, niceMax));
  } catch {
    // It has ended, or may not be moved: it runs as it did.
  }
}

/** Of a thread that works for the main one, by itself (Linux: 0 is the thread that calls). */
export function yieldToMainThread(): void {
  if (process.platform === "linux") lower(0, getPriority());
}
