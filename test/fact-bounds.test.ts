/** Numbers nobody can book: a reject of the one event, whichever adapter told it. */
import { expect } from "chai";
import { limits } from "../config.js";
import { completeFacts } from "../processors/facts.js";
import { recordings } from "../processors/recordings.js";
import { type FactBody, factCodec } from "../schemas/records.js";
import { type Doors, openDoors } from "./doors.js";
import { until } from "./log-contract.js";
import { factOf, metaOf } from "./facts.js";

const max = limits.amountMinorMax;
const none = { account: null, country: null, type: null, tax: null, fee: null, lines: [] };
const payment = { payment: "pi", at: 1_000, amount: 100n, currency: "USD", ...none };
const item = { item: "i", external_id: "p", monthly_numerator: 1n, monthly_denominator: 1n };
const line = { external_id: "p", weight: 1n };

function subscriptionOf(monthly: Partial<typeof item>): FactBody {
  const steps = [{ at: 1_000, items: [{ ...item, ...monthly }] }];
  const priced = { currency: "USD", phase: "started", steps } as const;
  return { Subscription: { subscription: "s", account: "a", country: null, ...priced } };
}

function completed(body: FactBody) {
  return completeFacts([{ happenedAt: 1_000, body }], {
    meta: metaOf({ received_at: 1_000 }),
    position: { partition: 0, offset: 0n },
    baseCurrency: "JPY",
    amountMinorMax: max,
    earliest: 0,
    latest: 2_000,
    hashAccount: (account) => account,
    quote: (currency) => ({
      currency,
      base_currency: "JPY",
      rate: "150",
      date: "2026-01-01",
      source: "ecb",
      edition: 1,
    }),
  });
}

const tooLarge: readonly [what: string, body: FactBody][] = [
  ["an amount beyond 15 digits in base currency", { Payment: { ...payment, amount: max } }],
  ["a fee beyond 64 bits", { Payment: { ...payment, fee: 10n ** 24n } }],
  ["a fee that only the base currency cannot hold", { Payment: { ...payment, fee: -max } }],
  ["a tax beyond 15 digits", { Payment: { ...payment, tax: max + 1n } }],
  [
    "a weight beyond 15 digits",
    { Payment: { ...payment, lines: [{ ...line, weight: -2n * max }] } },
  ],
  ["a purchase's fee", { Purchase: { purchase: "in", ...none, fee: max + 1n } }],
  ["a purchase's total", { Purchase: { purchase: "in", ...none, total: max + 1n } }],
  ["a monthly price above 64 bits", subscriptionOf({ monthly_numerator: 2n ** 63n })],
  ["a monthly price below 64 bits", subscriptionOf({ monthly_denominator: 2n ** 63n })],
];

describe("The bounds of a fact", () => {
  for (const [what, body] of tooLarge) {
    it(`should refuse ${what}`, () => {
      expect(completed(body)).to.include({ outcome: "rejected", reason: "amount_too_large" });
    });
  }

  it("should take the largest there are, and write them down", () => {
    const lines = [{ ...line, weight: max }];
    for (const body of [
      { Payment: { ...payment, amount: max / 2n, tax: -max / 2n, lines } },
      { Purchase: { purchase: "in", ...none, tax: max, total: max, lines } },
      subscriptionOf({ monthly_numerator: 2n ** 63n - 1n, monthly_denominator: 2n ** 63n - 1n }),
    ]) {
      const told = completed(body);
      if (told.outcome !== "facts") throw new Error(told.detail);
      for (const fact of told.facts) factCodec.decode(factCodec.encode(fact));
    }
  });

  it("should keep out of the ledger what its rows cannot hold", () => {
    const lines = [
      { external_id: "a", weight: max },
      { external_id: "b", weight: 1n - max },
    ];
    const quote = { currency: "USD", base_currency: "USD", rate: "1", date: "", source: "same" };
    const fact = factOf(
      { Payment: { ...payment, amount: max, lines } },
      {
        base_currency: "USD",
        quote: { ...quote, edition: 1 },
      },
    );
    const { ledger, versions, beyond } = recordings("pi", [fact]);
    expect([ledger.length, versions.length, beyond]).to.deep.equal([0, 0, [fact]]);
  });
});

describe("An event whose numbers nobody can book", () => {
  let doors: Doors;
  before(async () => {
    doors = await openDoors();
  });

  it("should be a reject, and hold up nothing", async () => {
    const charge = {
      id: "ch_bounds",
      object: "charge",
      amount: 999_999_999_999_999,
      currency: "eur",
      created: 1_700_000_000,
      captured: true,
      status: "succeeded",
      paid: true,
      balance_transaction: { id: "txn", amount: 1, fee: 999_999_999, currency: "usd" },
    };
    const event = {
      id: "evt_bounds",
      object: "event",
      type: "charge.succeeded",
      created: 1_700_000_000,
      livemode: true,
      data: { object: charge },
    };
    expect((await doors.deliver(JSON.stringify(event))).status).to.equal(200);
    const sale = {
      provider: "custom",
      event_type: "transaction.sale",
      event_id: "bounds-after",
      occurred_at: "2026-10-01T00:00:00Z",
      amount: 12.5,
      currency: "EUR",
    };
    expect((await doors.ingest(sale)).status).to.equal(202);
    const rejects = `/workspaces/${doors.workspace}/rejects`;
    const shown = async () => {
      const headers = { authorization: `Bearer ${doors.readKey}` };
      const { json: list } = await doors.call("/v1/transactions", { headers });
      const { json: rejected } = await doors.manage("GET", rejects);
      return [
        list.data.map((row: Record<string, unknown>) => row["gross_amount"]),
        rejected.data.map((row: Record<string, unknown>) => row["reason"]),
      ];
    };
    const all = [[12.5], ["amount_too_large"]];
    await until(async () => (await shown()).every(({ length }) => length > 0));
    expect(await shown()).to.deep.equal(all);
  });
});
