/** What a subscription's event leaves out of its price, for Stripe to be asked. */
import { type Answers, keptAndAnswered } from "./answers.js";
import {
  incompleteCoupons,
  type KnownDiscounts,
  knownDiscounts,
  unknownDiscounts,
} from "./discounts.js";
import { periodOf, type Price, priceIn } from "./prices.js";
import {
  discountsOf,
  isWorth,
  ofWhole,
  type Subscription,
  subscriptionShape,
} from "./subscriptions.js";

/** What is missing for the price of a subscription that counts. */
export interface SubscriptionGaps {
  /** Not all items are there. */
  readonly items: boolean;
  /** Prices whose tiers are not. */
  readonly tiers: readonly string[];
  /** Prices whose amount in the subscription's currency is not. */
  readonly options: readonly PriceOption[];
  /** A discount is named that nothing told. */
  readonly discounts: boolean;
  readonly coupons: readonly string[];
}

interface PriceOption {
  readonly price: string;
  /** lower case */
  readonly currency: string;
  readonly isTiered: boolean;
}

export function gapsOfSubscription(
  type: string,
  object: unknown,
  kept: ReadonlyMap<string, unknown>,
  answers: Answers,
): SubscriptionGaps {
  const { data: subscription } = subscriptionShape.safeParse(object);
  if (!subscription || type === "customer.subscription.deleted" || !isWorth(subscription)) {
    return { items: false, tiers: [], options: [], discounts: false, coupons: [] };
  }
  const counted = subscription.items.data.flatMap(({ price }) =>
    price !== null && periodOf(price) !== null ? [price] : [],
  );
  const given = discountsOf(subscription);
  const known = knownDiscounts(given, keptAndAnswered(kept, answers));
  const unknown = unknownDiscounts(given, known);
  const incomplete = couponsOf(subscription, counted, known);
  return {
    items: subscription.items.has_more === true,
    ...amountsOf(counted, subscription.currency ?? null),
    discounts: unknown.discounts.length > 0,
    coupons: [...new Set([...unknown.coupons, ...incomplete])],
  };
}

function amountsOf(
  prices: readonly Price[],
  currency: string | null,
): Pick<SubscriptionGaps, "tiers" | "options"> {
  const tiers: string[] = [];
  const options: PriceOption[] = [];
  for (const price of prices) {
    const charged = priceIn(price, currency);
    const isTiered = price.billing_scheme === "tiered";
    const lacksTiers = isTiered && !charged?.tiers;
    if (typeof price.id !== "string" || (charged !== null && !lacksTiers)) continue;
    if (currency === null || price.currency === currency) tiers.push(price.id);
    else options.push({ price: price.id, currency: currency.toLowerCase(), isTiered });
  }
  return { tiers, options };
}

function couponsOf(
  subscription: Subscription,
  prices: readonly Price[],
  known: KnownDiscounts,
): string[] {
  const currency = subscription.currency ?? prices[0]?.currency ?? "";
  const isMixed = new Set(prices.map(({ product }) => product)).size > 1;
  return [
    ...incompleteCoupons(ofWhole(subscription), known, currency, isMixed),
    // Those of an item are for that item.
    ...subscription.items.data.flatMap(({ discounts }) =>
      incompleteCoupons(discounts ?? [], known, currency, false),
    ),
  ];
}
