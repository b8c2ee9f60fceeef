/** Reading Lemon Squeezy's history, from a real HTTP server that lists it as Lemon Squeezy does. */
import { expect } from "chai";
import {
  eventBody,
  isoTime,
  type JsonObject,
  lemonEvent,
  type LemonObject,
  orderObject,
} from "../../ops/payloads/lemonsqueezy.js";
import {
  answerOf,
  invoiceObject,
  priceAttributes,
  subscriptionObject,
  type SubscriptionInput,
} from "../payloads/lemonsqueezy.js";
import { createLemonSqueezy } from "../../providers/lemonsqueezy/index.js";
import { lemonSqueezyApi } from "../apis/lemonsqueezy-api.js";
import { dayMs } from "../harness/days.js";
import { expectAgreement, monthsOf, reconciled } from "../harness/histories.js";
import { HistorySuite } from "../harness/history-suite.js";

const lemon = createLemonSqueezy();
const from = Date.UTC(2026, 0, 1);
const onDay = (day: number): number => from + day * dayMs;
const credentials = {
  signing_secret: "of the lemon history",
  api_key: "lemon-key-of-the-history",
  store_id: "1",
};
const moments = ["2026-01-20T00:00:00Z", "2026-02-20T00:00:00Z", "2026-04-01T00:00:00Z"];

/** More than a page holds. */
const onceSold = 105;
const shared = { customer: 7, currency: "USD", product: 31, productName: "Tide Tables" } as const;
const orders = Array.from({ length: onceSold }, (_, index) =>
  orderObject({ ...shared, id: 1000 + index, total: 1500n, createdAt: onDay(index / 4) }),
);
const [firstOrder] = orders;
/** Something else about it changed after it was refunded. */
const refunded = withRefund(
  orderObject({
    ...shared,
    id: 1000,
    total: 1500n,
    createdAt: onDay(0),
    refundedAmount: 400n,
    updatedAt: onDay(50),
  }),
  onDay(9),
);
/** Its webhooks go elsewhere. */
const elsewhere = orderObject({ ...shared, id: 998, total: 8800n, createdAt: onDay(2) });
const old = orderObject({ ...shared, id: 999, total: 7700n, createdAt: onDay(-2) });

function withRefund({ attributes, ...object }: LemonObject, at: number): LemonObject {
  return { ...object, attributes: { ...attributes, refunded_at: isoTime(at) } };
}

interface Sold {
  readonly order: LemonObject;
  readonly begun: LemonObject;
  readonly now: LemonObject;
  readonly invoices: readonly LemonObject[];
}

/** A subscription of ten dollars a month. */
function sold(id: number, charged: bigint, day: number, now: Partial<SubscriptionInput>): Sold {
  const created = { createdAt: onDay(day), updatedAt: onDay(day) };
  const given = { ...shared, ...created, id, order: id, price: 4, item: id } as const;
  const begun = { ...given, status: "active" as const };
  const invoice = { ...shared, subscription: id } as const;
  return {
    order: orderObject({ ...shared, id, total: charged, priceId: 4, createdAt: onDay(day) }),
    begun: subscriptionObject(
      charged === 0n ? { ...begun, status: "on_trial", trialEndsAt: onDay(day + 14) } : begun,
    ),
    now: subscriptionObject({ ...begun, ...now }),
    invoices: [
      invoiceObject({ ...invoice, id, reason: "initial", total: charged, createdAt: onDay(day) }),
      ...(now.updatedAt === undefined || now.status === "cancelled"
        ? []
        : [
            { reason: "renewal", id: id + 500, total: 1000n, createdAt: now.updatedAt } as const,
          ].map((renewal) => invoiceObject({ ...invoice, ...renewal }))),
    ],
  };
}
const subscriptions = [
  sold(1, 1000n, 3, { status: "active", updatedAt: onDay(34) }),
  sold(2, 1000n, 4, { status: "expired", updatedAt: onDay(35), endsAt: onDay(35) }),
  // Its trial is over, and nothing says any more that it had one.
  sold(3, 0n, 5, { status: "active", updatedAt: onDay(19) }),
  sold(4, 0n, 6, { status: "cancelled", updatedAt: onDay(8), endsAt: onDay(20) }),
];
const invoices = subscriptions.flatMap(({ invoices: all }) => all);

/** As the webhook has reported it. */
const reported: JsonObject[] = [
  ...orders.map((object) => lemonEvent({ name: "order_created", object })),
  ...subscriptions.flatMap(({ order, begun, now, invoices: paid }) => [
    lemonEvent({ name: "order_created", object: order }),
    lemonEvent({ name: "subscription_created", object: begun }),
    ...paid.map((object) => lemonEvent({ name: "subscription_payment_success", object })),
    lemonEvent({
      name: `subscription_${now.attributes["status"] === "expired" ? "expired" : "updated"}`,
      object:
        now.attributes["status"] === "cancelled"
          ? {
              ...now,
              attributes: { ...now.attributes, trial_ends_at: now.attributes["ends_at"] ?? null },
            }
          : now,
    }),
  ]),
  lemonEvent({
    name: "order_refunded",
    object: { ...refunded, attributes: { ...refunded.attributes, updated_at: isoTime(onDay(9)) } },
  }),
];

describe("A backfill of Lemon Squeezy", function () {
  this.timeout(120_000);
  const api = lemonSqueezyApi();
  const suite = new HistorySuite({
    provider: "lemonsqueezy",
    from: "2026-01-01",
    api: () => api,
    credentials: () => credentials,
    prepare({ answersApi }) {
      answersApi.speakers.set(credentials.api_key, api.answer);
      const ofSubscriptions = subscriptions.map(({ order }) => order);
      const all = orders.map((order) => (order === firstOrder ? refunded : order));
      const other = { ...elsewhere, attributes: { ...elsewhere.attributes, store_id: 2 } };
      api.lists.set("/v1/orders", [old, other, ...all, ...ofSubscriptions]);
      api.lists.set(
        "/v1/subscriptions",
        subscriptions.map(({ now }) => now),
      );
      api.lists.set("/v1/subscription-invoices", invoices);
      const price = priceAttributes({ unitPrice: 1000n });
      api.answers.set("/v1/prices/4", answerOf("prices", 4, price));
      api.answers.set("/v1/stores/1", answerOf("stores", 1, { currency: "USD" }));
    },
    reported: () => reported,
    sign: (event) => lemon.sign(eventBody(event), credentials, Date.now()),
    moments,
  });

  it("should read all, though its API fails now and then, and find it as listed", async () => {
    const done = await suite.readThroughFailures(3);
    expect(done.counts).to.deep.equal({
      orders: onceSold + subscriptions.length,
      subscriptions: subscriptions.length,
      subscription_invoices: invoices.length,
    });
    expect(monthsOf(done)).to.deep.equal([
      "2026-01 USD 108 1605 4 same",
      "2026-02 USD 2 20 0 same",
    ]);
  });

  suite.itComesToTheSame();

  it("should have something to compare with", () => {
    expect(suite.alone.transactions).to.have.lengthOf(110);
    expect(suite.alone.mrr.every((worth) => worth > 0)).to.equal(true);
  });

  it("should agree with its lists to the cent, month by month", async () => {
    const months = { from: "2026-01", to: "2026-02" };
    const agreed = await reconciled(suite.endpoints, suite.integration, months);
    expectAgreement(agreed);
    const sums = agreed.months.map(({ report }) => report?.currencies.map(({ listed }) => listed));
    const undisputed = { disputed_minor: 0, reinstated_minor: 0 };
    expect(sums).to.deep.equal([
      [{ count: 108, amount_minor: 160_500, refunded_minor: 400, ...undisputed }],
      [{ count: 2, amount_minor: 2_000, refunded_minor: 0, ...undisputed }],
    ]);
  });

  suite.itFetchesWhatIsMissing({ from: "2026-01", to: "2026-02" });

  suite.itChangesNothing([1, 2, 3]);

  suite.itReportsADifference({
    isRead: ({ pathname, searchParams }) =>
      pathname === "/v1/orders" && searchParams.get("page[number]") === "1",
    readings: 2,
    change() {
      const before = api.lists.get("/v1/orders") ?? [];
      const late = orderObject({ ...shared, id: 5000, total: 900n, createdAt: onDay(70) });
      api.lists.set("/v1/orders", [...before, late]);
      return () => void api.lists.set("/v1/orders", before);
    },
    look: (different) => expect(monthsOf(different)).to.include("2026-03 USD 1 9 0 other"),
  });
});
