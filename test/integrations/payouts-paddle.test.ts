/** Payouts of Paddle: its events list them, and a report that it makes says what is in one. */
import { expect } from "chai";
import {
  eventBody,
  type JsonObject,
  paddleEvent,
  priceData,
  productData,
} from "../../ops/payloads/paddle.js";
import { transactionData } from "../../ops/payloads/paddle-money.js";
import { textOf } from "../../providers/fields.js";
import { createPaddle } from "../../providers/paddle/index.js";
import { type Ask, PayoutUnread } from "../../providers/payouts.js";
import type { PayoutsView } from "../../schemas/http/payouts.js";
import { always, answered, cut, cutWithin, tooMany } from "../apis/failures.js";
import { type PaddleApi, paddleKey } from "../apis/paddle-api.js";
import { reportObject } from "../apis/paddle-reports.js";
import { send } from "../apis/stripe-api.js";
import { dayMs, hourMs, midnight } from "../harness/days.js";
import { type Answer, expectError, suiteEndpoints } from "../harness/endpoints.js";
import { kindsOf, openedPayout } from "../harness/opened-payout.js";
import { rejection } from "../harness/promises.js";
import { must } from "../model/readers/json.js";

const paddle = createPaddle({ toleranceSeconds: 300 });
const secret = "pdl_ntfset_of_the_payouts";

/** As the report has them; `movement` is what is left of it. */
function row(type: string, transaction: string, movement: string, fees: JsonObject = {}) {
  const cells = {
    balance_movement_type: type,
    balance_movement_date: "2026-01-05T10:00:00Z",
    transaction_id: transaction,
    balance_currency: "USD",
    balance_movement_in_balance_currency: movement,
    ...fees,
  };
  return Object.fromEntries(
    Object.entries(cells).map(([name, cell]) => [name, textOf(cell) ?? ""]),
  );
}

const fee = (name: string, amount: string) => ({ [`${name}_in_balance_currency`]: amount });
const mixed = [
  row("sale", "txn_sold", "945", { ...fee("paddle_fee", "50"), ...fee("fx_fee", "5") }),
  row("sale", "txn_unknown", "1745", fee("paddle_fee", "-150")),
  row("refund", "txn_sold", "-310", fee("retained_fee", "10")),
  row("chargeback", "txn_sold", "-2150", fee("chargeback_fee", "1500")),
  row("rebate", "", "30"),
  row("swift_fee", "", "-20"),
];
const mixedAmount = 945 + 1745 - 310 - 2150 + 30 - 20;

describe("Payouts of Paddle", function suite() {
  this.timeout(120_000);
  const endpoints = suiteEndpoints();
  let api: PaddleApi;
  let path = "";
  const reports = (): JsonObject[] => api.lists.get("/reports") ?? [];
  const open = (id: string): Promise<Answer> => endpoints.manage("GET", `${path}/${id}`);
  const opened = (id: string) => openedPayout(endpoints, path, id);
  /** Without the service between. */
  const ask: Ask = async (asked, shape, json) => {
    const answer = await fetch(api.url + asked, {
      headers: { authorization: `Bearer ${paddleKey}` },
      ...(json && { method: "POST", body: JSON.stringify(json) }),
    });
    return shape.parse(await answer.json());
  };
  /** From now on Paddle has it, with these rows. */
  const put = (
    reference: string,
    amount: number,
    rows: typeof mixed,
    { daysAgo = 30, paid = true } = {},
  ): void => {
    api.reports.rows.set(reference, rows);
    const shared = { id: `payout_${reference}`, remittance_reference: reference };
    const data = { ...shared, amount: String(amount), currency_code: "USD" };
    const at = midnight(daysAgo) + hourMs;
    const event = (type: string, status: string, days: number): JsonObject => ({
      event_id: `evt_${at + days * dayMs}_${reference}`,
      event_type: type,
      occurred_at: new Date(at + days * dayMs).toISOString(),
      data: { ...data, status },
    });
    api.lists.get("/events")?.push(event("payout.created", "unpaid", 0));
    if (paid) api.lists.get("/events")?.push(event("payout.paid", "paid", 1));
  };

  before(async () => {
    api = endpoints.paddleApi;
    for (const list of ["/events", "/reports"]) api.lists.set(list, []);
    const made = await endpoints.integrate("paddle", {
      signing_secret: secret,
      api_key: paddleKey,
    });
    path = `${endpoints.path}/integrations/${made.id}/payouts`;
    const product = productData({ id: "pro_p", name: "Paid out", createdAt: midnight(40) });
    const price = priceData({ id: "pri_p", product: "pro_p", unitAmount: 1000n, currency: "USD" });
    const data = transactionData({
      id: "txn_sold",
      customer: "ctm_p",
      currency: "USD",
      createdAt: midnight(40),
      paidAt: midnight(40),
      lines: [{ id: "txnitm_p", price, product, subtotal: 1000n }],
    });
    const event = paddleEvent({ id: "evt_p", type: "transaction.completed", at: Date.now(), data });
    const signed = paddle.sign(eventBody(event), { signing_secret: secret }, Date.now());
    expect((await endpoints.post(made.webhook_path, signed)).status).to.equal(200);
    await endpoints.booked();
  });
  beforeEach(() => {
    // The service pauses before it asks about one that is not made at once.
    Object.assign(api.reports, { askedUntilReady: 0, becomes: "ready", rowsCut: 0 });
    api.reports.host = "https://reports.paddle.com";
    api.lists.set("/reports", []);
    api.calls.length = 0;
    api.misbehave = null;
  });
  after(() => {
    api.misbehave = null;
  });

  it("should list each once, with its present state, newest first, of all pages", async () => {
    for (let number = 0; number < 12; number += 1) {
      put(`7${number}`, 100 + number, [], { daysAgo: 80 - number, paid: number !== 11 });
    }
    api.perPageMax = 5;
    const answer = await endpoints.manage("GET", path);
    api.perPageMax = 200;
    const found: PayoutsView = answer.json.data;
    expect(found.payouts.map(({ id }) => id)).to.deep.equal(
      Array.from({ length: 12 }, (_, place) => `7${11 - place}`),
    );
    expect(found.payouts[0]).to.include({ status: "unpaid", amount_minor: 111 });
    expect(found.payouts[1]).to.deep.include({
      status: "paid",
      created_at: new Date(midnight(70) + hourMs).toISOString(),
      arrives_at: null,
      currency: "USD",
    });
    const some = await endpoints.manage(
      "GET",
      `${path}?to=${found.payouts[3]?.created_at.slice(0, 10)}`,
    );
    expect(some.json.data.payouts).to.have.lengthOf(9);
  });

  it("should open one to the rows of its report, adding up, and make it once", async () => {
    put("1001", mixedAmount, mixed);
    api.reports.askedUntilReady = 1;
    const found = await opened("1001");
    expect(found).to.include({ problem: null, left_out: false, amount_minor: mixedAmount });
    expect(kindsOf(found)).to.deep.equal({
      payment: 1_000 + 1_895,
      refund: -300,
      dispute: -650,
      fee: -55 - 150 - 10 - 1_500 - 20,
      adjustment: 30,
    });
    const [sold, unknown] = found.lines;
    const shown = await endpoints.get(`/v1/transactions/${sold?.transaction}`);
    expect(shown.json.data, shown.text).to.include({ payment: "txn_sold" });
    expect(sold).to.include({ amount_minor: 1_000, fee_minor: 55, net_minor: 945 });
    expect(sold?.at).to.equal("2026-01-05T10:00:00.000Z");
    expect(unknown).to.include({ payment: "txn_unknown", transaction: null });
    await opened("1001");
    expect(reports()).to.have.lengthOf(1);
    // The file is at another host, which the key is not for.
    expect(api.calls.filter((call) => call.includes(".csv"))).to.have.lengthOf(2);
    expect(api.reports.credentialsGiven).to.equal(0);
  });

  it("should read amounts in whole units, too", async () => {
    const rows = [
      row("sale", "txn_sold", "9.45", fee("paddle_fee", "0.55")),
      row("sale", "", "10"),
    ];
    put("1002", 1_945, rows);
    expect(kindsOf(await opened("1002"))).to.deep.equal({ payment: 2_000, fee: -55 });
  });

  it("should show what its rows do not explain, and of another currency", async () => {
    put("1003", mixedAmount + 1, mixed);
    const found = await opened("1003");
    expect(kindsOf(found)).to.include({ remainder: 1 });
    expect(found.lines.at(-1)).to.include({ kind: "remainder", net_minor: 1 });
    put("1004", 900, [{ ...row("sale", "txn_sold", "1000"), balance_currency: "EUR" }]);
    expect(kindsOf(await opened("1004"))).to.deep.equal({ remainder: 900 });
  });

  it("should say so of a file that is cut, has no amounts, or is made too early", async () => {
    put("1005", mixedAmount, mixed);
    api.reports.rowsCut = 1;
    const short = await opened("1005");
    expect(short.problem).to.include("it has 6 rows, and Paddle says 7");
    expect(kindsOf(short)).to.deep.equal({ remainder: mixedAmount });
    api.reports.rowsCut = 0;
    const odd = [row("sale", "txn_sold", "many")];
    put("1006", 100, odd);
    expect((await opened("1006")).problem).to.include("row 1 has no amount");
    put("1007", 100, [{ balance_movement_type: "sale" }]);
    expect((await opened("1007")).problem).to.include("no column balance_movement");
    put("1008", mixedAmount + 5, mixed, { daysAgo: 0, paid: false });
    expect((await opened("1008")).problem).to.include("lack the last day");
  });

  it("should make a report anew that was made too early or ends soon", async () => {
    put("1009", mixedAmount, mixed);
    const filters = [{ name: "remittance_reference", value: ["1009"] }];
    const early = reportObject("rep_early", filters, midnight(30) + 2 * hourMs);
    const ends = new Date(Date.now() + 60_000).toISOString();
    const ready = { status: "ready", rows: 1 };
    const ending = {
      ...reportObject("rep_end", filters, midnight(13)),
      ...ready,
      expires_at: ends,
    };
    const other = { ...reportObject("rep_other", [], Date.now()), ...ready };
    api.lists.set("/reports", [{ ...early, ...ready }, ending, other]);
    expect((await opened("1009")).problem).to.equal(null);
    expect(reports()).to.have.lengthOf(4);
  });

  it("should say that it is still being made, and go on with that report later", async () => {
    put("1010", mixedAmount, mixed);
    api.reports.askedUntilReady = 5;
    const pauses: number[] = [];
    const csv = () => Promise.reject(new Error("there is no file yet"));
    const pause = async (ms: number) => void pauses.push(ms);
    const unread = await rejection(
      must(paddle.payouts, "payouts").open("1010", ask, { now: Date.now(), csv, pause }),
    );
    expect(unread).to.be.instanceOf(PayoutUnread).and.include({ isPassing: true });
    expect(String(unread)).to.include("still making");
    expect(pauses).to.deep.equal([500, 1_000, 2_000, 4_000]);
    await opened("1010");
    expect(reports()).to.have.lengthOf(1);
  });

  it("should wait for another report, of which Paddle makes one at a time", async () => {
    put("1011", mixedAmount, mixed);
    const other = reportObject("rep_other", [{ name: "status", value: ["paid"] }], Date.now());
    api.lists.set("/reports", [other]);
    const answer = await open("1011");
    expectError(answer, "503 payout_not_ready");
    expect(answer.json.error.message).to.include("another report");
    expect(answer.headers.get("retry-after")).to.equal("5");
    expect(reports()).to.have.lengthOf(1);
    other["status"] = "ready";
    await opened("1011");
  });

  it("should make no more reports than it may, whoever made the others", async () => {
    put("1012", mixedAmount, mixed);
    Object.assign(api.reports, { askedUntilReady: 1, becomes: "failed" });
    for (const _try of [1, 2]) {
      const answer = await open("1012");
      expectError(answer, "422 payout_not_made");
      expect(answer.json.error.message).to.include("could not make");
    }
    // The second was not begun: the first has just failed.
    expect(reports()).to.have.lengthOf(1);
    Object.assign(api.reports, { askedUntilReady: 0, becomes: "ready" });
    const failed = { ...reports()[0], created_at: new Date(Date.now() - 2 * hourMs).toISOString() };
    api.lists.set("/reports", [failed]);
    await opened("1012");
    const made = (length: number, filters: unknown) =>
      Array.from({ length }, (_, number) => ({
        ...reportObject(`rep_${number}`, filters, Date.now() - 2 * hourMs),
        status: "expired",
      }));
    const own = [{ name: "remittance_reference", value: "1012" }];
    for (const before of [made(3, own), made(50, [])]) {
      api.lists.set("/reports", before);
      const answer = await open("1012");
      expectError(answer, "422 payout_not_made");
      expect(answer.json.error.message).to.include("Too many");
      expect(reports()).to.have.lengthOf(before.length);
    }
  });

  it("should read on though the API fails, wherever it does, and make one report", async () => {
    put("1013", mixedAmount, mixed);
    api.reports.askedUntilReady = 1;
    const ways = [cut, answered(502), tooMany, cutWithin];
    const failed = new Map<string, number>();
    let calls = 0;
    api.misbehave = ({ method, url = "" }, response) => {
      const name = `${method} ${url.split("?")[0]}`;
      const before = failed.get(name) ?? 0;
      failed.set(name, before + 1);
      if (before >= 2) return false;
      calls += 1;
      ways[calls % ways.length]?.(response);
      return true;
    };
    await opened("1013");
    expect([...failed.keys()]).to.have.lengthOf(6);
    expect(reports()).to.have.lengthOf(1);
    api.misbehave = always(answered(503));
    expectError(await open("1013"), "503 provider_unavailable");
  });

  it("should follow no link to another host, nor one that is not https", async () => {
    put("1014", mixedAmount, mixed);
    const hosts = ["https://reports.paddle.com.example", "http://reports.paddle.com", api.url];
    for (const host of hosts) {
      api.reports.host = host;
      const answer = await open("1014");
      expectError(answer, "422 payouts_unreadable");
      expect(answer.json.error.message).to.include(`a file at ${host}`);
    }
    expect(api.calls.filter((call) => call.includes(".csv"))).to.deep.equal([]);
  });

  it("should say what it does not have, and what a key may not read", async () => {
    expectError(await open("nobody"), "404 payout_unknown");
    put("1015", mixedAmount, mixed);
    api.misbehave = ({ url = "" }, response) => {
      if (url.startsWith("/events")) return false;
      send(response, 403, { error: { code: "forbidden" } });
      return true;
    };
    expectError(await open("1015"), "422 payouts_unreadable");
  });
});
