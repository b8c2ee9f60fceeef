/** Seeded draws: the same seed draws the same, on every machine. */
import { createHash } from "node:crypto";

export class Chance {
  #state: number;

  constructor(seed: string) {
    this.#state = createHash("sha256").update(seed).digest().readUInt32LE(0);
  }

  /** 0 up to, without, 1: mulberry32 (Tommy Ettinger, public domain). */
  unit(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  happens(percent: number): boolean {
    return this.unit() * 100 < percent;
  }

  /** A whole number; both ends may be drawn. */
  whole(from: number, to: number): number {
    return from + Math.floor(this.unit() * (to - from + 1));
  }

  /** One of several, each as often as its weight says. */
  weighted<T>(choices: readonly Weighted<T>[]): T {
    const total = choices.reduce((sum, [weight]) => sum + weight, 0);
    let left = this.unit() * total;
    for (const [weight, choice] of choices) {
      left -= weight;
      if (left < 0) return choice;
    }
    throw new Error("nothing to draw from");
  }
}

export type Weighted<T> = readonly [weight: number, choice: T];
