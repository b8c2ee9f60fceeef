/** The Play Store's sales as RevenueCat reports them; the App Store is connected itself. */
import { purchaseBody, type PurchaseType } from "../../payloads/revenuecat.js";
import { monthsAfter } from "../calendar.js";
import type { Sale, Shop } from "./shop.js";

const product = "demo.android.pro";

export const revenueCatShop: Shop = {
  provider: "revenuecat",
  sells: "memberships",
  prices: { USD: 1_299n, EUR: 1_199n, GBP: 1_099n, JPY: 1_900n },
  sale: (sale, until) => [purchase("INITIAL_PURCHASE", sale.at, sale, sale, until)],
  renewal: (sale, { first, until }) => [purchase("RENEWAL", sale.at, sale, first, until)],
  end: (at, { first }) => {
    const last = { ...first, at: monthsAfter(at, -1) };
    const more = { expiration_reason: "UNSUBSCRIBE" };
    return [purchase("EXPIRATION", at, last, first, at, more)];
  },
};

function purchase(
  type: PurchaseType,
  at: number,
  sale: Sale,
  first: Sale,
  until: number,
  more: Readonly<Record<string, string>> = {},
): Buffer {
  return purchaseBody(type, {
    id: `${type.toLowerCase()}-${sale.tag}`,
    at,
    transaction: `GPA.${sale.tag}`,
    original: `GPA.${first.tag}`,
    user: first.customer,
    product,
    store: "PLAY_STORE",
    purchasedAt: sale.at,
    expirationAt: until,
    amount: sale.amount,
    currency: sale.currency,
    country: sale.country,
    more,
  });
}
