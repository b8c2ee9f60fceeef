/**
 * What another tool calls MRR: the rules by which it differs from ours, one after the other. Each
 * is a pure function from what a subscription counts to what it counts by that rule, so that what
 * the rules change adds up to the whole difference, whatever they are.
 */
import type {
  AccountState,
  PricedItem,
  SubscriptionState,
} from "../subscriptions/account-state.js";

export interface Reading {
  readonly account: AccountState;
  /** Base currency for one unit on the day of the reading; null: not known. */
  readonly rateOf: (currency: string) => string | null;
  /** SKUs of which the account's newest payment was refunded as a whole. */
  readonly refunded: ReadonlySet<string>;
}

export interface Rule {
  readonly id: string;
  /** A sentence for people. */
  readonly text: string;
  readonly apply: (
    items: readonly PricedItem[],
    subscription: SubscriptionState,
    reading: Reading,
  ) => readonly PricedItem[];
}

export interface Definition {
  /** As people call the tool. */
  readonly label: string;
  /** In the order they apply. Their sources: `docs/definitions/`. */
  readonly rules: readonly Rule[];
}

/** What one rule makes of an account, in millionths of the base currency; never 0. */
interface RuleDifference {
  readonly rule: string;
  readonly mrr: bigint;
}

export interface Comparison {
  /** By our definition; with all differences it is what the other says. */
  readonly ours: bigint;
  readonly differences: readonly RuleDifference[];
}

export function compareAccount({ rules }: Definition, reading: Reading): Comparison {
  let ours = 0n;
  const sums = new Map<string, bigint>();
  for (const subscription of reading.account.subscriptions) {
    let items = subscription.counting;
    let worth = worthOf(items);
    ours += worth;
    for (const { id, apply } of rules) {
      items = apply(items, subscription, reading);
      const after = worthOf(items);
      sums.set(id, (sums.get(id) ?? 0n) + after - worth);
      worth = after;
    }
  }
  const differences = Array.from(sums, ([rule, mrr]) => ({ rule, mrr }));
  return { ours, differences: differences.filter(({ mrr }) => mrr !== 0n) };
}

/** What an account counts by a definition, in millionths of the base currency. */
export function mrrBy(definition: Definition, reading: Reading): bigint {
  const { ours, differences } = compareAccount(definition, reading);
  return differences.reduce((sum, { mrr }) => sum + mrr, ours);
}

function worthOf(items: readonly PricedItem[]): bigint {
  return items.reduce((sum, { mrr }) => sum + mrr, 0n);
}
