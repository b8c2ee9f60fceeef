/** Comparing months with what Stripe lists, from a real HTTP server that speaks as Stripe does. */
import { expect } from "chai";
import { limits } from "../../config.js";
import { eventBody, type JsonObject, stripeEvent } from "../../ops/payloads/stripe.js";
import {
  disputeObject,
  type DisputeInput,
  invoiceObject,
  invoicePaymentObject,
  refundObject,
  withFee,
} from "../../ops/payloads/stripe-money.js";
import { paidCharge, sessionObject } from "../payloads/stripe-sales.js";
import { textOf } from "../../providers/fields.js";
import type { ReconciliationView } from "../../schemas/http/manage.js";
import type { DifferenceReason } from "../../schemas/reconciliation.js";
import { always, answered, cut, inTurn, tooMany } from "../apis/failures.js";
import { apiKey, listDisputes, listOnly, type StripeApi } from "../apis/stripe-api.js";
import { dayMs } from "../harness/days.js";
import { expectError, stripe, suiteEndpoints } from "../harness/endpoints.js";
import {
  backfilled,
  endedReconciliation,
  expectAgreement,
  reconciled,
  reconciliationPath,
} from "../harness/histories.js";
import { until } from "../harness/promises.js";

const from = Date.UTC(2026, 0, 1);
const secret = "whsec_of_reconciliation";
const january = { from: "2026-01", to: "2026-01" };

const charge = (name: string, createdAt: number): JsonObject => paidCharge(`r_${name}`, createdAt);

/** Of 6.00, about a payment of 10.00. */
function dispute(name: string, withdrawnAt: number, more: Partial<DisputeInput> = {}): JsonObject {
  return disputeObject({
    id: `du_r_${name}`,
    charge: `ch_r_${name}`,
    paymentIntent: `pi_r_${name}`,
    amount: 600n,
    currency: "eur",
    createdAt: withdrawnAt,
    status: more.returnedAt === undefined ? "needs_response" : "won",
    withdrawnAt,
    ...more,
  });
}

const refund = refundObject({
  id: "re_r_returned",
  charge: "ch_r_returned",
  paymentIntent: "pi_r_returned",
  amount: 400n,
  currency: "eur",
  createdAt: from + 20 * dayMs,
});
/** All that there is when history is read. */
const read = [
  charge("kept", from + 10 * dayMs),
  { ...charge("returned", from + 11 * dayMs), amount_refunded: 400 },
  charge("changed", from + 12 * dayMs),
  charge("moved", from + 13 * dayMs),
  charge("gone", from + 14 * dayMs),
];
/** The second is won; the third, too, a month later. */
const disputed = [
  dispute("kept", from + 14 * dayMs),
  dispute("changed", from + 15 * dayMs, { returnedAt: from + 25 * dayMs }),
  dispute("moved", from + 16 * dayMs, { returnedAt: from + 40 * dayMs }),
  dispute("gone", from + 17 * dayMs),
];
const outside = invoiceObject({
  id: "in_r_outside",
  customer: "cus_r_outside",
  currency: "eur",
  createdAt: from + 15 * dayMs,
  paidAt: from + 15 * dayMs,
  outOfBand: true,
  lines: [{ id: "il_r", product: "prod_r", price: "price_r", amount: 1200n }],
});
/** What the first charge paid, with a tax of 1.60; the second one was sold with a tax of 1.00. */
const bought = invoiceObject({
  id: "in_r_kept",
  customer: "cus_r_kept",
  currency: "eur",
  createdAt: from + 10 * dayMs,
  paidAt: from + 10 * dayMs,
  tax: 160n,
  lines: [{ id: "il_r_kept", product: "prod_r", price: "price_r", amount: 840n }],
});
const paidInvoice = invoicePaymentObject({
  id: "inpay_r_kept",
  invoice: "in_r_kept",
  payment: "pi_r_kept",
  amount: 1000n,
  currency: "eur",
  paidAt: from + 10 * dayMs,
});
const session = sessionObject({
  id: "cs_r_returned",
  mode: "payment",
  paymentStatus: "paid",
  amount: 1000n,
  currency: "eur",
  createdAt: from + 11 * dayMs,
  customer: "cus_r_returned",
  paymentIntent: "pi_r_returned",
  tax: 100n,
});
const untold = charge("untold", from + 16 * dayMs);
const refused = charge("refused", from + 17 * dayMs);
const early = charge("early", from - 10 * dayMs);
/** About the second charge, of which we know. */
const untoldDispute = dispute("untold", from + 18 * dayMs, { paymentIntent: "pi_r_returned" });
const refusedDispute = dispute("refused", from + 19 * dayMs);
const mirroredDispute = dispute("mirrored", from + 19 * dayMs);
/** Of what was paid outside Stripe, which no list has. */
const unlistedDispute = { ...dispute("unlisted", from + 18 * dayMs), payment_intent: null };

/** What Stripe lists later on, with a difference of every kind that it can have. */
function planted(youngAt: number): JsonObject[] {
  const [kept = {}, returned, changed, moved] = read;
  return [
    withFee(kept, 60),
    { ...returned },
    { ...changed, amount: 900, amount_captured: 900 },
    { ...moved, currency: "usd" },
    untold,
    refused,
    early,
    charge("young", youngAt),
  ];
}

/** The same of disputes. */
function plantedDisputes(youngAt: number): JsonObject[] {
  const [kept] = disputed;
  return [
    { ...kept },
    dispute("changed", from + 15 * dayMs, { amount: 500n, returnedAt: from + 25 * dayMs }),
    dispute("moved", from + 16 * dayMs, { currency: "usd", returnedAt: from + 40 * dayMs }),
    untoldDispute,
    refusedDispute,
    mirroredDispute,
    dispute("early", from - 10 * dayMs),
    dispute("young", youngAt),
  ];
}

describe("The reconciliation of Stripe", function suite() {
  this.timeout(120_000);
  const endpoints = suiteEndpoints();
  let api: StripeApi;
  let integration: string;
  let webhook: string;
  let youngAt: number;
  const youngMonth = (): string => new Date(youngAt).toISOString().slice(0, 7);

  before(async () => {
    youngAt = Date.now() - 60_000;
    api = endpoints.stripeApi;
    listOnly(api, {
      charges: read,
      refunds: [refund],
      invoices: [outside, bought],
      invoice_payments: [paidInvoice],
      "checkout/sessions": [session],
      disputes: disputed,
    });
    const made = await endpoints.integrate("stripe", { signing_secret: secret, api_key: apiKey });
    ({ id: integration, webhook_path: webhook } = made);
  });
  afterEach(() => {
    api.misbehave = null;
  });

  it("should agree to the cent with what was read, though the API fails meanwhile", async () => {
    const done = await backfilled(endpoints, integration, "2026-01-01");
    expect(done, done.problem ?? "").to.include({ state: "done" });
    const failures = inTurn([cut, tooMany, cut]);
    api.misbehave = failures;
    const agreed = await reconciled(endpoints, integration, { ...january, to: "2026-02" });
    expect(failures.calls).to.be.above(3);
    const [month, next] = agreed.months;
    const disputes = { disputed_minor: 2_400, reinstated_minor: 600 };
    // What was paid outside Stripe is in no list of its, and so neither right nor wrong.
    expect(month?.report?.reasons).to.deep.equal({ not_listed: 1 });
    expect(month?.report?.currencies).to.deep.equal([
      {
        currency: "EUR",
        exponent: 2,
        listed: { count: 5, amount_minor: 5_000, refunded_minor: 400, ...disputes },
        booked: { count: 6, amount_minor: 6_200, refunded_minor: 400, ...disputes },
        agreed_minor: 8_400,
        compared_minor: 8_400,
        score_pct: 100,
      },
    ]);
    const fees = { listed_minor: 270, booked_minor: 270, payments: 5, differing: 0 };
    const taxes = { listed_minor: 260, booked_minor: 260, payments: 2, differing: 0 };
    expect(month?.report?.costs).to.deep.equal([
      { kind: "fee", currency: "EUR", exponent: 2, ...fees },
      { kind: "tax", currency: "EUR", exponent: 2, ...taxes },
    ]);
    // The third dispute was given back in the month after it.
    const [back] = next?.report?.currencies ?? [];
    expect(back).to.deep.include({ score_pct: 100, compared_minor: 600 });
    expect(back?.booked).to.include({ count: 0, disputed_minor: 0, reinstated_minor: 600 });
    expect(agreed).to.include({ score_pct: 100, months_compared: 2 });
    expect(agreed.not_compared.join(" ")).to.include("Payouts").and.include("outside Stripe");
  });

  it("should name exactly the differences that there are, and count the rest", async () => {
    api.lists.set("/v1/charges", planted(youngAt));
    listDisputes(api, plantedDisputes(youngAt));
    api.lists.set("/v1/invoices", [outside, { ...bought, total_excluding_tax: 850 }]);
    // Of the other integration's account, which has it in a list of its own.
    await deliver(charge("elsewhere", from + 18 * dayMs), true, false);
    await deliver(refused, false);
    await deliver(refusedDispute, false);
    await deliver({ ...unlistedDispute, charge: "in_r_outside" }, true);
    // An inquiry, which moves no money; it is then made what a copy of another store's would be.
    await deliver({ ...mirroredDispute, balance_transactions: [] }, true);
    await makeMirrored("evt_du_r_mirrored");
    await until(async () => (await endpoints.rejects()).length === 2);
    await endpoints.booked();
    await until(async () => (await rejectedInJournal()) === 2);
    const hooks = `${endpoints.path}/webhooks`;
    const wanted = { environment: "Production", events: ["reconciliation.differs"] };
    const hook = await endpoints.manage("POST", hooks, { ...wanted, url: "http://127.0.0.1:9/" });
    const found = await reconciled(endpoints, integration, { ...january, from: "2025-12" });
    const announced = await endpoints.manage("GET", `${hooks}/${hook.json.data.id}/deliveries`);
    const payloads = announced.json.data.map(({ payload }: { payload: string }) =>
      JSON.parse(payload),
    );
    const { data } = payloads.find(
      (one: { data: { month: string } }) => one.data.month === january.from,
    );
    expect(data).to.include({ integration, differences: 14, score_pct: 35.5 });
    expect(reasonsOf(found)).to.deep.equal({
      pi_r_early: "before_connection",
      pi_r_changed: "amount_differs",
      pi_r_moved: "other_currency",
      pi_r_gone: "not_at_provider",
      in_r_outside: "not_listed",
      pi_r_untold: "not_told",
      pi_r_refused: "rejected",
      du_r_early: "before_connection",
      du_r_changed: "amount_differs",
      du_r_moved: "other_currency",
      du_r_gone: "not_at_provider",
      du_r_untold: "not_told",
      du_r_refused: "rejected",
      du_r_mirrored: "mirrored",
      du_r_unlisted: "not_listed",
    });
    const report = found.months[1]?.report;
    // 10.00 agree, 10.00 and 4.00 more, and 9.00; of 10.00 each of seven sides more. Of disputes
    // 6.00, and 5.00 taken and given back; of 6.00 each of eight sides more.
    expect(report).to.include({ agreed_minor: 4_900, compared_minor: 13_800, score_pct: 35.5 });
    expect(report?.differences_total).to.equal(14);
    expect(report?.kinds).to.deep.equal({ payment: 6, dispute: 8 });
    const moved = report?.differences.filter((row) => row.dispute === "du_r_changed") ?? [];
    expect(moved.map(({ listed, booked }) => [listed, booked])).to.have.deep.members([
      [
        { currency: "EUR", amount_minor: 500, refunded_minor: 0 },
        { currency: "EUR", amount_minor: 600, refunded_minor: 0 },
      ],
      [
        { currency: "EUR", amount_minor: 0, refunded_minor: 500 },
        { currency: "EUR", amount_minor: 0, refunded_minor: 600 },
      ],
    ]);
    const about = report?.differences.find((row) => row.dispute === "du_r_untold");
    expect(about).to.deep.include({ payment: "pi_r_returned", booked: null });
    const ofPayment = await endpoints.get(`/v1/transactions/${about?.transaction}`);
    expect(ofPayment.status, ofPayment.text).to.equal(200);
    // A fee is beside the score. Of the four that both sides have, one was moved to dollars.
    const [tax, fee] = report?.cost_differences ?? [];
    expect(report?.cost_differences).to.have.lengthOf(2);
    expect(tax).to.include({ kind: "tax", payment: "pi_r_kept" });
    expect(tax).to.include({ listed_minor: 150, booked_minor: 160 });
    expect(fee).to.include({ payment: "pi_r_kept", listed_minor: 60, booked_minor: 54 });
    expect(report?.costs[0]).to.include({ payments: 3, listed_minor: 168, booked_minor: 162 });
    const changed = report?.differences.find(
      (row) => row.payment === "pi_r_changed" && row.dispute === null,
    );
    expect(changed).to.deep.include({
      at: new Date(from + 12 * dayMs).toISOString(),
      listed: { currency: "EUR", amount_minor: 900, refunded_minor: 0 },
      booked: { currency: "EUR", amount_minor: 1_000, refunded_minor: 0 },
    });
    const opened = await endpoints.get(`/v1/transactions/${changed?.transaction}`);
    expect(opened.status, opened.text).to.equal(200);
    const untoldRow = report?.differences.find(({ payment }) => payment === "pi_r_untold");
    expect(untoldRow).to.include({ transaction: null, booked: null });
  });

  it("should leave to time what happened just now", async () => {
    const month = youngMonth();
    const found = await reconciled(endpoints, integration, { from: month, to: month });
    expect(reasonsOf(found)).to.deep.equal({
      pi_r_young: "told_later",
      du_r_young: "told_later",
    });
    expect(found.score_pct).to.equal(null);
  });

  it("should change nothing by itself, and have what is missing after one call", async () => {
    const transactions = (): Promise<{ payment: string }[]> =>
      endpoints.service.clickhouse.rows(
        "SELECT DISTINCT payment FROM transactions WHERE workspace = {workspace:String}",
        { workspace: endpoints.workspace },
      );
    const before = (await transactions()).map(({ payment }) => payment);
    expect(before).to.not.include.members(["pi_r_untold"]);
    const done = await backfilled(endpoints, integration, "2025-12-01");
    expect(done, done.problem ?? "").to.include({ state: "done" });
    // What was compared before is compared again by itself.
    const months = { ...january, from: "2025-12" };
    const found = await endedReconciliation(endpoints, integration, months);
    expect(reasonsOf(found)).to.deep.equal({
      pi_r_gone: "not_at_provider",
      in_r_outside: "not_listed",
      du_r_gone: "not_at_provider",
      du_r_unlisted: "not_listed",
    });
    expect((await transactions()).map(({ payment }) => payment)).to.include("pi_r_untold");
    expectAgreement({ ...found, months: found.months.slice(0, 1), score_pct: 100 });
  });

  it("should show the score of each month in the metrics", async () => {
    const month = youngMonth();
    expectAgreement(await reconciled(endpoints, integration, { from: month, to: month }));
    const labels = `{integration="${integration}",month="${month}"}`;
    let shown = "";
    // Scores that another file of this process asked for are kept for some seconds.
    await until(async () => {
      shown = await endpoints.service.metrics.registry.metrics();
      return shown.includes(`revenue_reconciliation_compared${labels}`);
    });
    expect(shown)
      .to.include(`revenue_reconciliation_agreement_ratio${labels} 1\n`)
      .and.include(`revenue_reconciliation_differences${labels} 0\n`)
      .and.include(`revenue_reconciliation_cost_differences${labels} 0\n`)
      .and.include(`revenue_reconciliation_compared${labels} 1\n`);
  });

  it("should keep what was found while the API cannot be had, saying so", async () => {
    api.misbehave = always(answered(503));
    const path = reconciliationPath(endpoints, integration);
    const { compared_at: before } = await shownMonth();
    await endpoints.manage("POST", path, january);
    await until(async () => (await shownMonth()).problem !== null);
    const waiting = await shownMonth();
    expect(waiting).to.include({ state: "waiting", compared_at: before });
    expect(waiting.report).to.not.equal(null);
    expect(waiting.problem).to.include("cannot be had");
    api.misbehave = null;
    const again = await reconciled(endpoints, integration, january);
    expect(again.months[0]).to.include({ state: "done", problem: null });
    expect(again.months[0]?.compared_at).to.not.equal(before);
  });

  const refusals: [string, object, string][] = [
    ["no key", {}, "no key"],
    ["a wrong key", { api_key: "rk_wrong" }, "refused charges"],
  ];
  for (const [title, credentials, problem] of refusals) {
    it(`should say that a month cannot be compared with ${title}`, async () => {
      const given = { signing_secret: secret, ...credentials };
      const { id } = await endpoints.integrate("stripe", given);
      const { months, months_compared: compared } = await reconciled(endpoints, id, january);
      expect(months[0]).to.include({ state: "failed", report: null });
      expect(months[0]?.problem).to.include(problem);
      expect(compared).to.equal(0);
    });
  }

  it("should show months that nobody asked for, and refuse those that cannot be", async () => {
    const path = reconciliationPath(endpoints, integration);
    const { data } = (await endpoints.manage("GET", path)).json;
    expect(data.months).to.have.lengthOf(12);
    const unasked = await endpoints.manage("GET", `${path}?from=2024-01&to=2024-01`);
    expect(unasked.json.data).to.include({ score_pct: null, months_compared: 0 });
    expect(unasked.json.data.months).to.deep.equal([
      { month: "2024-01", state: "none", problem: null, compared_at: null, report: null },
    ]);
    for (const wrong of [
      { from: "2999-01" },
      { from: "1999-12", to: "2000-01" },
      { from: "2026-02", to: "2026-01" },
      { from: "2020-01", to: `${2020 + limits.reconciledMonthsMax / 12}-01` },
    ]) {
      const expected = "422 from_out_of_range from";
      expectError(await endpoints.manage("POST", path, wrong), expected);
    }
    const odd = await endpoints.manage("GET", `${path}?from=January`);
    expectError(odd, "400 parameter_invalid from");
    const nobody = reconciliationPath(endpoints, "int_nobody");
    expectError(await endpoints.manage("GET", nobody), "404 integration_unknown");
    const other = await endpoints.integrate("custom", {});
    const unlisted = reconciliationPath(endpoints, other.id);
    const refusal = await endpoints.manage("POST", unlisted, january);
    expectError(refusal, "422 reconciliation_unsupported");
  });

  async function shownMonth(): Promise<ReconciliationView["months"][number]> {
    const query = new URLSearchParams(january).toString();
    const path = `${reconciliationPath(endpoints, integration)}?${query}`;
    return (await endpoints.manage("GET", path)).json.data.months[0];
  }

  function reasonsOf({ months }: ReconciliationView): Record<string, DifferenceReason> {
    const rows = months.flatMap(({ report }) => report?.differences ?? []);
    return Object.fromEntries(
      rows.map(({ payment, dispute: about, reason }) => [about ?? payment, reason]),
    );
  }

  /** No provider that is compared has copies of another one's disputes; the journal may. */
  async function makeMirrored(nativeId: string): Promise<void> {
    const { clickhouse } = endpoints.service;
    const given = { integration, id: nativeId };
    const where =
      "FROM raw_events WHERE integration = {integration:String} AND native_id = {id:String}";
    await until(async () => (await clickhouse.rows(`SELECT 1 ${where}`, given)).length > 0);
    const copy = `INSERT INTO raw_events SELECT * REPLACE ('mirrored' AS reason) ${where}`;
    for (const node of clickhouse.nodes) await node.write(copy, given);
  }

  async function rejectedInJournal(): Promise<number> {
    const [row] = await endpoints.service.clickhouse.rows<{ events: string }>(
      `SELECT count() AS events FROM raw_events
       WHERE integration = {integration:String} AND outcome = 'rejected'`,
      { integration },
    );
    return Number(row?.events ?? 0);
  }

  async function deliver(object: JsonObject, livemode: boolean, own = true): Promise<void> {
    const at = from + 18 * dayMs;
    const id = `evt_${textOf(object.id)}`;
    const type = object.object === "dispute" ? "charge.dispute.created" : "charge.succeeded";
    const body = eventBody(stripeEvent({ id, type, at, object, livemode }));
    const signed = stripe.sign(body, { signing_secret: secret }, Date.now());
    const answer = own ? await endpoints.post(webhook, signed) : await endpoints.deliver(body);
    expect(answer.status, answer.text).to.equal(200);
  }
});
