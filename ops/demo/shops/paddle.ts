import { adjustmentData, transactionData } from "../../payloads/paddle-money.js";
import {
  eventBody,
  type JsonObject,
  paddleEvent,
  priceData,
  productData,
  subscriptionData,
} from "../../payloads/paddle.js";
import type { Sale, Shop } from "./shop.js";

const product = { id: "pro_demo_desktop", name: "Desktop Studio" };

export const paddleShop: Shop = {
  provider: "paddle",
  sells: "memberships",
  prices: { USD: 2_400n, EUR: 2_200n, GBP: 1_900n, JPY: 3_600n },
  sale: (sale) => [
    subscription("created", sale.at, sale, { status: "active" }),
    transaction(sale, sale, "web"),
  ],
  renewal: (sale, { first }) => [transaction(sale, first, "subscription_recurring")],
  end: (at, { first }) => [
    subscription("canceled", at, first, { status: "canceled", canceledAt: at }),
  ],
  refund: (at, sale) => {
    const data = adjustmentData({
      id: `adj_${sale.tag}`,
      transaction: `txn_${sale.tag}`,
      customer: `ctm_${sale.customer}`,
      currency: sale.currency,
      createdAt: at,
      action: "refund",
      status: "approved",
      total: sale.amount,
    });
    return [body("adjustment.updated", `refund_${sale.tag}`, at, data)];
  },
};

function subscription(
  what: "created" | "canceled",
  at: number,
  first: Sale,
  state: { readonly status: "active" | "canceled"; readonly canceledAt?: number },
): Buffer {
  const data = subscriptionData({
    id: `sub_${first.tag}`,
    customer: `ctm_${first.customer}`,
    currency: first.currency,
    startedAt: first.at,
    items: [{ price: priceOf(first), quantity: 1, product: productOf(first) }],
    ...state,
  });
  return body(`subscription.${what}`, `${what}_${first.tag}`, at, data);
}

function transaction(sale: Sale, first: Sale, origin: "web" | "subscription_recurring"): Buffer {
  const { tag, at, amount } = sale;
  const line = {
    id: `txnitm_${tag}`,
    price: priceOf(first),
    product: productOf(first),
    subtotal: amount,
  };
  const data = transactionData({
    id: `txn_${tag}`,
    customer: `ctm_${sale.customer}`,
    currency: sale.currency,
    createdAt: at,
    paidAt: at,
    lines: [line],
    origin,
    subscription: `sub_${first.tag}`,
  });
  return body("transaction.completed", `paid_${tag}`, at, data);
}

function priceOf({ amount, currency }: Sale): JsonObject {
  const id = `pri_demo_${currency.toLowerCase()}`;
  return priceData({ id, product: product.id, unitAmount: amount, currency });
}

function productOf({ at }: Sale): JsonObject {
  return productData({ ...product, createdAt: at });
}

function body(type: string, id: string, at: number, data: JsonObject): Buffer {
  return eventBody(paddleEvent({ id: `evt_${id}`, type, at, data }));
}
