/** What a provider reports the customers it has, beside Stripe: one file for each, named by it. */
import type { ShopToken } from "../integrations.js";
import type { Market, PriceList } from "../catalogue.js";

/** One payment. */
export interface Sale extends Market {
  /** Unique in the workspace; every id of the sale is made from it. */
  readonly tag: string;
  /** The same as a number, for providers that count. */
  readonly number: number;
  readonly customer: string;
  /** ms since 1970 */
  readonly at: number;
  /** Minor units */
  readonly amount: bigint;
}

/** A monthly subscription. */
export interface Membership {
  readonly first: Sale;
  /** Paid for until then; ms since 1970. */
  readonly until: number;
}

/** Each returns the bodies that report it, in order. */
export interface Shop {
  readonly provider: ShopToken;
  /** What a sale, or a month, costs; a provider of one currency has that only. */
  readonly prices: Partial<PriceList>;
  readonly sells: "memberships" | "things";
  /** A thing, or the first month. */
  sale(sale: Sale, until: number): readonly Buffer[];
  renewal?(sale: Sale, of: Membership): readonly Buffer[];
  end?(at: number, of: Membership): readonly Buffer[];
  /** All of it. */
  refund?(at: number, sale: Sale): readonly Buffer[];
}
