/** Reading Polar's history, from a real HTTP server that lists it as Polar does. */
import { expect } from "chai";
import {
  disputeObject,
  type JsonObject,
  orderObject,
  type OrderInput,
  polarEvent,
  productObject,
  refundObject,
  subscriptionObject,
  type SubscriptionInput,
} from "../payloads/polar.js";
import { textOf } from "../../providers/fields.js";
import { createPolar } from "../../providers/polar/index.js";
import { polarApi } from "../apis/polar-api.js";
import { dayMs } from "../harness/days.js";
import {
  endedReconciliation,
  expectAgreement,
  monthsOf,
  reconciled,
} from "../harness/histories.js";
import { HistorySuite } from "../harness/history-suite.js";

const polar = createPolar();
const from = Date.UTC(2026, 0, 1);
const onDay = (day: number): number => from + day * dayMs;
const credentials = { signing_secret: "whsec_of_the_history", access_token: "polar_oat_history" };
const moments = ["2026-01-20T00:00:00Z", "2026-02-20T00:00:00Z", "2026-04-01T00:00:00Z"];

const shared = { customer: 7, product: 3, productName: "Tide Tables", currency: "USD" } as const;
const order = (id: number, day: number, more: Partial<OrderInput> = {}): JsonObject =>
  orderObject({ ...shared, id, createdAt: onDay(day), net: 1500n, tax: 200n, fee: 90n, ...more });

/** More than a page holds. */
const onceSold = Array.from({ length: 105 }, (_, index) => order(1000 + index, index / 4));
const partly = { net: 1500n, tax: 200n, refunded: 500n, refundedTax: 100n } as const;
const refunded = order(2000, 1, { ...partly, modifiedAt: onDay(9) });
const refund = refundObject({
  id: 1,
  order: 2e3,
  customer: 7,
  currency: "USD",
  amount: 500n,
  tax: 100n,
  createdAt: onDay(9),
});
const old = order(999, -2);

interface Sold {
  readonly begun: JsonObject;
  /** Events about it, dated. */
  readonly changes: readonly [type: string, day: number, now: Partial<SubscriptionInput>][];
}
const subscription = (id: number, day: number, now: Partial<SubscriptionInput>): JsonObject =>
  subscriptionObject({
    ...shared,
    id,
    status: "active",
    amount: 1000n,
    createdAt: onDay(day),
    ...now,
  });
const sold: readonly (Sold & { readonly id: number; readonly day: number })[] = [
  plan(1, 3, {}, [["subscription.cycled", 33, { modifiedAt: onDay(33) }]]),
  plan(2, 4, {}, [
    ["subscription.revoked", 35, { status: "canceled", endedAt: onDay(35), modifiedAt: onDay(35) }],
  ]),
  plan(3, 5, { status: "trialing", trialEndsAt: onDay(19) }, [
    ["subscription.active", 19, { trialEndsAt: onDay(19), modifiedAt: onDay(19) }],
  ]),
  plan(4, 6, { status: "trialing", trialEndsAt: onDay(20) }, [
    [
      "subscription.revoked",
      20,
      { status: "canceled", trialEndsAt: onDay(20), endedAt: onDay(20), modifiedAt: onDay(20) },
    ],
  ]),
  plan(5, 7, {}, [
    ["subscription.paused", 40, { status: "paused", pausedAt: onDay(40), modifiedAt: onDay(40) }],
  ]),
];
const renewals = [1, 3].map((id) =>
  order(3000 + id, 34, { subscription: id, net: 1000n, modifiedAt: onDay(34) }),
);

function plan(id: number, day: number, first: Partial<SubscriptionInput>, rest: Sold["changes"]) {
  return { id, day, begun: subscription(id, day, first), changes: rest };
}
const last = ({ id, day, begun, changes }: (typeof sold)[number]): JsonObject => {
  const [, , now] = changes.at(-1) ?? [];
  return now === undefined ? begun : subscription(id, day, now);
};

/** As the webhook has reported it. */
const reported: JsonObject[] = [
  ...[...onceSold, ...renewals].map((one) =>
    polarEvent("order.paid", Date.parse(textOf(one["created_at"]) ?? ""), one),
  ),
  polarEvent("order.paid", onDay(1), order(2000, 1)),
  polarEvent("order.refunded", onDay(9), refunded),
  polarEvent("refund.created", onDay(9), refund),
  ...sold.flatMap(({ id, day, begun, changes }) => [
    polarEvent("subscription.created", onDay(day), begun),
    ...changes.map(([type, at, now]) => polarEvent(type, onDay(at), subscription(id, day, now))),
  ]),
];

const disputes = "/v1/disputes/";
const lists = new Map<string, JsonObject[]>([
  ["/v1/products/", [productObject({ ...shared, createdAt: onDay(-9) })]],
  ["/v1/subscriptions/", sold.map(last)],
  ["/v1/orders/", [old, refunded, ...onceSold, ...renewals]],
  ["/v1/refunds/", [refund]],
  [disputes, []],
]);
/** Opened in January. */
const dispute = (id: number, status: "lost" | "won" | "under_review", day: number): JsonObject =>
  disputeObject({
    ...shared,
    id,
    order: 1000 + id,
    amount: 1500n,
    tax: 200n,
    status,
    createdAt: onDay(12),
    modifiedAt: onDay(day),
  });

describe("A backfill of Polar", function () {
  this.timeout(120_000);
  const suite = new HistorySuite({
    provider: "polar",
    from: "2026-01-01",
    credentials: () => credentials,
    prepare({ answersApi }) {
      answersApi.speakers.set(credentials.access_token, polarApi(lists));
    },
    reported: () => reported,
    sign: (event) => polar.sign(Buffer.from(JSON.stringify(event)), credentials, Date.now()),
    moments,
  });

  it("should read all, and find it as listed", async () => {
    const done = await suite.read();
    expect(done, done.problem ?? "").to.include({ state: "done", problem: null });
    expect(done.counts).to.deep.equal({
      products: 1,
      subscriptions: sold.length,
      orders: 108,
      refunds: 1,
      disputes: 0,
    });
    expect(monthsOf(done)).to.deep.equal([
      "2026-01 USD 106 1802 6 same",
      "2026-02 USD 2 24 0 same",
    ]);
  });

  suite.itComesToTheSame();

  it("should have something to compare with", () => {
    const { alone } = suite;
    expect(alone.transactions).to.have.lengthOf(108);
    expect(new Set(alone.mrr).size).to.equal(2);
  });

  it("should agree with its lists to the cent, month by month", async () => {
    const months = { from: "2026-01", to: "2026-02" };
    expectAgreement(await reconciled(suite.endpoints, suite.integration, months));
  });

  suite.itChangesNothing([7]);

  it("should book disputes that were lost, which only its API tells", async () => {
    const { endpoints, integration } = suite;
    const months = { from: "2026-01", to: "2026-02" };
    lists.set(disputes, [dispute(1, "lost", 20), dispute(2, "won", 21)]);
    lists.get(disputes)?.push(dispute(3, "under_review", 13), dispute(4, "lost", 40));
    const untold = await reconciled(endpoints, integration, months);
    const reasons = untold.months.map(({ report }) => report?.reasons);
    expect(reasons).to.deep.equal([{ not_told: 1 }, { not_told: 1 }]);
    const done = await suite.read();
    expect(done, done.problem ?? "").to.include({ state: "done", problem: null });
    const agreed = await endedReconciliation(endpoints, integration, months);
    expectAgreement(agreed);
    const taken = agreed.months.map(({ report }) => report?.currencies[0]?.booked.disputed_minor);
    expect(taken).to.deep.equal([1_700, 1_700]);
    const { data } = (await endpoints.get("/v1/transactions?status=disputed")).json;
    expect(data).to.have.lengthOf(2);
  });
});
