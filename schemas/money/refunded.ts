/**
 * How much of a sale was refunded, in its own currency, where some of it was given back in others
 * (docs/decisions/refunds-and-disputes.md). Pure.
 */
import { convertMinor } from "./money.js";

/** Minor units: `amount` of `currency`, `normalized` of `base`. */
export interface SaleMoney {
  readonly amount: bigint;
  readonly normalized: bigint;
  readonly currency: string;
  readonly base: string;
  /** Base for one of `currency`, as decimal text. */
  readonly rate: string;
}

/**
 * Of what refunds in the sale's currency left, as much as refunds in others took of its worth: all
 * of it when nothing of that is left, and never more, since what goes beyond is the rates' doing.
 *
 * @param own minor units of the sale's currency
 * @param othersInBase what refunds in other currencies came to, in minor units of base
 */
export function refundedOf(sale: SaleMoney, own: bigint, othersInBase: bigint): bigint {
  const left = sale.amount - own;
  if (othersInBase <= 0n || left <= 0n) return own;
  const worth = sale.normalized - convertMinor(own, sale.rate, sale.currency, sale.base);
  if (othersInBase >= worth) return sale.amount;
  return own + (left * othersInBase) / worth;
}
