/** What Lemon Squeezy is asked, what is kept of its events, and how an event is distinguished. */
import { expect } from "chai";
import { createLemonSqueezy } from "../../providers/lemonsqueezy/index.js";
import {
  type JsonObject,
  type LemonObject,
  lemonEvent,
  orderObject,
} from "../../ops/payloads/lemonsqueezy.js";
import {
  answerOf,
  invoiceObject,
  listAnswer,
  priceAttributes,
  subscriptionObject,
} from "../payloads/lemonsqueezy.js";
import { bodiesOf, statesOf } from "../harness/decoded.js";

const lemon = createLemonSqueezy();
const at = Date.UTC(2026, 2, 10, 9);
const order = orderObject({
  id: 1,
  customer: 7,
  currency: "EUR",
  total: 1000n,
  product: 3,
  createdAt: at,
});
const invoice = (reason: "initial" | "renewal"): LemonObject =>
  invoiceObject({
    id: 1,
    subscription: 9,
    customer: 7,
    reason,
    currency: "EUR",
    total: 1000n,
    createdAt: at + 1,
  });
const subscription = (status: "active" | "on_trial", quantity = 1): LemonObject =>
  subscriptionObject({
    quantity,
    id: 9,
    customer: 7,
    order: 1,
    product: 3,
    price: 4,
    item: 5,
    status,
    createdAt: at,
    updatedAt: at,
  });
const event = (name: string, object: LemonObject, testMode = false) =>
  lemonEvent({ name, object, testMode });
const nothing = { kept: new Map(), answers: new Map() };
const redemptions = "/v1/discount-redemptions?filter[order_id]=1&page[size]=100";

/** What earlier events reported, as the database would recall it. */
function keptOf(...bodies: unknown[]) {
  const kept = bodies.flatMap((body) => lemon.keeps?.(body) ?? []);
  return { ...nothing, kept: new Map(kept.map(({ id, object }) => [id, object])) };
}

describe("What Lemon Squeezy is asked", () => {
  const several = { ...order, attributes: { ...order.attributes, subtotal: 1500 } };
  const ordered = event("order_created", order);
  const updated = event("subscription_updated", subscription("active"));
  const begun = keptOf(event("subscription_created", subscription("active")));
  const plain = keptOf(ordered);
  const trial = event("subscription_created", subscription("on_trial"));
  const first = event("subscription_payment_success", invoice("initial"));
  const renewal = event("subscription_payment_success", invoice("renewal"));
  const failed = event("subscription_payment_failed", invoice("initial"));
  const country = "optional /v1/customers/7";
  const priced = ["required /v1/stores/1", "required /v1/prices/4"];
  const charged = ["required /v1/orders/1", `required ${redemptions}`];
  const items = "optional /v1/order-items?filter[order_id]=1&page[size]=100";
  const whichOrder = "required /v1/subscriptions/9";
  const cases: [title: string, body: unknown, known: typeof nothing, asked: string[]][] = [
    ["the country of an order", ordered, nothing, [country]],
    ["the further items of an order", event("order_created", several), nothing, [country, items]],
    ["which order an initial invoice paid", first, nothing, [country, whichOrder]],
    ["not that when the subscription has reported it", first, begun, [country]],
    ["nothing more of a renewal", renewal, nothing, [country]],
    [
      "price, currency, discounts and what was charged of a subscription that counts",
      updated,
      nothing,
      [country, ...priced, ...charged],
    ],
    ["no discounts when the order had none", updated, plain, [country, ...priced]],
    ["no price of a trial", trial, nothing, [country]],
    ["nothing of a payment that failed", failed, nothing, []],
    ["nothing of what is no event", [], nothing, []],
  ];
  for (const [title, body, known, asked] of cases) {
    it(`should be ${title}`, () => {
      const questions = lemon.asks?.(body, known) ?? [];
      expect(questions.map(({ importance, path }) => `${importance} ${path}`)).to.deep.equal(asked);
    });
  }

  const silent: [string, object][] = [
    ["of a trial, which shows no price", { subtotal: 0, total: 0 }],
    ["of a trial with a setup fee", { subtotal: 500, total: 500, setup_fee: 500 }],
    ["with a discount", { subtotal: 1980, total: 990, discount_total: 990 }],
  ];
  for (const [title, more] of silent) {
    it(`should be for discounts after an order ${title}`, () => {
      const reported = { ...order, attributes: { ...order.attributes, ...more } };
      const known = keptOf(event("order_created", reported));
      const questions = lemon.asks?.(updated, known);
      expect(questions?.map(({ path }) => path)).to.include(redemptions);
    });
  }

  it("should go by what the order said last of its discount", () => {
    const [before] = lemon.keeps?.(ordered) ?? [];
    const { attributes } = orderObject({
      id: 1,
      customer: 7,
      currency: "EUR",
      total: 500n,
      discount: 500n,
      product: 3,
      createdAt: at,
      refundedAmount: 100n,
      updatedAt: at + 1000,
    });
    const [later] = lemon.keeps?.(event("order_refunded", { ...order, attributes })) ?? [];
    expect(later?.id).to.equal(before?.id);
    expect(later?.reportedAt).to.be.greaterThan(before?.reportedAt ?? Infinity);
  });

  it("should name what earlier events may have reported", () => {
    expect(lemon.needs?.(first)).to.deep.equal(["subscription:9"]);
    expect(lemon.needs?.(updated)).to.deep.equal(["order:1"]);
    expect(lemon.needs?.(ordered)).to.deep.equal([]);
  });

  it("should join the initial invoice and its order in one payment", () => {
    const paymentOf = (body: unknown, known: typeof nothing) =>
      bodiesOf(lemon.decode(body, known)).flatMap((fact) =>
        "Payment" in fact ? fact.Payment.payment : [],
      );
    expect(paymentOf(ordered, nothing)).to.deep.equal(["order:1"]);
    expect(paymentOf(first, begun)).to.deep.equal(["order:1"]);
    expect(lemon.decode(first, nothing)).to.include({ reason: "enrichment_unavailable" });
  });
});

describe("What a subscription of Lemon Squeezy costs", () => {
  const listed = priceAttributes({ unitPrice: 1000n });
  const exact = { ...listed, unit_price_decimal: "1000.4" };
  const packages = { ...listed, scheme: "package", package_size: 2 };
  const charged = (item: JsonObject, more: JsonObject = {}): JsonObject => ({
    currency: "USD",
    subtotal: 1500,
    setup_fee: 0,
    first_order_item: { price_id: 4, price: 750, quantity: 2, ...item },
    ...more,
  });
  const asListed = charged({ price: 1000 }, { subtotal: 2000 });
  const cases: [title: string, price: JsonObject, order: JsonObject | null, expected: string][] = [
    ["the amount its checkout set", listed, charged({}), "1500"],
    ["that beside a setup fee", listed, charged({}, { subtotal: 1800, setup_fee: 300 }), "1500"],
    ["that before a discount", listed, charged({}, { discount_total: 500 }), "1500"],
    ["the price, charged as it is listed", listed, asListed, "2000"],
    ["the price, to a fraction of a cent", exact, asListed, "10004/5"],
    ["the price of packages", packages, charged({}), "1000"],
    ["the price of another plan than the order's", listed, charged({ price_id: 9 }), "2000"],
    [
      "the price where the order is in another currency",
      listed,
      charged({}, { currency: "EUR" }),
      "2000",
    ],
    ["the price after a trial", listed, charged({ price: 0 }, { subtotal: 0 }), "2000"],
    ["the price where the order is of more", listed, charged({}, { subtotal: 2400 }), "2000"],
    ["the price where nobody knows the order", listed, null, "2000"],
  ];
  for (const [title, price, reported, expected] of cases) {
    it(`should be ${title}`, () => {
      const known = {
        ...nothing,
        answers: new Map<string, unknown>([
          ["/v1/prices/4", answerOf("prices", 4, price)],
          ["/v1/stores/1", answerOf("stores", 1, { currency: "USD" })],
          [redemptions, listAnswer("discount-redemptions", [])],
          ["/v1/orders/1", reported && answerOf("orders", 1, reported)],
        ]),
      };
      const body = event("subscription_updated", subscription("active", 2));
      expect(monthlyIn(body, known)).to.equal(expected);
      if (reported === null) return;
      const own = { ...order, attributes: { ...order.attributes, ...reported } };
      const kept = keptOf(event("order_created", own)).kept;
      const answers = new Map([...known.answers].filter(([path]) => path !== "/v1/orders/1"));
      expect(monthlyIn(body, { kept, answers }), "by its event").to.equal(expected);
    });
  }
});

/** Minor units, as a fraction where they are none. */
function monthlyIn(body: unknown, known: Parameters<typeof lemon.decode>[1]): string {
  const [state] = statesOf(lemon.decode(body, known));
  if (state === undefined) throw new Error("no subscription");
  const [item] = state.steps.flatMap(({ items }) => items);
  const { monthly_numerator: above = 0n, monthly_denominator: below = 1n } = item ?? {};
  return below === 1n ? `${above}` : `${above}/${below}`;
}

describe("Lemon Squeezy's heading", () => {
  const time = "2026-03-10T09:00:00.000000Z";

  it("should distinguish events by what is reported which object as of when", () => {
    const { nativeId, ...heading } = { ...lemon.heading(event("order_created", order)) };
    expect(nativeId).to.match(new RegExp(`^order_created:orders:1:${time}:[0-9a-f]{32}$`));
    expect(heading).to.deep.equal({
      nativeType: "order_created",
      sandbox: false,
      accountHint: "7",
    });
  });

  it("should know a change of the item alone for another event", () => {
    const later = "2026-03-11T10:00:00.000000Z";
    const reported = (updated_at: string) => {
      const attributes = { updated_at: time, first_subscription_item: { updated_at } };
      const data = { type: "subscriptions", id: "3", attributes };
      return lemon.heading({ meta: { event_name: "subscription_updated" }, data })?.nativeId;
    };
    expect(reported("2026-03-09T10:00:00.000000Z")).to.include(
      `subscription_updated:subscriptions:3:${time}:`,
    );
    expect(reported(later)).to.include(`subscription_updated:subscriptions:3:${later}:`);
  });

  it("should know two changes of one second for two events, and what is sent again for one", () => {
    const reported = (more: object, webhook_id = "one") => {
      const attributes = { updated_at: time, variant_id: 1, ...more };
      const data = { type: "subscriptions", id: "3", attributes };
      return lemon.heading({ meta: { event_name: "subscription_updated", webhook_id }, data })
        ?.nativeId;
    };
    const links = (signature: string) => ({ urls: { customer_portal: `https://x/?${signature}` } });
    const ids = [reported({}), reported({ variant_id: 2 }), reported({ status: "paused" })];
    expect(new Set(ids).size).to.equal(3);
    expect(reported({})).to.equal(reported({}, "another"));
    expect(reported(links("a"))).to.equal(reported(links("b")));
  });

  it("should read the sandbox flag of the envelope, else of the object", () => {
    expect(lemon.heading(event("order_created", order, true))).to.include({ sandbox: true });
    const attributes = { updated_at: time, test_mode: true };
    const bare = { meta: { event_name: "x" }, data: { type: "orders", id: "1", attributes } };
    expect(lemon.heading(bare)).to.include({ sandbox: true, accountHint: "1" });
  });

  it("should be none of an object without an event", () => {
    expect(lemon.heading({ data: { type: "orders", id: "1", attributes: {} } })).to.equal(null);
  });
});
