/**
 * A time limit that holds. `AbortSignal.any([…, AbortSignal.timeout(…)])` may be collected before
 * it fires (seen on Node 20.20 in a busy process), and what waits for it then waits for ever.
 */

/**
 * Runs `work` with a signal that fires after `ms`, or when `stopping` does; both are cleaned up
 * when the work ends.
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

/**
 * Stops waiting, although the work may go on.
 * @throws what `working` throws, or that it took too long
 */
export async function answered<T>(
  who: string,
  working: Promise<T>,
  msMax: number,
  onLate: () => void = () => undefined,
): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new Error(`${who} gave no answer within ${msMax} ms`));
      onLate();
    }, msMax);
  });
  // A late failure interests nobody.
  working.catch(() => undefined);
  try {
    return await Promise.race([working, late]);
  } finally {
    clearTimeout(timer);
  }
}
