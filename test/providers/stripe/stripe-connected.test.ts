/** Products of connected accounts, which may have the ids of the platform's own. */
import { expect } from "chai";
import { decode } from "../../../providers/stripe/decode.js";
import { type JsonObject, productObject, stripeEvent } from "../../../ops/payloads/stripe.js";
import { invoiceObject } from "../../../ops/payloads/stripe-money.js";
import type { FactBody } from "../../../schemas/records/records.js";
import { bodiesOf, stripeSubscription } from "../../harness/decoded.js";

const at = Date.UTC(2026, 4, 4, 12);
/** For products that the coupon names by the ids they have in their account. */
const coupon = { id: "HALF", duration: "forever", percent_off: 50 };
const source = { coupon: { ...coupon, applies_to: { products: ["prod_gold"] } } };
const subscription = stripeSubscription(at, [{ product: "prod_gold" }], {
  discounts: [{ id: "di_half", source }],
});
const invoice = invoiceObject({
  id: "in_1",
  customer: "cus_1",
  currency: "eur",
  createdAt: at,
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
        expect(bodiesOf(decode(body)).flatMap(skusOf)).to.deep.equal(expected);
      }
    });
  }
});
