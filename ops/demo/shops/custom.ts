import { recordBody } from "../../payloads/custom.js";
import { personOf } from "../person.js";
import type { Shop } from "./shop.js";

const product = { product_id: "field-course", product_name: "Field Course" };

export const customShop: Shop = {
  provider: "custom",
  sells: "things",
  prices: { USD: 8_900n, EUR: 7_900n, GBP: 6_900n, JPY: 12_900n },
  sale: ({ tag, amount: amountMinor, currency, at, customer, country }) => {
    const { name, email } = personOf(customer);
    const who = { customer_id: customer, customer_name: name, customer_email: email };
    const more = { ...product, ...who, customer_country: country };
    const eventId = `till-${tag}`;
    return [
      recordBody({ eventType: "transaction.sale", eventId, amountMinor, currency, at, more }),
    ];
  },
  refund: (at, { tag, amount: amountMinor, currency }) => {
    const eventId = `till-refund-${tag}`;
    const more = { transaction_id: `till-${tag}` };
    return [
      recordBody({ eventType: "transaction.refund", eventId, amountMinor, currency, at, more }),
    ];
  },
};
