/** Reading Chargebee's history, from a real HTTP server that lists it as Chargebee does. */
import { expect } from "chai";
import {
  chargebeeEvent,
  couponObject,
  invoiceObject,
  type JsonObject,
  priceObject,
  subscriptionObject,
  type SubscriptionInput,
  transactionObject,
} from "../payloads/chargebee.js";
import { createChargebee } from "../../providers/chargebee/index.js";
import { chargebeeApi } from "../apis/chargebee-api.js";
import { dayMs } from "../harness/days.js";
import { expectAgreement, monthsOf, reconciled } from "../harness/histories.js";
import { HistorySuite } from "../harness/history-suite.js";

const chargebee = createChargebee();
const from = Date.UTC(2026, 0, 1);
const onDay = (day: number): number => from + day * dayMs;
const credentials = {
  username: "revenue",
  password: "of-the-chargebee-history",
  site: "example-test",
  api_key: "test_of_the_history",
};
const moments = ["2026-01-20T00:00:00Z", "2026-02-20T00:00:00Z", "2026-04-01T00:00:00Z"];

const shared = { customer: "cus7", currency: "USD" } as const;
const price = "tides-USD-monthly";
/** Each invoice is paid by a transaction of its own. */
function sale(id: string, day: number, more: { subscription?: string; refunded?: bigint } = {}) {
  const { subscription = null, refunded } = more;
  const date = onDay(day);
  const money = { ...shared, subscription, date };
  const amount = 1700n;
  const refund = { id: `refund-${id}`, amount: refunded ?? 0n, date: onDay(day + 8) };
  const paid = { ...money, id: `txn-${id}`, amount, invoices: [{ id: `inv-${id}`, amount }] };
  return {
    invoice: invoiceObject({
      ...money,
      id: `inv-${id}`,
      tax: 200n,
      lines: [
        {
          price,
          amount: 1500n,
        },
      ],
      payments: [
        {
          id: `txn-${id}`,
          amount,
          at: date,
        },
      ],
    }),
    transaction: transactionObject(paid),
    listed: transactionObject(
      refunded === undefined ? paid : { ...paid, refunds: [refund], version: refund.date },
    ),
    refund:
      refunded === undefined
        ? null
        : transactionObject({
            ...shared,
            ...refund,
            type: "refund",
            of: `txn-${id}`,
            amount: refunded,
          }),
  };
}

/** More than a page holds. */
const onceSold = Array.from({ length: 105 }, (_, index) => sale(`once-${index}`, index / 4));
const renewals = ["s1", "s3"].map((id) => sale(`renewal-${id}`, 34, { subscription: id }));
const sales = [...onceSold, sale("refunded", 1, { refunded: 600n }), ...renewals];
const old = sale("old", -2);

type Now = Partial<SubscriptionInput>;
const subscription = (id: string, day: number, now: Now): JsonObject =>
  subscriptionObject({
    ...shared,
    id,
    status: "active",
    items: [
      {
        price,
        amount: 1000n,
      },
    ],
    startedAt: onDay(day),
    version: onDay(day),
    ...now,
  });
const trialUntil = (day: number): Now => ({ status: "in_trial", trialEndsAt: onDay(day) });
/** Events about each, dated. */
const plans: [id: string, day: number, first: Now, type: string, at: number, now: Now][] = [
  ["s1", 3, {}, "subscription_renewed", 33, {}],
  ["s2", 4, {}, "subscription_cancelled", 35, { status: "cancelled", cancelledAt: onDay(35) }],
  [
    ...(["s3", 5, trialUntil(19), "subscription_activated", 19] as const),
    { trialEndsAt: onDay(19), activatedAt: onDay(19) },
  ],
  [
    ...(["s4", 6, trialUntil(20), "subscription_cancelled", 20] as const),
    { status: "cancelled", trialEndsAt: onDay(20), cancelledAt: onDay(20) },
  ],
  ["s5", 7, { coupons: [{ id: "HALF" }] }, "subscription_paused", 40, { status: "paused" }],
];
const last = ([id, day, first, , at, now]: (typeof plans)[number]): JsonObject =>
  subscription(id, day, {
    ...(first.coupons && { coupons: first.coupons }),
    ...now,
    version: onDay(at),
  });

let events = 0;
const event = (type: string, at: number, content: JsonObject): JsonObject => {
  events += 1;
  return chargebeeEvent({ id: `ev_history_${events}`, type, at, content });
};
/** As the webhook has reported it. */
const reported: JsonObject[] = [
  ...sales.flatMap(({ invoice, transaction, listed, refund }) => [
    event("payment_succeeded", Number(transaction["date"]) * 1000, { transaction, invoice }),
    ...(refund === null
      ? []
      : [
          event("payment_refunded", Number(refund["date"]) * 1000, { transaction: refund }),
          event("transaction_updated", Number(refund["date"]) * 1000, { transaction: listed }),
        ]),
  ]),
  ...plans.flatMap((plan) => {
    const [id, day, first, type, at] = plan;
    const begun = subscription(id, day, first);
    return [
      event("subscription_created", onDay(day), { subscription: begun }),
      event(type, onDay(at), { subscription: last(plan) }),
    ];
  }),
];

describe("A backfill of Chargebee", function () {
  this.timeout(120_000);
  const suite = new HistorySuite({
    provider: "chargebee",
    from: "2026-01-01",
    credentials: () => credentials,
    prepare({ answersApi }) {
      const lists = new Map([
        ["item_price", [priceObject(price, "Tide Tables", onDay(-9))]],
        ["coupon", [couponObject({ id: "HALF", percentage: 50, at: onDay(-9) })]],
        ["subscription", plans.map(last)],
        ["invoice", [old, ...sales].map(({ invoice }) => invoice)],
        [
          "transaction",
          [old, ...sales].flatMap(({ listed, refund }) => [listed, refund ?? []].flat()),
        ],
      ]);
      const asked = `Basic ${Buffer.from(`${credentials.api_key}:`).toString("base64")}`;
      answersApi.speakers.set(asked, chargebeeApi(lists));
    },
    reported: () => reported,
    sign: (one) => chargebee.sign(Buffer.from(JSON.stringify(one)), credentials, Date.now()),
    moments,
  });

  it("should read all, and find it as listed", async () => {
    const done = await suite.read();
    expect(done, done.problem ?? "").to.include({ state: "done", problem: null });
    expect(done.counts).to.deep.equal({
      item_prices: 1,
      coupons: 1,
      subscriptions: plans.length,
      invoices: sales.length,
      transactions: sales.length + 1,
    });
    expect(monthsOf(done)).to.deep.equal([
      "2026-01 USD 106 1802 6 same",
      "2026-02 USD 2 34 0 same",
    ]);
  });

  suite.itComesToTheSame();

  it("should have something to compare with", () => {
    const { alone } = suite;
    expect(alone.transactions).to.have.lengthOf(sales.length);
    const names = alone.transactions.map(({ product_name: name }) => name);
    expect(names.filter((name) => name === "Tide Tables")).to.have.lengthOf(108);
    expect(new Set(alone.mrr).size).to.equal(2);
  });

  it("should agree with its list to the cent, month by month", async () => {
    const months = { from: "2026-01", to: "2026-02" };
    expectAgreement(await reconciled(suite.endpoints, suite.integration, months));
  });

  suite.itFetchesWhatIsMissing({ from: "2026-01", to: "2026-02" });

  suite.itChangesNothing([7]);
});
