/** What a file amounts to, by event type and currency, to be held against its source. */
import type { EventRecord } from "../../providers/record.js";
import { knownExponentOf, minorToMajor } from "../../schemas/money/money.js";

interface Sum {
  rows: number;
  amountMinor: bigint;
}

export class Tally {
  #rows = 0;
  /** ms since 1970 */
  #first = Infinity;
  #last = -Infinity;
  readonly #sums = new Map<string, Sum>();

  add({ event_type: type, currency, amount_minor: amount, occurred_at: at }: EventRecord): void {
    const key = `${type} ${currency}`;
    const sum = this.#sums.get(key) ?? { rows: 0, amountMinor: 0n };
    sum.rows += 1;
    sum.amountMinor += amount;
    this.#sums.set(key, sum);
    this.#rows += 1;
    this.#first = Math.min(this.#first, at ?? Infinity);
    this.#last = Math.max(this.#last, at ?? -Infinity);
  }

  get isEmpty(): boolean {
    return this.#rows === 0;
  }

  lines(): string[] {
    if (this.isEmpty) return [];
    const span = [this.#first, this.#last].map((at) => new Date(at).toISOString()).join(" to ");
    const sums = [...this.#sums].sort(([one], [other]) => (one < other ? -1 : 1));
    return [
      `${this.#rows} rows are right, ${span}:`,
      ...sums.map(([key, { rows, amountMinor }]) => {
        const currency = key.slice(-currencyLength);
        const amount = minorToMajor(amountMinor, knownExponentOf(currency));
        return `  ${key.slice(0, -currencyLength)}${rows} rows, ${amount} ${currency}`;
      }),
    ];
  }
}

const currencyLength = 3;
