/** Orders only: what a subscription of Lemon Squeezy costs stands in its API, not in its events. */
import { eventBody, lemonEvent, orderObject } from "../../payloads/lemonsqueezy.js";
import { personOf } from "../person.js";
import type { Sale, Shop } from "./shop.js";

const product = 71_001;

export const lemonSqueezyShop: Shop = {
  provider: "lemonsqueezy",
  sells: "things",
  prices: { USD: 3_900n },
  sale: (sale) => [order("order_created", sale, {})],
  refund: (at, sale) => [
    order("order_refunded", sale, {
      status: "refunded",
      refundedAmount: sale.amount,
      updatedAt: at,
    }),
  ],
};

function order(
  name: "order_created" | "order_refunded",
  sale: Sale,
  state: { status?: "refunded"; refundedAmount?: bigint; updatedAt?: number },
): Buffer {
  const object = orderObject({
    id: sale.number,
    customer: sale.number,
    person: personOf(sale.customer),
    product,
    productName: "Icon Set",
    currency: sale.currency,
    total: sale.amount,
    createdAt: sale.at,
    ...state,
  });
  return eventBody(lemonEvent({ name, object }));
}
