/** Events of API versions since 2011, under the names their fields had then. */
import { expect } from "chai";
import { decode } from "../../../providers/stripe/decode.js";
import { bodiesOf } from "../../harness/decoded.js";

const created = 1_400_000_000;
const at = created * 1000;
const plan = { id: "gold", amount: 900, currency: "usd", interval: "month", name: "Gold" };
const line = { id: "sub_1", type: "subscription", amount: 900, currency: "usd", plan };
const tiered = { amount: null, billing_scheme: "tiered", tiers_mode: "volume" };
const tiers = [{ amount: 700, up_to: null }];
const charge = { object: "charge", id: "ch_1", amount: 900, amount_refunded: 0, paid: true };
const oldCharge = { ...charge, currency: "usd", created };
const due = { total: 900, amount_due: 900 };
const invoice = { object: "invoice", id: "in_1", currency: "usd", ...due, customer: "cus_1" };
const oldInvoice = { ...invoice, date: created, paid: true };
const ofCustomer = { id: "sub_1", customer: "cus_1", status: "active", plan, quantity: 2 };
const subscription = { object: "subscription", ...ofCustomer };
const refund = { object: "refund", amount: 300, currency: "usd", created };
const byKind = { subscriptions: [line], invoiceitems: [], prorations: [] };
const itemOfTiers = { id: "si_1", quantity: 2, plan: { ...plan, ...tiered, tiers } };
const worth = (monthly: bigint) => ({
  Subscription: { steps: [{ at, items: [{ monthly_numerator: monthly }] }] },
});

const cases: readonly [since: string, type: string, object: object, read: object][] = [
  [
    "2019-03-14, `date` of an invoice, none of it reported as paid",
    "invoice.payment_succeeded",
    { ...oldInvoice, charge: "ch_1", lines: { data: [line] } },
    { Purchase: { purchase: "in_1", total: 900n, lines: [{ external_id: "", weight: 900n }] } },
  ],
  [
    "2012-10-26, lines of an invoice by kind",
    "invoice.payment_succeeded",
    { ...oldInvoice, lines: byKind },
    { Purchase: { purchase: "in_1", lines: [{ weight: 900n }] } },
  ],
  [
    "2015-02-18, a charge that is `paid`",
    "charge.succeeded",
    { ...oldCharge, status: "paid" },
    { Payment: { payment: "ch_1", amount: 900n, at } },
  ],
  [
    "2014-06-17, refunds in an array",
    "charge.refunded",
    { ...oldCharge, amount_refunded: 300, refunds: [refund] },
    { RefundTotal: { payment: "ch_1", amount: 300n } },
  ],
  [
    "2018-08-23, the `amount` of a tier",
    "customer.subscription.created",
    { ...subscription, created, items: { data: [itemOfTiers] } },
    worth(1400n),
  ],
  [
    "2017, a subscription of one plan, without `created`",
    "customer.subscription.created",
    { ...subscription, start: created },
    worth(1800n),
  ],
];

describe("Stripe before", () => {
  for (const [since, type, object, read] of cases) {
    it(`should read ${type} as it was before ${since}`, () => {
      const event = { id: "evt_1", object: "event", type, created, data: { object } };
      expect(bodiesOf(decode(event))).to.containSubset([read]);
    });
  }

  it("should take an unpaid invoice as it was before 2019-03-14 for no money", () => {
    const object = { ...oldInvoice, paid: false, lines: { data: [] } };
    const decoded = decode({ type: "invoice.updated", created, data: { object } });
    expect(decoded.outcome).to.equal("ignored");
  });

  it("should find no old names in an object that calls itself constructor", () => {
    const object = { id: "odd_1", object: "constructor" };
    const decoded = decode({ type: "charge.succeeded", created, data: { object } });
    expect(decoded.outcome).to.equal("rejected");
  });
});
