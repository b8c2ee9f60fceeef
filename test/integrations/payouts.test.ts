/** Payouts of Stripe to the bank, from a real HTTP server that speaks as Stripe does. */
import { expect } from "chai";
import { limits } from "../../config.js";
import type { PayoutsView } from "../../schemas/http/payouts.js";
import { always, answered, cut, inTurn, tooMany } from "../apis/failures.js";
import { apiKey, listOnly, type StripeApi } from "../apis/stripe-api.js";
import { expectError, suiteEndpoints } from "../harness/endpoints.js";
import { backfilled } from "../harness/histories.js";
import { kindsOf, openedPayout } from "../harness/opened-payout.js";
import { paidCharge } from "../payloads/stripe-sales.js";
import { balanceTransaction, payoutObject, putPayout } from "../harness/stripe-payouts.js";

const day = 24 * 60 * 60 * 1000;
const from = Date.UTC(2026, 0, 1);
const secret = "whsec_of_payouts";

const sold = { object: "charge", id: "ch_p_sold", payment_intent: "pi_p_sold" };
/** What a payout of every kind of line is made of: 100.00 − 3.15 … */
const mixed = [
  balanceTransaction("txn_1", "charge", 10_000, 315, sold),
  balanceTransaction("txn_2", "charge", 10_000, 315, {
    object: "charge",
    id: "ch_p_unknown",
    payment_intent: null,
  }),
  balanceTransaction("txn_3", "refund", -2_500, 0, {
    object: "refund",
    id: "re_p_1",
    charge: "ch_p_sold",
    payment_intent: "pi_p_sold",
  }),
  balanceTransaction("txn_4", "dispute", -1_000, 1_500, {
    object: "dispute",
    id: "du_p_1",
    charge: "ch_p_sold",
    payment_intent: "pi_p_sold",
  }),
  balanceTransaction("txn_5", "fee", -77, 0, null),
  balanceTransaction("txn_6", "risk_reserved_funds", -3_000, 0, "rsv_1"),
];
/** Of those lines. */
const mixedAmount = 10_000 + 10_000 - 2_500 - 1_000 - 3_000 - 77 - 315 - 315 - 1_500;

describe("Payouts of Stripe", function suite() {
  this.timeout(120_000);
  const endpoints = suiteEndpoints();
  let api: StripeApi;
  let integration: string;
  const pathOf = (id: string): string => `${endpoints.path}/integrations/${id}/payouts`;
  const listed = async (query: string): Promise<PayoutsView> => {
    const answer = await endpoints.manage("GET", `${pathOf(integration)}${query}`);
    expect(answer.status, answer.text).to.equal(200);
    return answer.json.data;
  };
  const opened = (id: string) => openedPayout(endpoints, pathOf(integration), id);

  before(async () => {
    api = endpoints.stripeApi;
    const charge = paidCharge("p_sold", from + 10 * day, { amount: 10_000n, fee: 315 });
    listOnly(api, { charges: [charge] });
    const made = await endpoints.integrate("stripe", { signing_secret: secret, api_key: apiKey });
    integration = made.id;
    const done = await backfilled(endpoints, integration, "2026-01-01");
    expect(done, done.problem ?? "").to.include({ state: "done" });
    await endpoints.booked();
  });
  afterEach(() => {
    api.misbehave = null;
  });

  it("should list those that arrive between two days, newest first, of all pages", async () => {
    for (let number = 0; number < 120; number += 1) {
      const name = `po_l_${String(number).padStart(3, "0")}`;
      putPayout(api, payoutObject(name, 1_000 + number, from + number * day), []);
    }
    const found = await listed("?from=2026-01-02&to=2026-04-29");
    expect(found).to.deep.include({ from: "2026-01-02", to: "2026-04-29", left_out: false });
    expect(found.payouts).to.have.lengthOf(118);
    expect(found.payouts[0]).to.deep.equal({
      id: "po_l_118",
      status: "paid",
      created_at: new Date(from + 116 * day).toISOString(),
      arrives_at: new Date(from + 118 * day).toISOString(),
      currency: "EUR",
      exponent: 2,
      amount_minor: 1_118,
    });
    expect(found.payouts.at(-1)?.id).to.equal("po_l_001");
    expect(found.not_shown.join(" ")).to.include("by hand");
  });

  it("should open one to its lines, adding up, each with our transaction or without", async () => {
    putPayout(api, payoutObject("po_mixed", mixedAmount, from + 20 * day), mixed);
    const found = await opened("po_mixed");
    expect(found).to.include({ problem: null, left_out: false, amount_minor: mixedAmount });
    expect(kindsOf(found)).to.deep.equal({
      payment: 20_000,
      refund: -2_500,
      dispute: -1_000,
      fee: -2_207,
      adjustment: -3_000,
    });
    const line = (id: string) => found.lines.find((one) => one.id === id);
    const { transaction } = line("txn_1") ?? {};
    const shown = await endpoints.get(`/v1/transactions/${transaction}`);
    expect(shown.json.data, shown.text).to.include({ payment: "pi_p_sold" });
    expect(line("txn_1")).to.include({ kind: "payment", fee_minor: 315, net_minor: 9_685 });
    expect(line("txn_2")).to.include({ payment: "ch_p_unknown", transaction: null });
    expect(line("txn_3")).to.include({ payment: "pi_p_sold", transaction });
    expect(line("txn_4")).to.include({ kind: "dispute", transaction, net_minor: -2_500 });
    expect(line("txn_5")).to.include({ kind: "fee", payment: null, net_minor: -77 });
    expect(line("txn_6")).to.include({ kind: "adjustment", what: "risk_reserved_funds" });
    // The payout itself is no part of what it is made of.
    expect(found.lines).to.have.lengthOf(mixed.length);
  });

  it("should show what its lines do not explain as a line of its own", async () => {
    putPayout(api, payoutObject("po_short", mixedAmount + 1, from + 21 * day), mixed);
    const found = await opened("po_short");
    expect(kindsOf(found)).to.include({ remainder: 1 });
    expect(found.lines.at(-1)).to.deep.include({ kind: "remainder", id: null, net_minor: 1 });
  });

  it("should not count a line of another currency, which then is in the remainder", async () => {
    const lines = [
      balanceTransaction("txn_e", "charge", 700, 0, sold),
      { ...balanceTransaction("txn_u", "charge", 300, 0, sold), currency: "usd" },
    ];
    putPayout(api, payoutObject("po_two", 1_000, from + 22 * day), lines);
    const found = await opened("po_two");
    expect(kindsOf(found)).to.deep.equal({ payment: 700, remainder: 300 });
    expect(found.lines.map(({ currency }) => currency)).to.include("USD");
  });

  it("should read every page, though the API fails meanwhile", async () => {
    const lines = Array.from({ length: 250 }, (_, number) =>
      balanceTransaction(`txn_many_${number}`, "charge", 101, 2, sold),
    );
    putPayout(api, payoutObject("po_many", 250 * 99, from + 23 * day), lines);
    const failures = inTurn(Array.from({ length: 20 }, () => [cut, null, tooMany]).flat());
    api.misbehave = failures;
    const found = await opened("po_many");
    expect(kindsOf(found)).to.deep.equal({ payment: 25_250, fee: -500 });
    // The payout and three pages, each after two failures.
    expect(failures.calls).to.be.at.least(8);
  });

  it("should end after so many lines, and leave the rest in the remainder", async () => {
    const lines = Array.from({ length: limits.payoutLinesMax + 1 }, (_, number) =>
      balanceTransaction(`txn_much_${number}`, "charge", 10, 0, sold),
    );
    putPayout(api, payoutObject("po_much", lines.length * 10, from + 24 * day), lines);
    const found = await opened("po_much");
    expect(found.left_out).to.equal(true);
    expect(kindsOf(found)).to.deep.equal({ payment: limits.payoutLinesMax * 10, remainder: 10 });
  });

  it("should say so of a payout by hand, and of one that is still being listed", async () => {
    const byHand = payoutObject("po_hand", 5_000, from + 25 * day, { automatic: false });
    putPayout(api, byHand, []);
    const found = await opened("po_hand");
    expect(kindsOf(found)).to.deep.equal({ remainder: 5_000 });
    expect(found.problem).to.include("by hand");
    const early = { status: "in_transit", reconciliation_status: "in_progress" };
    putPayout(api, payoutObject("po_early", 5_000, from + 26 * day, early), []);
    expect((await opened("po_early")).problem).to.include("still listing");
  });

  it("should answer 503 while the API cannot be had", async () => {
    api.misbehave = always(answered(503));
    const answer = await endpoints.manage("GET", pathOf(integration));
    expectError(answer, "503 provider_unavailable");
    expect(answer.headers.get("retry-after")).to.equal("1");
  });

  const refusals: [string, object, string][] = [
    ["no key", {}, "no key"],
    ["a wrong key", { api_key: "rk_wrong" }, "refused payouts"],
  ];
  for (const [title, credentials, problem] of refusals) {
    it(`should say that they cannot be read with ${title}`, async () => {
      const given = { signing_secret: secret, ...credentials };
      const { id } = await endpoints.integrate("stripe", given);
      const answer = await endpoints.manage("GET", pathOf(id));
      expectError(answer, "422 payouts_unreadable");
      expect(answer.json.error.message).to.include(problem);
    });
  }

  it("should refuse what it cannot answer", async () => {
    const path = pathOf(integration);
    expectError(await endpoints.manage("GET", `${path}/po_nobody`), "404 payout_unknown");
    expectError(await endpoints.manage("GET", pathOf("int_nobody")), "404 integration_unknown");
    const { id } = await endpoints.integrate("custom", {});
    expectError(await endpoints.manage("GET", pathOf(id)), "422 payouts_unsupported");
    for (const query of ["?from=2026-02-01&to=2026-01-01", "?from=2024-01-01&to=2026-01-01"]) {
      const expected = "422 from_out_of_range from";
      expectError(await endpoints.manage("GET", path + query), expected);
    }
    const odd = await endpoints.manage("GET", `${path}?from=January`);
    expectError(odd, "400 parameter_invalid from");
    // A page that is none.
    api.lists.set("/v1/payouts", [{ id: "po_odd", created: 1, arrival_date: 1_767_300_000 }]);
    const unread = await endpoints.manage("GET", `${path}?from=2026-01-01&to=2026-01-31`);
    expectError(unread, "422 payouts_unreadable");
  });
});
