/** What a subscription's event leaves out of its price, for Stripe to be asked. */
import { type Answers, keptAndAnswered, paths } from "../answers.js";
import {
  type GivenDiscount,
  incompleteCoupons,
  type KnownDiscounts,
  knownDiscounts,
  unknownDiscounts,
} from "../discounts.js";
import { periodOf, type Price, priceIn } from "../prices.js";
import { discountsOf, isWorth, ofWhole, subscriptionShape } from "../subscriptions.js";

/** What is missing for the price of a subscription that counts. */
export interface SubscriptionGaps {
  /** Not all items are there. */
  readonly items: boolean;
  /** Prices whose tiers are not. */
  readonly tiers: readonly string[];
  /** Prices whose amount in the subscription's currency is not. */
  readonly options: readonly PriceOption[];
  /** A discount of the whole is named that nothing reported, or its coupon was deleted. */
  readonly discounts: boolean;
  /** The same of an item. */
  readonly itemDiscounts: boolean;
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
    const discounts = { discounts: false, itemDiscounts: false, coupons: [] };
    return { items: false, tiers: [], options: [], ...discounts };
  }
  const counted = subscription.items.data.flatMap(({ price }) =>
    price !== null && periodOf(price) !== null ? [price] : [],
  );
  const known = knownDiscounts(discountsOf(subscription), keptAndAnswered(kept, answers));
  const currency = subscription.currency ?? counted[0]?.currency ?? "";
  const ofItems = subscription.items.data.flatMap(({ discounts }) => discounts ?? []);
  const whole = discountGaps(ofWhole(subscription), known, currency, answers);
  const own = discountGaps(ofItems, known, currency, answers);
  return {
    items: subscription.items.has_more === true,
    ...amountsOf(counted, subscription.currency ?? null),
    discounts: whole.isOpen,
    itemDiscounts: own.isOpen,
    coupons: [...new Set([...whole.coupons, ...own.coupons])],
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

function discountGaps(
  given: readonly GivenDiscount[],
  known: KnownDiscounts,
  currency: string,
  answers: Answers,
): { readonly isOpen: boolean; readonly coupons: readonly string[] } {
  const unknown = unknownDiscounts(given, known);
  const coupons = [...unknown.coupons, ...incompleteCoupons(given, known, currency)];
  // A coupon that was deleted goes on for those who have it, and is reported with their discounts
  // only.
  const isGone = coupons.some((coupon) => answers.get(paths.coupon(coupon)) === null);
  return { isOpen: unknown.discounts.length > 0 || isGone, coupons };
}
