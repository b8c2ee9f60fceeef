import { membershipPing, salePing } from "../../payloads/gumroad.js";
import { personOf } from "../person.js";
import type { Sale, Shop } from "./shop.js";

const product = { product: "demo-brush-club", productName: "Brush Club" };
const recurrence = "monthly";

export const gumroadShop: Shop = {
  provider: "gumroad",
  sells: "memberships",
  prices: { USD: 1_500n },
  sale: (sale) => [charge(sale, sale, false)],
  renewal: (sale, { first }) => [charge(sale, first, true)],
  end: (at, { first }) => {
    const membership = {
      ...product,
      subscription: `membership-${first.tag}`,
      user: `buyer-${first.customer}`,
      createdAt: first.at,
      recurrence,
    } as const;
    return [membershipPing(membership, { resource: "subscription_ended", endedAt: at })];
  },
};

function charge(sale: Sale, first: Sale, recurring: boolean): Buffer {
  return salePing("sale", {
    ...product,
    sale: `sale-${sale.tag}`,
    at: sale.at,
    cents: sale.amount,
    purchaser: `buyer-${sale.customer}`,
    email: personOf(sale.customer).email,
    subscription: `membership-${first.tag}`,
    recurrence,
    recurring,
  });
}
