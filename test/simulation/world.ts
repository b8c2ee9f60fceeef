/**
 * Time and chance in a simulation. Nothing in it waits for anything real: calls of stores and their
 * answers are on their way until chance picks them, and time passes when there is nothing else to
 * wait for, seldom earlier. So a seed repeats a run to the last step, and an hour takes no time.
 */
import { syncBuiltinESMExports } from "node:module";
import timers from "node:timers/promises";
import { Chance } from "../../ops/demo/chance.js";

interface Timer {
  readonly at: number;
  readonly fire: () => void;
}

/** How often a timer may fire although something else could happen. */
const percentEarly = 5;

/** Of the largest portfolio some 10,000 are enough. */
const stepsMax = 200_000;

const turnOfTheLoop = setImmediate;

export class World {
  readonly chance: Chance;
  readonly #onTheirWay: (() => void)[] = [];
  readonly #timers = new Map<number, Timer>();
  #timersMade = 0;

  /** @param now ms since 1970 */
  constructor(
    seed: string,
    public now: number,
  ) {
    this.chance = new Chance(seed);
  }

  /** A call of something outside of the process: it arrives some time, and so does its answer. */
  async call<T>(work: () => Promise<T>): Promise<T> {
    await this.arrives();
    try {
      return await work();
    } finally {
      await this.arrives();
    }
  }

  /** Other things may happen first. */
  arrives(): Promise<void> {
    return new Promise((resolve) => void this.#onTheirWay.push(resolve));
  }

  /** @returns what `cancel` takes */
  after(ms: number, fire: () => void): number {
    this.#timersMade += 1;
    this.#timers.set(this.#timersMade, { at: this.now + Math.max(0, ms), fire });
    return this.#timersMade;
  }

  cancel(timer: number): void {
    this.#timers.delete(timer);
  }

  /** @throws when it waits for something that can never happen */
  async run<T>(work: () => Promise<T>): Promise<T> {
    let isOver = false;
    const running = work().finally(() => (isOver = true));
    running.catch(() => undefined);
    for (let step = 0; step < stepsMax; step += 1) {
      // Until nothing goes on without an answer or a timer.
      await new Promise((resolve) => turnOfTheLoop(resolve));
      if (isOver) return running;
      if (!this.#step()) throw new Error("it waits for something that can never happen");
    }
    throw new Error(`no end after ${stepsMax} steps`);
  }

  #step(): boolean {
    const next = this.#nextTimer();
    const isEarly = next !== undefined && this.chance.happens(percentEarly);
    if (this.#onTheirWay.length > 0 && !isEarly) {
      const [happens] = this.#onTheirWay.splice(this.#place(), 1);
      happens?.();
      return true;
    }
    if (next === undefined) return false;
    const [id, { at, fire }] = next;
    this.#timers.delete(id);
    this.now = Math.max(this.now, at);
    fire();
    return true;
  }

  #place(): number {
    return this.chance.whole(0, this.#onTheirWay.length - 1);
  }

  #nextTimer(): [number, Timer] | undefined {
    let next: [number, Timer] | undefined;
    for (const one of this.#timers) if (next === undefined || one[1].at < next[1].at) next = one;
    return next;
  }
}

let current: World | null = null;

function world(): World {
  if (current === null) throw new Error("no simulation runs");
  return current;
}

/** The clock and the timers of this process are those of the world, until the next call. */
export function enter(entered: World): void {
  if (current === null) takeOver();
  current = entered;
}

function takeOver(): void {
  Object.assign(timers, {
    setTimeout: (ms = 1, value?: unknown, { signal }: { signal?: AbortSignal } = {}) =>
      new Promise((resolve, reject) => {
        const abort = (): void => {
          world().cancel(timer);
          reject(new DOMException("This operation was aborted", "AbortError"));
        };
        const timer = world().after(ms, () => {
          signal?.removeEventListener("abort", abort);
          resolve(value);
        });
        if (signal?.aborted === true) abort();
        else signal?.addEventListener("abort", abort, { once: true });
      }),
    setImmediate: () => world().arrives(),
  });
  syncBuiltinESMExports();
  Object.assign(globalThis, {
    setTimeout: (fire: () => void, ms = 1) => world().after(ms, fire),
    clearTimeout: (timer: number) => world().cancel(timer),
  });
  Object.assign(Date, { now: () => world().now });
  Object.assign(performance, { now: () => world().now });
  Object.assign(Math, { random: () => world().chance.unit() });
}
