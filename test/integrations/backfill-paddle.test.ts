/**
 * Reading Paddle's history, from a real HTTP server that lists it as Paddle does: the figures are
 * those that its webhooks alone give, whichever of them come as well, and when.
 */
import { expect } from "chai";
import { Chance } from "../../ops/demo/chance.js";
import {
  addressData,
  eventBody,
  type JsonObject,
  paddleEvent,
  priceData,
  productData,
  subscriptionData,
} from "../../ops/payloads/paddle.js";
import {
  adjustmentData,
  type AdjustmentInput,
  transactionData,
} from "../../ops/payloads/paddle-money.js";
import { textOf } from "../../providers/fields.js";
import { createPaddle } from "../../providers/paddle/index.js";
import { answered, cut, cutWithin, tooMany } from "../apis/failures.js";
import { paddleKey } from "../apis/paddle-api.js";
import { send } from "../apis/stripe-api.js";
import { dayMs } from "../harness/days.js";
import {
  backfilled,
  coverageOf,
  endedBackfill,
  expectAgreement,
  ownFiguresOf,
  reconciled,
  shownBackfill,
  startBackfill,
} from "../harness/histories.js";
import { HistorySuite } from "../harness/history-suite.js";
import { until } from "../harness/promises.js";

const from = Date.UTC(2026, 0, 1);
const customers = 12;
const secret = "pdl_ntfset_of_history";
const paddle = createPaddle({ toleranceSeconds: 300 });
const chance = new Chance("paddle history");

const product = productData({ id: "pro_h", name: "From history", createdAt: from });
const price = priceData({ id: "pri_h", product: "pro_h", unitAmount: 1000n, currency: "EUR" });

/** What a list shows, and the event that reported it when it happened. */
interface Happened {
  readonly list: string;
  readonly object: JsonObject;
  readonly event: JsonObject;
}

function happened(list: string, type: string, at: number, object: JsonObject): Happened {
  return {
    list,
    object,
    event: paddleEvent({ id: `evt_${type}_${idOf(object)}`, type, at, data: object }),
  };
}

function idOf({ id }: JsonObject): string {
  return textOf(id) ?? "";
}

/**
 * A subscription of ten euros a month, its payments, and what was returned of them. Ids are in the
 * order of time, as Paddle's are, whose lists are ordered by them.
 */
function customerHistory(number: number): Happened[] {
  const [subscription, customer, address] = [`sub_h${number}`, `ctm_h${number}`, `add_h${number}`];
  const startedAt = from + chance.whole(0, 29) * dayMs + number * 1000;
  const months = chance.whole(1, 6);
  const hasEnded = chance.happens(40);
  const shared = { customer, address, currency: "EUR" } as const;
  const canceledAt = startedAt + months * 30 * dayMs;
  const sold = subscriptionData({
    ...shared,
    id: subscription,
    status: hasEnded ? "canceled" : "active",
    startedAt,
    items: [{ price, quantity: 1, product, status: hasEnded ? "inactive" : "active" }],
    ...(hasEnded ? { canceledAt } : {}),
  });
  const begun = { ...sold, status: "active", canceled_at: null };
  const items = [{ price, quantity: 1, recurring: true, status: "active", product }];
  const created = happened("/subscriptions", "subscription.created", startedAt, sold);
  const payments = Array.from({ length: months }, (_, month) => {
    const at = startedAt + month * 30 * dayMs;
    const id = `txn_${at}_h${number}`;
    const transaction = transactionData({
      ...shared,
      id,
      createdAt: at,
      paidAt: at + 60_000,
      subscription,
      origin: month === 0 ? "web" : "subscription_recurring",
      lines: [{ id: id.replace("txn", "txnitm"), price, product, subtotal: 1000n, tax: 190n }],
    });
    return happened("/transactions", "transaction.completed", at + 120_000, transaction);
  });
  return [
    { ...created, event: { ...created.event, data: { ...begun, items } } },
    ...(hasEnded ? [happened("/subscriptions", "subscription.canceled", canceledAt, sold)] : []),
    ...payments,
    ...payments.flatMap(({ object }, month) => returnsOf(number, month, idOf(object))),
  ];
}

/** A part refunded, once approved; or taken by a chargeback and, at times, given back. */
function returnsOf(number: number, month: number, transaction: string): Happened[] {
  const at = from + (30 + month) * dayMs + number * 60_000;
  const adjustment = (
    id: string,
    action: AdjustmentInput["action"],
    status: AdjustmentInput["status"],
    createdAt: number,
  ): JsonObject => {
    const total = action === "refund" ? 400n : 1190n;
    const type = action === "refund" ? "partial" : "full";
    const shared = { transaction, customer: `ctm_h${number}`, currency: "EUR" };
    const items =
      action === "refund" ? [{ line: transaction.replace("txn", "txnitm"), amount: total }] : [];
    const tax = action === "refund" ? 64n : 190n;
    return adjustmentData({ ...shared, id, action, status, createdAt, type, total, tax, items });
  };
  const name = `adj_${at}_h${number}`;
  if (chance.happens(30)) {
    const isApproved = chance.happens(70);
    const refund = adjustment(name, "refund", isApproved ? "approved" : "pending_approval", at);
    const approvedAt = at + 2 * dayMs;
    const changed = { ...refund, updated_at: new Date(approvedAt).toISOString() };
    return isApproved
      ? [happened("/adjustments", "adjustment.updated", approvedAt, changed)]
      : [happened("/adjustments", "adjustment.created", at, refund)];
  }
  if (!chance.happens(20)) return [];
  const isBack = chance.happens(50);
  const taken = adjustment(name, "chargeback", isBack ? "reversed" : "approved", at);
  const reported = happened("/adjustments", "adjustment.created", at, taken);
  const back = adjustment(
    `adj_${at + 5 * dayMs}_h${number}`,
    "chargeback_reverse",
    "approved",
    at + 5 * dayMs,
  );
  return [
    { ...reported, event: { ...reported.event, data: { ...taken, status: "approved" } } },
    ...(isBack ? [happened("/adjustments", "adjustment.created", at + 5 * dayMs, back)] : []),
  ];
}

const all = Array.from({ length: customers }, (_, number) => customerHistory(number)).flat();

describe("A backfill of Paddle", function () {
  this.timeout(200_000);
  const suite = new HistorySuite<Happened>({
    provider: "paddle",
    from: "2026-01-01",
    api: ({ paddleApi }) => paddleApi,
    credentials: () => ({ signing_secret: secret, api_key: paddleKey }),
    prepare({ paddleApi: api }) {
      for (const path of ["/discounts", "/customers"]) api.lists.set(path, []);
      api.lists.set("/products", [product]);
      for (const path of ["/subscriptions", "/transactions", "/adjustments"]) {
        const objects = new Map(
          all.flatMap(({ list, object }) => (list === path ? [[idOf(object), object]] : [])),
        );
        api.lists.set(path, [...objects.values()]);
      }
      for (let number = 0; number < customers; number += 1) {
        const [customer, id] = [`ctm_h${number}`, `add_h${number}`];
        const country = chance.happens(50) ? "DE" : "FR";
        const address = addressData({ id, customer, country });
        api.objects.set(`/customers/${customer}/addresses/${id}`, address);
      }
      // Neither a page's length nor the number of pages is what was asked for.
      api.perPageMax = 7;
    },
    reported: () => all,
    sign: ({ event }) => paddle.sign(eventBody(event), { signing_secret: secret }, Date.now()),
    moments: Array.from({ length: 15 }, (_, half) =>
      new Date(from + (half + 1) * 15 * dayMs).toISOString(),
    ),
    // Webhooks leave countries out, which are asked for.
    isWhole: ({ transactions }) =>
      transactions.every(({ customer_country: country }) => country !== "ZZ"),
  });
  const { endpoints } = suite;

  it("should have something to compare with: the figures of webhooks alone", () => {
    const { mrr, transactions } = suite.alone;
    expect(transactions.length).to.be.above(customers);
    expect(mrr).to.include.members([customers * 10]);
    const refunded = transactions.filter(({ refunded_amount: amount }) => amount > 0);
    expect(refunded).not.to.deep.equal([]);
  });

  it("should read all, though its API fails now and then, and find it as listed", async () => {
    const ways = [cut, answered(500), tooMany, cutWithin];
    const done = await suite.readThroughFailures(3, { ways });
    expect(done.missing.join()).to.include("earlier prices");
    expect(done.progress).to.equal(null);
    const transactions = endpoints.paddleApi.lists.get("/transactions") ?? [];
    expect(done.counts).to.include({ products: 1, transactions: transactions.length });
    expect(done.comparison.every(({ same }) => same)).to.equal(true);
    expect(done.comparison.reduce((sum, { listed }) => sum + listed.refunded, 0)).to.be.above(0);
    expect(await suite.figures(endpoints)).to.deep.equal(suite.alone);
    // The API goes on failing while the lists are compared, and while it tells its own figures.
    tellMetrics("EUR");
    const months = { from: "2026-01", to: "2026-07" };
    const agreed = await reconciled(endpoints, suite.integration, months);
    expectAgreement(agreed);
    const listed = agreed.months.flatMap(({ report }) => report?.currencies ?? []);
    for (const name of ["disputed_minor", "reinstated_minor"] as const) {
      expect(
        listed.reduce((sum, { listed: of }) => sum + of[name], 0),
        name,
      ).to.be.above(0);
    }
    const told = ownFiguresOf(agreed);
    expect(told).to.have.lengthOf(28);
    for (const figure of ["refunds", "chargebacks"]) {
      const some = told.filter((one) => one.figure === figure && one.listed_minor > 0);
      expect(some, figure).not.to.deep.equal([]);
    }
    for (const { why, listed_minor: theirs, booked_minor: ours } of told) {
      expect(ours).to.equal(theirs);
      expect(why).to.equal(null);
    }
    // The list of transactions has the countries; only subscriptions ask for them.
    const known = await coverageOf(endpoints, suite.integration);
    const coverage = Object.fromEntries(known.map(({ month, known_by: by }) => [month, by]));
    expect(coverage).to.include({ "2026-01": "api", "2026-02": "api" });
  });

  it("should give the same with webhooks before, after and around it, and read again", async () => {
    const orders = [
      ["before", 0.7],
      ["after", 0],
      ["around", 0.4],
    ] as const;
    await Promise.all(
      orders.map(async ([order, share]) => {
        const shuffled = all
          .map((one) => ({ one, place: chance.unit() }))
          .sort((one, other) => one.place - other.place)
          .map(({ one }) => one);
        const { of, id, webhook } = await suite.fresh();
        const read = async () =>
          expect(await backfilled(of, id, "2026-01-01"), order).to.include({ state: "done" });
        const isSame = async () =>
          expect(await suite.figures(of), order).to.deep.equal(suite.alone);
        const first = shuffled.slice(0, shuffled.length * share);
        await suite.deliver(of, webhook, first);
        await read();
        const others = order === "before" ? [] : shuffled.slice(first.length / 2);
        await suite.deliver(of, webhook, others);
        await isSame();
        await read();
        await isSame();
      }),
    );
  });

  it("should show Paddle's own figures beside ours, and why they differ", async () => {
    const february = { from: "2026-02", to: "2026-02" };
    const compared = async () => reconciled(endpoints, suite.integration, february);
    const [mrr, revenue] = ownFiguresOf(await compared());
    expect(mrr).to.include({ figure: "mrr", through: "2026-03-01T00:00:00.000Z" });
    expect(mrr?.listed_minor).to.be.above(0);
    // Our own revenue has tax and fees inside, and refunds taken off.
    const days = "from=2026-02-01&to=2026-02-28";
    const { totals } = (await endpoints.get(`/v1/metrics/revenue?${days}`)).json.data;
    expect(revenue?.figure_minor).to.equal(Math.round(totals.revenue * 100));
    expect(revenue?.booked_minor).to.not.equal(revenue?.figure_minor);

    tellMetrics("EUR", 1n);
    const [same, other] = ownFiguresOf(await compared());
    expect(same).to.deep.equal(mrr);
    expect(other).to.include({
      listed_minor: Number(revenue?.listed_minor) + 28,
      booked_minor: revenue?.booked_minor,
    });
    expect(other?.why).to.include("today's rate").and.not.include("converted");

    tellMetrics("USD");
    const [inDollars] = ownFiguresOf(await compared());
    expect(inDollars).to.include({ currency: "USD", listed_minor: mrr?.listed_minor });
    expect(inDollars?.booked_minor).to.be.above(mrr?.listed_minor ?? 0);
    expect(inDollars?.why).to.include("converted from EUR at the rate of 2026-02-27");

    endpoints.paddleApi.metrics.clear();
    const refused = await compared();
    expectAgreement(refused);
    expect(ownFiguresOf(refused)).to.deep.equal([]);
    expect(refused.months[0]?.report?.own_figures_problem).to.include("metrics.read");
  });

  /** What Paddle's dashboard shows of all that is listed. @param more every day */
  function tellMetrics(currency: string, more = 0n): void {
    const { lists, metrics } = endpoints.paddleApi;
    const timeIn = (one: JsonObject, name: string): number => Date.parse(textOf(one[name]) ?? "");
    const isCounted = (one: JsonObject, end: number): boolean =>
      timeIn(one, "started_at") < end && !(timeIn(one, "canceled_at") < end);
    metrics.set("/metrics/monthly-recurring-revenue", {
      currency,
      amountOn: (day) => {
        const sold = lists.get("/subscriptions") ?? [];
        return BigInt(sold.filter((one) => isCounted(one, day + dayMs)).length) * 1000n;
      },
    });
    metrics.set("/metrics/revenue", {
      currency,
      amountOn: (day) => {
        const paidAt = (one: JsonObject): number => timeIn(one, "billed_at") + 60_000;
        const paid = (lists.get("/transactions") ?? []).filter(
          (one) => paidAt(one) >= day && paidAt(one) < day + dayMs,
        );
        // Of 11.90 each, 1.90 are tax and 0.59 Paddle's fee.
        return BigInt(paid.length) * 941n + more;
      },
    });
    const adjusted = (action: string, at: string, day: number): JsonObject[] =>
      (lists.get("/adjustments") ?? []).filter(
        (one) =>
          one["action"] === action &&
          one["status"] !== "pending_approval" &&
          timeIn(one, at) >= day &&
          timeIn(one, at) < day + dayMs,
      );
    metrics.set("/metrics/refunds", {
      currency,
      // Of 4.00 each, 0.64 are tax.
      amountOn: (day) => BigInt(adjusted("refund", "updated_at", day).length) * 336n + more,
    });
    metrics.set("/metrics/chargebacks", {
      currency: null,
      amountOn: (day) => BigInt(adjusted("chargeback", "created_at", day).length) + more,
    });
  }

  suite.itFetchesWhatIsMissing({ from: "2026-01", to: "2026-03" });

  suite.itReportsADifference({
    isRead: ({ pathname, searchParams }) =>
      pathname === "/transactions" && !searchParams.has("after"),
    readings: 2,
    change() {
      const { lists } = endpoints.paddleApi;
      const transactions = lists.get("/transactions") ?? [];
      lists.set("/transactions", [...transactions, { ...transactions[0], id: "txn_h_late" }]);
      return () => void lists.set("/transactions", transactions);
    },
    look({ comparison }) {
      const wrong = comparison.filter(({ same }) => !same);
      expect(wrong.map(({ listed, booked }) => listed.count - booked.count)).to.deep.equal([1]);
    },
  });

  it("should say how far it is in a list with dates, and that others cannot tell", async () => {
    const { of, id } = await suite.fresh();
    const api = endpoints.paddleApi;
    let stopped: string | null = "/subscriptions";
    api.misbehave = (request, response) => {
      const { pathname, searchParams } = new URL(request.url ?? "", api.url);
      if (pathname !== stopped || !searchParams.has("after")) return false;
      // After failures such as 503 the API would be left alone for a while.
      send(response, 429, {});
      return true;
    };
    await startBackfill(of, id, "2026-01-01");
    const waiting = async (list: string) => {
      await until(async () => {
        const shown = await shownBackfill(of, id);
        return shown.list === list && shown.problem !== null;
      });
      return (await shownBackfill(of, id)).progress;
    };
    expect(await waiting("subscriptions")).to.include({
      months_done: null,
      list_seconds_left: null,
    });
    stopped = "/transactions";
    const {
      months,
      months_done: done,
      list_seconds_left: left,
    } = must(await waiting("transactions"));
    expect(months).to.be.above(9);
    expect(done).to.be.within(1, months - 1);
    expect(left).to.be.a("number");
    stopped = null;
    expect(await endedBackfill(of, id)).to.include({ state: "done" });
  });

  function must<T>(value: T | null): T {
    if (value === null) throw new Error("nothing there");
    return value;
  }
});
