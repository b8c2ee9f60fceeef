/**
 * A time limit that holds. `AbortSignal.any([…, AbortSignal.timeout(…)])` may be collected before
 * it fires (seen on Node 20.20 in a busy process), and what waits for it then waits for ever.
 */

/**
 * Runs `work` with a signal that fires after `ms`, or when `stopping` does; the rest of either ends
 * with the work.
 */
export async function withDeadline<T>(
  ms: number,
  stopping: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const ending = new AbortController();
  const stop = (): void => ending.abort(stopping.reason);
  const timer = setTimeout(() => {
    ending.abort(new DOMException(`no answer within ${ms} ms`, "TimeoutError"));
  }, ms);
  stopping.addEventListener("abort", stop);
  try {
    if (stopping.aborted) stop();
    return await work(ending.signal);
  } finally {
    clearTimeout(timer);
    stopping.removeEventListener("abort", stop);
  }
}
