/** Which thread of this process goes first when processors are scarce. */
import { readdir } from "node:fs/promises";
import { getPriority, setPriority } from "node:os";

/** A third of the weight of the main thread, by Linux's scheduler. */
const yieldingBy = 5;
const niceMax = 19;

/**
 * The main thread answers every call and passes every batch on. It goes before the present threads
 * and those they start, which inherit it (Linux: setpriority(2) takes a thread). On other systems,
 * and where it is refused, nothing changes.
 */
export async function favourMainThread(): Promise<void> {
  const own = getPriority();
  for (const thread of await threads()) {
    if (thread !== process.pid) lower(thread, own);
  }
}

/** Their ids; none where there is no such list. */
async function threads(): Promise<number[]> {
  try {
    return (await readdir("/proc/self/task")).map(Number);
  } catch {
    return [];
  }
}

function lower(thread: number, from: number): void {
  try {
    // The engine has set the others itself.
    if (getPriority(thread) === from) setPriority(thread, Math.min(from + yieldingBy, niceMax));
  } catch {
    // It has ended, or may not be changed.
  }
}

/** Called by a thread that works for the main one (Linux: 0 is the calling thread). */
export function yieldToMainThread(): void {
  if (process.platform === "linux") lower(0, getPriority());
}
