/** Reading Stripe's history, from a real HTTP server that lists it as Stripe does. */
import { setTimeout as pause } from "node:timers/promises";
import { expect } from "chai";
import { limits } from "../../config.js";
import { backfill as backfillCommand } from "../../ops/backfill.js";
import {
  eventBody,
  type JsonObject,
  priceObject,
  productObject,
  stripeEvent,
} from "../../ops/payloads/stripe.js";
import { disputeObject, invoiceObject, refundObject } from "../../ops/payloads/stripe-money.js";
import { textOf } from "../../providers/fields.js";
import { creditNoteObject, soldMonth } from "../payloads/stripe-sales.js";
import { dayMs } from "../harness/days.js";
import { expectError, stripe } from "../harness/endpoints.js";
import {
  backfilled,
  coverageOf,
  endedBackfill,
  shownBackfill,
  type ShownBackfill,
} from "../harness/histories.js";
import { HistorySuite } from "../harness/history-suite.js";
import { always, answered, cut, tooMany } from "../apis/failures.js";
import { apiKey, listOnly, send, type StripeApi } from "../apis/stripe-api.js";
import { backfillTriesMax } from "../../processors/backfill/backfill.js";
import { logRecordBytesMax } from "../../stores/log/log.js";
import { until } from "../harness/promises.js";

const from = Date.UTC(2026, 0, 1);
const customers = 110;

/** Since some day of January. */
const bought = (number: number) => {
  const createdAt = from + number * 6 * 60 * 60 * 1000;
  return { ...soldMonth(`h${number}`, createdAt, { product: "h", country: "DE" }), createdAt };
};

const all = Array.from({ length: customers }, (_, number) => bought(number));
const refund = refundObject({
  id: "re_h0",
  charge: "ch_h0",
  paymentIntent: "pi_h0",
  amount: 400n,
  currency: "eur",
  createdAt: from + 3 * dayMs,
});
/** Authorized beside and never collected: a part of one charge, and all of another. */
const held: JsonObject = {
  ...all[5]?.charge,
  id: "ch_held",
  payment_intent: "pi_held",
  balance_transaction: null,
  captured: false,
  amount_captured: 0,
  amount_refunded: 1000,
};
const releases = [
  ["re_h5", "ch_h5", "pi_h5", 250n],
  ["re_held", "ch_held", "pi_held", 1000n],
] as const;
const released = releases.map(([id, charge, paymentIntent, amount]) => {
  const made = { currency: "eur", createdAt: from + 5 * dayMs, isRelease: true };
  return refundObject({ id, charge, paymentIntent, amount, ...made });
});
const dispute = disputeObject({
  id: "du_h1",
  charge: "ch_h1",
  paymentIntent: "pi_h1",
  amount: 1000n,
  currency: "eur",
  createdAt: from + 4 * dayMs,
  status: "lost",
  withdrawnAt: from + 4 * dayMs,
});
/** Paid outside Stripe, and partly returned there. */
const outside = invoiceObject({
  id: "in_outside",
  customer: "cus_outside",
  currency: "eur",
  createdAt: from + 35 * dayMs,
  paidAt: from + 36 * dayMs,
  outOfBand: true,
  lines: [{ id: "il_outside", product: "prod_outside", price: "price_outside", amount: 1200n }],
});
const notes = [
  { id: "cn_issued", amountOutside: 500n },
  { id: "cn_void", amountOutside: 200n, voidedAt: from + 38 * dayMs },
].map((note) => {
  const createdAt = from + 37 * dayMs;
  return creditNoteObject({ ...note, invoice: "in_outside", currency: "eur", createdAt });
});
const [releasedPart] = released;
const partly: JsonObject = {
  ...all[5]?.charge,
  amount: 1250,
  amount_refunded: 250,
  refunds: { object: "list", data: releasedPart === undefined ? [] : [releasedPart] },
};
/** Since 2025-03-31 no refund is made of what a capture leaves: as much was refunded here. */
const refundedPart: JsonObject = {
  ...all[8]?.charge,
  amount: 1250,
  amount_refunded: 250,
  refunds: { object: "list", data: [] },
};
const refundOfPart = refundObject({
  id: "re_h8",
  charge: "ch_h8",
  paymentIntent: "pi_h8",
  amount: 250n,
  currency: "eur",
  createdAt: from + 6 * dayMs,
});
const refundedCharge: JsonObject = { ...all[0]?.charge, amount_refunded: 400 };
const ended: JsonObject = {
  ...all[2]?.subscription,
  status: "canceled",
  ended_at: (from + 40 * dayMs) / 1000,
};

function itemsAt(unitAmount: bigint, id: string): JsonObject {
  const price = priceObject({ id: "price_dear", product: "prod_h", currency: "eur", unitAmount });
  return { data: [{ id, quantity: 1, price }] };
}

const product = productObject({ id: "prod_h", name: "From history", createdAt: from });
const without = (list: readonly JsonObject[], instead: JsonObject): JsonObject[] =>
  list.map((object) => (object.id === instead.id ? instead : object));
const charges = [refundedCharge, partly, refundedPart].reduce(
  without,
  all.map(({ charge }) => charge),
);
const refunds = [refund, refundOfPart, ...released];

const event = (type: string, object: JsonObject, at = from + 5 * dayMs): JsonObject =>
  stripeEvent({ id: `evt_${type}_${textOf(object.id)}`, type, object, at });
/** As the webhook has reported it. */
const reported: JsonObject[] = [
  event("product.created", product, from),
  ...all.flatMap(({ subscription, invoice, paid, createdAt }) => [
    event("customer.subscription.created", subscription, createdAt),
    event("invoice.paid", invoice, createdAt),
    event("invoice_payment.paid", paid, createdAt),
  ]),
  event("customer.subscription.deleted", ended, from + 40 * dayMs),
  ...[held, ...charges].map((charge) =>
    event("charge.succeeded", charge, Number(charge.created) * 1000),
  ),
  ...refunds.map((object) => event("refund.created", object, from + 6 * dayMs)),
  event("charge.dispute.created", dispute, from + 4 * dayMs),
  event("invoice.paid", outside, from + 36 * dayMs),
  ...notes.map((note) =>
    note.status === "void"
      ? event("credit_note.voided", note, from + 38 * dayMs)
      : event("credit_note.created", note, from + 37 * dayMs),
  ),
];

describe("A backfill of Stripe", function () {
  this.timeout(120_000);
  const secret = "whsec_of_history";
  const suite = new HistorySuite<JsonObject>({
    provider: "stripe",
    from: "2026-01-01",
    api: ({ stripeApi }) => stripeApi,
    credentials: () => ({ signing_secret: secret, api_key: apiKey }),
    prepare: ({ stripeApi }) =>
      listOnly(stripeApi, {
        products: [product],
        subscriptions: without(
          all.map(({ subscription }) => subscription),
          ended,
        ),
        charges: [held, ...charges],
        invoices: [...all.map(({ invoice }) => invoice), outside],
        invoice_payments: all.map(({ paid }) => paid),
        refunds,
        disputes: [dispute],
        credit_notes: notes,
      }),
    reported: () => reported,
    sign: (one) => stripe.sign(eventBody(one), { signing_secret: secret }, Date.now()),
    moments: ["2026-01-15T00:00:00Z", "2026-01-31T23:00:00Z", "2026-03-01T00:00:00Z"],
  });
  const { endpoints } = suite;
  let api: StripeApi;

  before(() => {
    api = endpoints.stripeApi;
  });

  it("should read all, book it at its own dates, and find it as listed", async () => {
    // What came by the webhook before must not count twice.
    await deliver("charge.succeeded", all[0]?.charge);
    const started = await backfill({ from: "2026-01-01" });
    expect(started.status, started.text).to.equal(202);
    expect(started.json.data).to.include({ state: "reading", list: "products" });
    expectError(await backfill({ from: "2026-01-01" }), "409 backfill_running");
    // The API fails now and then meanwhile.
    let calls = 0;
    api.misbehave = (_request, response) => {
      calls += 1;
      if (calls % 5 !== 0) return false;
      (calls % 2 === 0 ? cut : tooMany)(response);
      return true;
    };
    const done = await whenEnded();
    expect(done, done.problem ?? "").to.include({ state: "done", problem: null });
    expect(done.counts).to.deep.equal({
      products: 1,
      subscriptions: customers,
      charges: customers + 1,
      invoices: customers + 1,
      invoice_payments: customers,
      checkout_sessions: 0,
      refunds: 4,
      disputes: 1,
      credit_notes: 2,
    });
    const sums = done.comparison.map(({ month, currency, listed, booked, same }) => [
      month,
      currency,
      listed.count,
      listed.amount,
      listed.refunded,
      booked.count,
      same,
    ]);
    expect(sums).to.deep.equal([["2026-01", "EUR", 110, 1100, 6.5, 110, true]]);
  });

  suite.itComesToTheSame();

  it("should have booked what webhooks would have reported", async () => {
    const transactions = await read("/v1/transactions?limit=200");
    expect(transactions.data).to.have.lengthOf(customers + 1);
    expect(transactions.data[0]).to.include({ gross_amount: 12, refunded_amount: 5 });
    expect(transactions.data.at(-1)).to.include({
      gross_amount: 10,
      refunded_amount: 4,
      fee_amount: 0.54,
      status: "succeeded",
      type: "subscription",
      product_name: "From history",
      customer_country: "DE",
      timestamp: new Date(from).toISOString(),
    });
    expect(transactions.data.at(-2)).to.include({ status: "disputed" });
    expect(await mrrAt("2026-01-15T00:00:00Z")).to.equal(57 * 10);
    expect(await mrrAt("2026-01-31T23:00:00Z")).to.equal(customers * 10);
    expect(await mrrAt("2026-03-01T00:00:00Z")).to.equal((customers - 1) * 10);
    const products = await read("/v1/products?period=lifetime");
    expect(products.data[0]).to.include({ name: "From history", total_sales: customers });
    expect(products.data[0]?.total_revenue).to.equal(customers * 10 - 6.5 - 10);
  });

  it("should not send history to the live stream", async () => {
    const rows = await endpoints.service.clickhouse.rows<{ backfill: number; rows: string }>(
      `SELECT backfill, count() AS rows FROM transactions
       WHERE workspace = {workspace:String} AND payment = 'pi_h5' GROUP BY backfill`,
      { workspace: endpoints.workspace },
    );
    expect(rows.map(({ backfill: flag }) => flag)).to.deep.equal([1]);
  });

  it("should change nothing when webhooks report the same, or it reads again", async () => {
    const before = await figures();
    const [, , third, fourth] = all;
    await deliver("charge.succeeded", third?.charge);
    await deliver("invoice.paid", third?.invoice);
    await deliver("customer.subscription.created", fourth?.subscription);
    // A plan that changed since, which only Stripe's present state reports.
    const subscriptions = api.lists.get("/v1/subscriptions") ?? [];
    const dearer: JsonObject = { ...fourth?.subscription, items: itemsAt(3000n, "si_h3") };
    api.lists.set("/v1/subscriptions", without(subscriptions, dearer));
    const past = await mrrAt("2026-02-01T00:00:00Z");
    expect(await suite.read()).to.include({ state: "done" });
    api.lists.set("/v1/subscriptions", subscriptions);
    expect(await mrrAt("2026-02-01T00:00:00Z")).to.equal(past);
    expect((await read("/v1/metrics/mrr")).data.current_mrr).to.equal(before.mrr + 20);
    expect({ ...(await figures()), mrr: before.mrr }).to.deep.equal(before);
  });

  it("should believe a webhook where both report the same moment", async () => {
    const dearer: JsonObject = { ...all[6]?.subscription, items: itemsAt(3000n, "si_h6") };
    const before = await mrrAt("2026-02-01T00:00:00Z");
    await deliver("customer.subscription.created", dearer);
    await until(async () => (await mrrAt("2026-02-01T00:00:00Z")) === before + 20);
    // Now it is what Stripe listed as its present state.
    expect((await read("/v1/metrics/mrr")).data.current_mrr).to.equal((customers - 1) * 10 + 20);
  });

  it("should not undo an end that is reported while its page is under way", async () => {
    const before = (await read("/v1/metrics/mrr")).data.current_mrr;
    const running = { ...all[7]?.subscription, id: "sub_ending", customer: "cus_ending" };
    let isReported = false;
    api.misbehave = (request, response) => {
      if (isReported || request.url?.startsWith("/v1/subscriptions?") !== true) return false;
      isReported = true;
      const endedAt = Math.floor(Date.now() / 1000);
      const object = { ...running, status: "canceled", ended_at: endedAt };
      void deliver("customer.subscription.deleted", object, endedAt * 1000)
        // As much as the dates of Stripe distinguish.
        .then(() => pause(1_100))
        .then(() => send(response, 200, { object: "list", data: [running], has_more: false }));
      return true;
    };
    expect(await suite.read()).to.include({ state: "done" });
    expect(isReported).to.equal(true);
    expect(await mrrAt("2026-03-01T00:00:00Z")).to.equal(before + 10);
    expect((await read("/v1/metrics/mrr")).data.current_mrr).to.equal(before);
  });

  // It appears between the reading and the comparison.
  suite.itReportsADifference({
    isRead: ({ pathname, search }) => pathname === "/v1/charges" && !search.includes("after"),
    readings: 2,
    change() {
      const odd = { ...all[4]?.charge, currency: "zzz", id: "ch_odd", payment_intent: "pi_odd" };
      const late = { ...all[4]?.charge, id: "ch_late", payment_intent: "pi_late" };
      const before = api.lists.get("/v1/charges") ?? [];
      api.lists.set("/v1/charges", [...before, odd, late]);
      return () => void api.lists.set("/v1/charges", before);
    },
    look({ comparison: [january] }) {
      expect(january?.same).to.equal(false);
      expect(january?.listed.count).to.equal(customers + 1);
      expect(january?.booked.count).to.equal(customers);
    },
  });

  it("should wait while the API cannot be had, saying so, and go on where it was", async () => {
    api.misbehave = always(answered(503), "/v1/charges?");
    await backfill({ from: "2026-01-01" });
    await until(async () => (await shown()).problem !== null);
    expect(await shown()).to.include({ state: "reading", list: "charges" });
    const calls = api.calls.length;
    api.misbehave = null;
    expect(await whenEnded()).to.include({ state: "done" });
    expect(api.calls.slice(calls).filter((path) => path.includes("/v1/products?"))).to.deep.equal(
      [],
    );
  });

  const morePages: [string, boolean, object][] = [
    ["read a list again whose last object is deleted meanwhile", false, { state: "done" }],
    ["fail when it is sent back from the same page twice", true, { state: "failed" }],
  ];
  for (const [title, isRefused, expected] of morePages) {
    it(`should ${title}`, async () => {
      const products = api.lists.get("/v1/products") ?? [];
      const more = Array.from({ length: 100 }, (_, number) =>
        productObject({ id: `prod_h_${number}`, name: `No ${number}`, createdAt: from + number }),
      );
      api.lists.set("/v1/products", [...products, ...more]);
      api.misbehave = (request, response) => {
        const { pathname, searchParams } = new URL(request.url ?? "", api.url);
        const after = searchParams.get("starting_after");
        if (pathname !== "/v1/products" || after === null) return false;
        if (isRefused) send(response, 400, {});
        const list = api.lists.get(pathname) ?? [];
        if (!isRefused) {
          api.lists.set(
            pathname,
            list.filter(({ id }) => id !== after),
          );
        }
        return isRefused;
      };
      const last = await readLatest();
      api.lists.set("/v1/products", products);
      expect(last, last.problem ?? "").to.include(expected);
      expect(last.counts.products).to.equal(100);
    });
  }

  it("should go on in the list it was in after a crash, and change nothing by it", async () => {
    const before = await figures();
    // As a crash leaves it between a page that is durable and its position.
    await endpoints.service.postgres.query(
      `UPDATE backfills SET state = 'reading', list = 'charges', after = NULL, comparison = NULL,
         leased_until = now() WHERE id = $1`,
      [(await shown()).id],
    );
    const calls = api.calls.length;
    expect(await whenEnded()).to.include({ state: "done" });
    const paths = api.calls.slice(calls);
    expect(paths.some((path) => path.startsWith("/v1/charges?"))).to.equal(true);
    expect(paths.some((path) => path.startsWith("/v1/subscriptions?"))).to.equal(false);
    expect(await figures()).to.deep.equal(before);
  });

  it("should be a command, too, that says how far it has come", async () => {
    const lines: string[] = [];
    const steps = {
      // This service runs them already.
      startProcessors: async () => undefined,
      report: (line: string) => lines.push(line),
    };
    const code = await backfillCommand(
      endpoints.service,
      { integration: suite.integration, from },
      steps,
    );
    expect(code, lines.join("\n")).to.equal(0);
    expect(lines[0]).to.match(/^reading /);
    const cannot = lines.filter((line) => line.startsWith("Cannot be had: "));
    expect(cannot)
      .to.have.lengthOf((await shown()).missing.length)
      .and.not.deep.equal([]);
    expect(lines.at(-1)).to.equal(
      "2026-01 EUR  listed: 110 payments, 1100.00 paid, 6.50 refunded  booked: the same",
    );
    const nobody = { integration: "int_nobody", from };
    expect(await backfillCommand(endpoints.service, nobody, steps)).to.equal(2);
    const listed = { integration: suite.integration, from, ids: "any" };
    expect(await backfillCommand(endpoints.service, listed, steps)).to.equal(2);
    expect(lines.at(-1)).to.equal("stripe lists its history by itself: it takes no --ids.");
    for (const unbookable of [0, Date.now() + dayMs]) {
      const order = { integration: suite.integration, from: unbookable };
      expect(await backfillCommand(endpoints.service, order, steps)).to.equal(2);
      expect(lines.at(-1)).to.match(/^--from must lie between 2000-01-01 and now/);
    }
  });

  const refusals: [string, object, string][] = [
    ["no key", {}, "no key"],
    ["a wrong key", { api_key: "rk_wrong" }, "refused products"],
  ];
  for (const [title, credentials, problem] of refusals) {
    it(`should fail with ${title}, saying so`, async () => {
      const given = { signing_secret: secret, ...credentials };
      const { id } = await endpoints.integrate("stripe", given);
      const failed = await backfilled(endpoints, id, "2026-01-01");
      expect(failed.state).to.equal("failed");
      expect(failed.problem).to.include(problem);
    });
  }

  it("should fail with an object larger than the log takes, saying so", async () => {
    const products = api.lists.get("/v1/products") ?? [];
    const large = productObject({ id: "prod_l", name: "L", createdAt: from });
    const description = "x".repeat(logRecordBytesMax);
    api.lists.set("/v1/products", [...products, { ...large, description }]);
    const last = await readLatest();
    api.lists.set("/v1/products", products);
    expect(last).to.include({ state: "failed", list: "products" });
    expect(last.problem).to.include("larger than the log takes");
  });

  it("should fail with a page the service cannot handle, after some tries", async () => {
    const { log } = endpoints.service;
    const append = log.append.bind(log);
    let tries = 0;
    Object.assign(log, {
      append: async () => {
        tries += 1;
        throw new Error("not as expected");
      },
    });
    const last = await readLatest();
    Object.assign(log, { append });
    expect(last).to.include({ state: "failed", list: "products" });
    expect(last.problem).to.include("The service failed on a page of products");
    expect(tries).to.equal(backfillTriesMax);
  });

  it("should make months known that webhooks do not report", async () => {
    const other = await suite.connect(endpoints);
    const known = async (id = other.id): Promise<Record<string, string>> => {
      const months = await coverageOf(endpoints, id);
      return Object.fromEntries(months.map(({ month, known_by: by }) => [month, by]));
    };
    const present = new Date().toISOString().slice(0, 7);
    expect(await known()).to.deep.equal({ [present]: "none" });
    const done = await backfilled(endpoints, other.id, "2026-01-01");
    expect(done).to.include({ state: "done" });
    const { [present]: now, ...before } = await known();
    expect(Object.keys(before)[0]).to.equal("2026-01");
    expect(new Set(Object.values(before))).to.deep.equal(new Set(["api"]));
    // What happened since it was read is not known.
    expect(now).to.equal("none");
    // The other one has had webhooks since it was read.
    expect((await known(suite.integration))[present]).to.equal("api");
    const nobody = await endpoints.manage(
      "GET",
      `${endpoints.path}/integrations/int_nobody/coverage`,
    );
    expectError(nobody, "404 integration_unknown");
  });

  it("should refuse a date out of range, and show nothing where nothing was asked", async () => {
    const other = await suite.connect(endpoints);
    const early = new Date(limits.eventEarliest - 1).toISOString();
    for (const wrong of [early, "2999-01-01"]) {
      const answer = await backfill({ from: wrong }, other.id);
      expectError(answer, "422 from_out_of_range from");
    }
    const path = `/workspaces/${endpoints.workspace}/integrations/${other.id}/backfill`;
    expectError(await endpoints.manage("GET", path), "404 backfill_unknown");
  });

  function backfill(body: object, id = suite.integration) {
    const path = `/workspaces/${endpoints.workspace}/integrations/${id}/backfill`;
    return endpoints.manage("POST", path, body);
  }

  const shown = (): Promise<ShownBackfill> => shownBackfill(endpoints, suite.integration);
  const whenEnded = (): Promise<ShownBackfill> => endedBackfill(endpoints, suite.integration);
  const readLatest = (): Promise<ShownBackfill> =>
    backfilled(endpoints, suite.integration, "2026-11-01");
  const deliver = (type: string, object: JsonObject = {}, at?: number): Promise<void> =>
    suite.deliver(endpoints, suite.webhook, [event(type, object, at)]);

  const read = async (path: string) => (await endpoints.get(path)).json;
  async function mrrAt(at: string): Promise<number> {
    return (await read(`/v1/metrics/mrr?at=${at}`)).data.current_mrr;
  }
  async function figures() {
    const mrr = await read("/v1/metrics/mrr");
    const transactions = await read("/v1/transactions?limit=200");
    const products = await read("/v1/products?period=lifetime");
    const [{ total_revenue: revenue, total_sales: sales }] = products.data;
    const shownOf = ({ version: _version, ...rest }: Record<string, unknown>) => rest;
    return {
      mrr: Number(mrr.data.current_mrr),
      revenue: Number(revenue),
      sales: Number(sales),
      transactions: transactions.data.map(shownOf),
    };
  }
});
