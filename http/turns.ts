/**
 * So many calls of one caller at a time; the others wait in the order they came. So whoever asks
 * much waits for itself, and leaves the rest of the process to the others.
 */
import { ApiError } from "../schemas/http/errors.js";

interface Line {
  running: number;
  readonly waiting: (() => void)[];
}

export class Turns {
  readonly #lines = new Map<string, Line>();

  constructor(private readonly max: { readonly running: number; readonly waiting: number }) {}

  /** @throws ApiError 429 when too many wait already */
  async run<T>(caller: string, work: () => Promise<T>): Promise<T> {
    const line = this.#lines.get(caller) ?? { running: 0, waiting: [] };
    this.#lines.set(caller, line);
    if (line.running < this.max.running) line.running += 1;
    else await this.#wait(line);
    try {
      return await work();
    } finally {
      const next = line.waiting.shift();
      // Its turn is handed on: nobody who comes now overtakes those who wait.
      if (next !== undefined) next();
      else line.running -= 1;
      if (line.running === 0) this.#lines.delete(caller);
    }
  }

  #wait({ waiting }: Line): Promise<void> {
    if (waiting.length >= this.max.waiting) {
      const message = `${waiting.length} calls of this key wait already; call again.`;
      throw new ApiError(429, "rate_limited", "too_many_waiting", message, {
        headers: { "Retry-After": String(retryAfterSeconds) },
      });
    }
    return new Promise((resolve) => waiting.push(resolve));
  }
}

const retryAfterSeconds = 1;
