/**
 * What a made-up business did: the events that report it, and beside them its own books, kept
 * without looking at the events, so that the service's figures can be held against them.
 */
import type { Currency } from "./catalogue.js";
import type { DemoToken } from "./integrations.js";

export interface Reported {
  /** ms since 1970, when it happened */
  readonly at: number;
  readonly provider: DemoToken;
  /** As the provider makes it, before it is signed. */
  readonly body: Buffer;
}

/** Of one currency; minor units. */
export interface Sold {
  payments: number;
  gross: bigint;
  refunded: bigint;
  disputes: number;
}

export class Journal {
  readonly reported: Reported[] = [];
  readonly sold = new Map<Currency, Sold>();
  /** Accounts that pay for at least one subscription, and those subscriptions. */
  subscribers = 0;
  subscriptions = 0;

  constructor(
    /** ms since 1970: nothing later is reported or booked. */
    readonly end: number,
  ) {}

  isOver(at: number): boolean {
    return at > this.end;
  }

  report(reported: Reported): void {
    if (!this.isOver(reported.at)) this.reported.push(reported);
  }

  book(at: number, currency: Currency, change: (sold: Sold) => void): void {
    if (this.isOver(at)) return;
    const sold = this.sold.get(currency) ?? { payments: 0, gross: 0n, refunded: 0n, disputes: 0 };
    change(sold);
    this.sold.set(currency, sold);
  }

  get payments(): number {
    return [...this.sold.values()].reduce((sum, { payments }) => sum + payments, 0);
  }
}
