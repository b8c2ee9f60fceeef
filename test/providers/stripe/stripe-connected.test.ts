/** Products of connected accounts, which may have the ids of the platform's own. */
import { expect } from "chai";
import { decode } from "../../../providers/stripe/decode.js";
import {
  discountObject,
  type JsonObject,
  priceObject,
  productObject,
  stripeEvent,
  subscriptionObject,
} from "../../../ops/payloads/stripe.js";
import { invoiceObject } from "../../../ops/payloads/stripe-money.js";
import type { FactBody } from "../../../schemas/records/records.js";

const at = Date.UTC(2026, 4, 4, 12);
const shared = { customer: "cus_1", currency: "eur", createdAt: at } as const;

const half = discountObject({ id: "di_half", percentOff: 50, duration: "forever", startAt: at });
/** For products that the coupon names by the ids they have in their account. */
const discount: JsonObject = {
  ...half,
  source: {
    type: "coupon",
    coupon: {
      id: "HALF",
      duration: "forever",
      percent_off: 50,
      applies_to: { products: ["prod_gold"] },
    },
  },
};
const price = priceObject({
  id: "price_1",
  product: "prod_gold",
  currency: "eur",
  unitAmount: 1000n,
});
const subscription = subscriptionObject({
  ...shared,
  id: "sub_1",
  status: "active",
  discounts: [discount],
  items: [{ id: "si_1", quantity: 1, price }],
});
const invoice = invoiceObject({
  ...shared,
  id: "in_1",
  paidAt: at,
  lines: [{ id: "il_1", price: "price_1", amount: 1000n, product: "prod_gold" }],
});
const product = productObject({ id: "prod_gold", name: "Gold", createdAt: at });

function skusOf(body: FactBody): string[] {
  if ("Sku" in body) return [body.Sku.external_id];
  if ("Purchase" in body) return body.Purchase.lines.map((each) => each.external_id);
  if (!("Subscription" in body)) return [];
  return body.Subscription.steps.flatMap(({ items }) =>
    items.map((each) => `${each.external_id}=${each.monthly_numerator}`),
  );
}

describe("A product of a connected Stripe account", () => {
  const cases: [string, JsonObject, string[], string[]][] = [
    ["product.created", product, ["prod_gold"], ["acct_1:prod_gold"]],
    ["invoice.paid", invoice, ["prod_gold"], ["acct_1:prod_gold"]],
    ["customer.subscription.created", subscription, ["prod_gold=500"], ["acct_1:prod_gold=500"]],
  ];
  for (const [type, object, own, connected] of cases) {
    it(`should be another than the platform's of that id, reported by ${type}`, () => {
      const event = stripeEvent({ id: "evt_1", type, at, object });
      for (const [body, expected] of [
        [event, own],
        [{ ...event, account: "acct_1" }, connected],
      ] as const) {
        const decoded = decode(body);
        const facts = decoded.outcome === "facts" ? decoded.facts : [];
        expect(facts.flatMap((fact) => skusOf(fact.body))).to.deep.equal(expected);
      }
    });
  }
});
