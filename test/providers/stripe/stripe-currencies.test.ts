/** Prices with amounts in several currencies: the subscription says which one is charged. */
import { expect } from "chai";
import { paths } from "../../../providers/stripe/answers.js";
import { asks, decode } from "../../../providers/stripe/decode.js";
import {
  type JsonObject,
  type PriceInput,
  priceObject,
  stripeEvent,
} from "../../../ops/payloads/stripe.js";
import { requiredOf, stripeSubscription, worthIn } from "../../harness/decoded.js";

const at = Date.UTC(2026, 2, 10, 9);
const none = new Map<string, unknown>();
const options = {
  currency_options: {
    eur: { unit_amount: 1900, unit_amount_decimal: "1900" },
    jpy: { unit_amount: 2500, unit_amount_decimal: "2500.5" },
  },
};
const tiersIn = (amount: number): JsonObject => ({
  currency_options: { eur: { tiers: [{ up_to: null, unit_amount: amount }] } },
});

function event(currency: string, more: JsonObject = {}, input: Partial<PriceInput> = {}) {
  const price = priceObject({
    id: "price_1",
    product: "prod_1",
    currency: "usd",
    unitAmount: 2000n,
    ...input,
  });
  const items = [{ id: "si_1", quantity: 2, price: { ...price, ...more } }];
  const object = stripeSubscription(at, [], { currency, items });
  return stripeEvent({ id: "evt_1", type: "customer.subscription.created", at, object });
}

describe("A Stripe price of several currencies", () => {
  const tiered = { unitAmount: null, tiersMode: "volume" } as const;
  const eurPath = paths.priceIn("price_1", "eur", false);
  const eurTiersPath = paths.priceIn("price_1", "eur", true);
  const cases: [
    title: string,
    body: unknown,
    answers: ReadonlyMap<string, unknown>,
    expected: string,
  ][] = [
    ["in its own currency", event("usd"), none, "USD 4000"],
    ["in the subscription's, where the event shows it", event("eur", options), none, "EUR 3800"],
    ["with fractions of a unit", event("jpy", options), none, "JPY 5001"],
    ["not at all, where the event leaves it out", event("eur"), none, "enrichment_unavailable"],
    [
      "as Stripe answers",
      event("eur"),
      new Map([[eurPath, { id: "price_1", ...options }]]),
      "EUR 3800",
    ],
    [
      "not at all, where Stripe's answer has none",
      event("gbp"),
      new Map([[paths.priceIn("price_1", "gbp", false), { id: "price_1", ...options }]]),
      "enrichment_unavailable",
    ],
    [
      "by tiers of that currency, not those of its own",
      event("eur", { ...tiersIn(700), tiers: [{ up_to: null, unit_amount: 900 }] }, tiered),
      none,
      "EUR 1400",
    ],
    [
      "by tiers Stripe answers",
      event("eur", {}, tiered),
      new Map([[eurTiersPath, { id: "price_1", ...tiersIn(800) }]]),
      "EUR 1600",
    ],
  ];
  for (const [title, body, answers, expected] of cases) {
    it(`should count ${title}`, () => {
      expect(worthIn(decode(body, { kept: none, answers }))).to.equal(expected);
      // What is answered, or was shown, is not asked for again.
      const asked = requiredOf(asks(body, { kept: none, answers }), answers);
      const isOpen = expected === "enrichment_unavailable" && answers.size === 0;
      expect(asked).to.deep.equal(isOpen ? [eurPath] : []);
    });
  }
});
