/**
 * Customers at other providers than Stripe: things bought once, and monthly memberships that end
 * or go on. The books are kept beside, without looking at the bodies.
 */
import { hourMs, monthsAfter } from "./calendar.js";
import { type Currency, type Market, markets } from "./catalogue.js";
import type { Chance, Weighted } from "./chance.js";
import type { Journal } from "./journal.js";
import { appleShop } from "./shops/apple.js";
import { customShop } from "./shops/custom.js";
import { gumroadShop } from "./shops/gumroad.js";
import { lemonSqueezyShop } from "./shops/lemonsqueezy.js";
import { paddleShop } from "./shops/paddle.js";
import { revenueCatShop } from "./shops/revenuecat.js";
import type { Membership, Sale, Shop } from "./shops/shop.js";

const shops: readonly Weighted<Shop>[] = [
  [24, paddleShop],
  [14, lemonSqueezyShop],
  [14, gumroadShop],
  [18, revenueCatShop],
  [18, appleShop],
  [12, customShop],
];
/** Those whose memberships may end at any moment, not only with a period. */
const liveShops: readonly Weighted<Shop>[] = [
  [3, paddleShop],
  [2, lemonSqueezyShop],
  [3, gumroadShop],
  [1, customShop],
];
const refundPercent = 5;
const refundAfterMsMax = 5 * 24 * hourMs;
/** Of those who pay, in percent of every month. */
const leavesPercent = 6;
/** No membership is longer. */
const monthsMax = 60;
/** Room for all sales of one customer. */
const numbersPerCustomer = 100;

/** @param index of the customer, from 0: every id is made from it */
export function emitOtherSale(journal: Journal, index: number, at: number, chance: Chance): void {
  const shop = chance.weighted(shops);
  const market = marketOf(shop, chance);
  const sale = (month: number, soldAt: number): Sale => ({
    ...market,
    tag: `away${String(index + 1).padStart(4, "0")}m${month}`,
    number: 5_000_000 + index * numbersPerCustomer + month,
    customer: `away${index + 1}`,
    at: soldAt,
    amount: shop.prices[market.currency] ?? 0n,
  });
  const teller = new Teller(journal, shop, chance);
  if (shop.sells === "things") teller.sell(sale(0, at), at);
  else teller.live(at, sale);
}

/**
 * One sale, now: a thing, or the first month of a membership.
 * @param who unique among the runs on a workspace
 * @returns the membership that began; null for a thing
 */
export function sellByOtherProvider(
  journal: Journal,
  who: { readonly tag: string; readonly number: number },
  at: number,
  chance: Chance,
): LiveMember | null {
  const shop = chance.weighted(liveShops);
  const market = marketOf(shop, chance);
  const amount = shop.prices[market.currency] ?? 0n;
  const sale: Sale = { ...market, ...who, customer: who.tag, at, amount };
  new Teller(journal, shop, chance).sell(sale, monthsAfter(at, 1), { mayRefund: false });
  return shop.sells === "memberships" ? { shop, first: sale } : null;
}

export interface LiveMember {
  readonly shop: Shop;
  readonly first: Sale;
}

/** At once. */
export function endMembership(journal: Journal, { shop, first }: LiveMember, at: number): void {
  const bodies = shop.end?.(at, { first, until: at }) ?? [];
  for (const body of bodies) journal.report({ at, provider: shop.provider, body });
}

class Teller {
  constructor(
    readonly journal: Journal,
    readonly shop: Shop,
    readonly chance: Chance,
  ) {}

  /** @param until what is paid for, of a membership */
  sell(sale: Sale, until: number, { mayRefund = true } = {}): void {
    this.#book(sale, this.shop.sale(sale, until));
    if (mayRefund) this.#perhapsRefund(sale);
  }

  live(startedAt: number, saleOf: (month: number, at: number) => Sale): void {
    const first = saleOf(0, startedAt);
    const end = (month: number): number => monthsAfter(startedAt, month);
    this.sell(first, end(1));
    for (let month = 1; month < monthsMax; month += 1) {
      const at = end(month);
      if (this.journal.isOver(at)) break;
      const of: Membership = { first, until: end(month + 1) };
      if (this.chance.happens(leavesPercent)) {
        this.#report(at, this.shop.end?.(at, of));
        return;
      }
      const sale = saleOf(month, at);
      this.#book(sale, this.shop.renewal?.(sale, of));
      this.#perhapsRefund(sale);
    }
    if (this.journal.isOver(startedAt)) return;
    this.journal.subscribers += 1;
    this.journal.subscriptions += 1;
  }

  /** A refund ends nothing by itself. */
  #perhapsRefund(sale: Sale): void {
    const at = sale.at + Math.floor(this.chance.unit() * refundAfterMsMax) + hourMs;
    if (!this.chance.happens(refundPercent) || this.shop.refund === undefined) return;
    this.#report(at, this.shop.refund(at, sale));
    this.journal.book(at, sale.currency, (sold) => (sold.refunded += sale.amount));
  }

  #book(sale: Sale, bodies: readonly Buffer[] | undefined): void {
    this.#report(sale.at, bodies);
    this.journal.book(sale.at, sale.currency, (sold) => {
      sold.payments += 1;
      sold.gross += sale.amount;
    });
  }

  #report(at: number, bodies: readonly Buffer[] = []): void {
    for (const body of bodies) this.journal.report({ at, provider: this.shop.provider, body });
  }
}

/** Of those whose currency the provider sells in. */
function marketOf({ prices }: Shop, chance: Chance): Market {
  const sold = (currency: Currency): boolean => prices[currency] !== undefined;
  return chance.weighted(markets.filter(([, { currency }]) => sold(currency)));
}
