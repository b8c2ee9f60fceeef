/** A sum of movements without those that come to nothing. */
import type { MovementKind } from "../../../schemas/records/records.js";

/** A movement: its dimensions and its amount. */
export interface Movement {
  readonly subscription: string;
  readonly external_id: string;
  readonly currency: string;
  readonly country: string;
  /** As ClickHouse writes it. */
  readonly at: string;
  readonly kind: MovementKind;
  /** The first day of the month of the account's first MRR. */
  readonly vintage: string;
  /** Of the plan: `schemas/money/plan-intervals.ts`. */
  readonly plan_interval: string;
  /** Millionths of the base currency. */
  readonly mrr: bigint;
  readonly accounts: number;
  readonly subscriptions: number;
}

export class Difference {
  readonly #sums = new Map<string, Movement>();

  add(movements: readonly Movement[]): void {
    for (const movement of movements) this.#put(movement, 1);
  }

  subtract(movements: readonly Movement[]): void {
    for (const movement of movements) this.#put(movement, -1);
  }

  get movements(): Movement[] {
    return [...this.#sums.values()];
  }

  #put(movement: Movement, sign: 1 | -1): void {
    const { subscription, external_id, currency, country, at, kind } = movement;
    const place = [subscription, external_id, currency, country, at, kind];
    const key = JSON.stringify([...place, movement.vintage, movement.plan_interval]);
    const known = this.#sums.get(key);
    const mrr = (known?.mrr ?? 0n) + BigInt(sign) * movement.mrr;
    const accounts = (known?.accounts ?? 0) + sign * movement.accounts;
    const subscriptions = (known?.subscriptions ?? 0) + sign * movement.subscriptions;
    if (mrr === 0n && accounts === 0 && subscriptions === 0) this.#sums.delete(key);
    else this.#sums.set(key, { ...movement, mrr, accounts, subscriptions });
  }
}
