/**
 * Lets a caller make so many calls at a time; further ones wait in order of arrival. So a busy
 * caller waits for itself, and leaves the rest of the process to others.
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
      // The turn passes on directly, so that no new call overtakes those that wait.
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
