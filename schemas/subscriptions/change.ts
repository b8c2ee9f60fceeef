/** A subscription change as booking and the interface read it. */
import { type Fraction, fraction } from "../money/monthly.js";
import type { PlanInterval } from "../money/plan-intervals.js";
import type { Environment } from "../records/records.js";

/** A row of `subscription_changes`; times as ClickHouse writes them. */
export interface Change {
  readonly workspace: string;
  readonly environment: Environment;
  readonly account: string;
  readonly provider: string;
  /** Empty: it says something beside what subscriptions are worth. */
  readonly subscription: string;
  readonly change_id: string;
  readonly revision: number;
  readonly void: 0 | 1;
  readonly at: string;
  readonly phase: "expired" | "started" | "changed" | "ended";
  readonly event_id: string;
  readonly recorded_at: string;
  readonly currency: string;
  /** Where the account's customer is: such a row is none of a subscription. Else empty. */
  readonly country: string;
  readonly steps: readonly {
    readonly at: string;
    readonly items: readonly {
      readonly item: string;
      readonly external_id: string;
      /** `priceText`, or `trialPrice` of an item that counts nothing. */
      readonly price: string;
      /** At this change's own rate; counts only where the price begins. */
      readonly mrr: string;
    }[];
  }[];
}

/** Of the only item of a step that is a free trial: nothing is paid, so it counts nothing. */
export const trialPrice = "trial";

/** What counts of a step. */
export function countingItems<Item extends { readonly price: string }>(
  items: readonly Item[],
): readonly Item[] {
  return items.filter(({ price }) => price !== trialPrice);
}

/** A price as a change has it: `EUR:1999/1:year`, or `EUR:1999/1` where no interval is known. */
export function priceText(currency: string, monthly: Fraction, interval: PlanInterval): string {
  const price = `${currency}:${monthly.numerator}/${monthly.denominator}`;
  return interval === "unknown" ? price : `${price}:${interval}`;
}

export interface ReadPrice {
  readonly currency: string;
  /** Currency and exact monthly amount: equal text is the same price, whatever its interval. */
  readonly price: string;
  readonly interval: string;
}

export function readPrice(text: string): ReadPrice {
  const [currency = "", monthly = "", interval = "unknown"] = text.split(":");
  return { currency, price: `${currency}:${monthly}`, interval };
}

/** @param price as `readPrice` reports it @returns of one minor unit of its currency */
export function monthlyIn(price: string): Fraction {
  const [numerator = "0", denominator = "1"] = price.slice(price.indexOf(":") + 1).split("/");
  return fraction(BigInt(numerator), BigInt(denominator));
}

/** The order in which changes of one subscription count; the last of one moment does. */
export function timeOf({
  at,
  phase,
  event_id: event,
  recorded_at: recordedAt,
  change_id: id,
}: Pick<Change, "at" | "phase" | "event_id" | "recorded_at" | "change_id">): string {
  return [at, phaseOrder[phase], event, recordedAt, id].join(" ");
}

const phaseOrder = { expired: 0, started: 1, changed: 2, ended: 3 } as const;
