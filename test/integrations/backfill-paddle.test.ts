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
import { paddleKey, type PaddleApi } from "../apis/paddle-api.js";
import { send } from "../apis/stripe-api.js";
import { dayMs } from "../harness/days.js";
import { type Endpoints, openEndpoints } from "../harness/endpoints.js";
import {
  backfilled,
  endedBackfill,
  expectAgreement,
  reconciled,
  type ShownBackfill,
  type ShownReconciliation,
  shownBackfill,
  startBackfill,
} from "../harness/histories.js";
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
    return adjustmentData({ ...shared, id, action, status, createdAt, type, total, items });
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

describe("A backfill of Paddle", function suite() {
  this.timeout(200_000);
  let api: PaddleApi;
  let webhooksAlone: Figures;

  before(async () => {
    ({ paddleApi: api } = await openEndpoints());
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
  });

  afterEach(() => {
    api.misbehave = null;
  });

  it("should have something to compare with: the figures of webhooks alone", async () => {
    const tenant = await Tenant.open();
    await tenant.deliver(all);
    await tenant.whenBooked();
    webhooksAlone = await tenant.figures();
    expect(webhooksAlone.transactions.length).to.be.above(customers);
    expect(webhooksAlone.mrr).to.include.members([customers * 10]);
    const refunded = webhooksAlone.transactions.filter(
      ({ refunded_amount: amount }) => Number(amount) > 0,
    );
    expect(refunded).not.to.deep.equal([]);
  });

  it("should give the same alone, while the API fails now and then", async () => {
    const tenant = await Tenant.open();
    let calls = 0;
    api.misbehave = (_request, response) => {
      calls += 1;
      if (calls % 3 !== 0) return false;
      const failures = [
        () => response.destroy(),
        () => send(response, 500, {}),
        () => send(response, 429, {}, { "retry-after": "0" }),
        () => {
          response.writeHead(200, { "content-length": "1000" });
          response.write("{");
          setTimeout(() => response.destroy(), 10);
        },
      ];
      failures[(calls / 3) % failures.length]?.();
      return true;
    };
    const done = await tenant.backfill();
    expect(done, done.problem ?? "").to.include({ state: "done" });
    expect(done.missing.join()).to.include("earlier prices");
    expect(done.progress).to.equal(null);
    const transactions = api.lists.get("/transactions") ?? [];
    expect(done.counts).to.include({ products: 1, transactions: transactions.length });
    expect(done.comparison.every(({ same }) => same)).to.equal(true);
    expect(done.comparison.reduce((sum, { listed }) => sum + listed.refunded, 0)).to.be.above(0);
    await tenant.whenBooked();
    expect(await tenant.figures()).to.deep.equal(webhooksAlone);
    // The API goes on failing while the lists are compared.
    const agreed = await tenant.reconciled();
    expectAgreement(agreed);
    const listed = agreed.months.flatMap(({ report }) => report?.currencies ?? []);
    for (const name of ["disputed_minor", "reinstated_minor"] as const) {
      expect(
        listed.reduce((sum, { listed: of }) => sum + of[name], 0),
        name,
      ).to.be.above(0);
    }
    // The list of transactions has the countries; only subscriptions ask for them.
    expect(await tenant.coverage()).to.include({ "2026-01": "api", "2026-02": "api" });
  });

  for (const order of ["before", "after", "around"] as const) {
    it(`should give the same with webhooks ${order} it, and read again`, async () => {
      const tenant = await Tenant.open();
      const shuffled = all
        .map((one) => ({ one, place: chance.unit() }))
        .sort((one, other) => one.place - other.place)
        .map(({ one }) => one);
      const share = order === "before" ? 0.7 : order === "after" ? 0 : 0.4;
      const first = shuffled.slice(0, shuffled.length * share);
      await tenant.deliver(first);
      expect(await tenant.backfill()).to.include({ state: "done" });
      await tenant.deliver(order === "before" ? [] : shuffled.slice(first.length / 2));
      await tenant.whenBooked();
      expect(await tenant.figures()).to.deep.equal(webhooksAlone);
      expect(await tenant.backfill()).to.include({ state: "done" });
      await tenant.whenBooked();
      expect(await tenant.figures()).to.deep.equal(webhooksAlone);
    });
  }

  it("should report a difference, and not call it done", async () => {
    const tenant = await Tenant.open();
    const transactions = api.lists.get("/transactions") ?? [];
    let reads = 0;
    api.misbehave = (request) => {
      const { pathname, searchParams } = new URL(request.url ?? "", api.url);
      if (pathname === "/transactions" && !searchParams.has("after")) reads += 1;
      if (reads === 2) {
        // It appears between the reading and the comparison.
        const late = { ...transactions[0], id: "txn_h_late" };
        api.lists.set("/transactions", [...transactions, late]);
      }
      return false;
    };
    const different = await tenant.backfill();
    api.lists.set("/transactions", transactions);
    expect(different).to.include({ state: "different" });
    const wrong = different.comparison.filter(({ same }) => !same);
    expect(wrong.map(({ listed, booked }) => listed.count - booked.count)).to.deep.equal([1]);
  });

  it("should say how far it is in a list with dates, and that others cannot tell", async () => {
    const tenant = await Tenant.open();
    let stopped: string | null = "/subscriptions";
    api.misbehave = (request, response) => {
      const { pathname, searchParams } = new URL(request.url ?? "", api.url);
      if (pathname !== stopped || !searchParams.has("after")) return false;
      send(response, 503, {});
      return true;
    };
    await tenant.start();
    const waiting = async (list: string) => {
      await until(async () => {
        const shown = await tenant.shown();
        return shown.list === list && shown.problem !== null;
      });
      return (await tenant.shown()).progress;
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
    expect(await tenant.whenEnded()).to.include({ state: "done" });
  });

  function must<T>(value: T | null): T {
    if (value === null) throw new Error("nothing there");
    return value;
  }

  interface Figures {
    readonly mrr: readonly number[];
    readonly transactions: readonly Record<string, unknown>[];
    readonly products: unknown;
  }

  /** A workspace of its own with a Paddle integration. */
  class Tenant {
    private constructor(
      private readonly endpoints: Endpoints,
      private readonly webhook: string,
      private readonly integration: string,
    ) {}

    static async open(): Promise<Tenant> {
      const endpoints = await openEndpoints({ hasStripe: false });
      const credentials = { signing_secret: secret, api_key: paddleKey };
      const { id, webhook_path: webhook } = await endpoints.integrate("paddle", credentials);
      return new Tenant(endpoints, webhook, id);
    }

    async deliver(what: readonly Happened[]): Promise<void> {
      for (const { event } of what) {
        const body = eventBody(event);
        const signed = paddle.sign(body, { signing_secret: secret }, Date.now());
        const answer = await this.endpoints.post(this.webhook, signed);
        expect(answer.status, answer.text).to.equal(200);
      }
    }

    start(): Promise<void> {
      return startBackfill(this.endpoints, this.integration, "2026-01-01");
    }

    backfill(): Promise<ShownBackfill> {
      return backfilled(this.endpoints, this.integration, "2026-01-01");
    }

    reconciled(): Promise<ShownReconciliation> {
      const months = { from: "2026-01", to: "2026-07" };
      return reconciled(this.endpoints, this.integration, months);
    }

    shown(): Promise<ShownBackfill> {
      return shownBackfill(this.endpoints, this.integration);
    }

    whenEnded(): Promise<ShownBackfill> {
      return endedBackfill(this.endpoints, this.integration);
    }

    async coverage(): Promise<Record<string, string>> {
      const path = `${this.endpoints.path}/integrations/${this.integration}/coverage`;
      const { months } = (await this.endpoints.manage("GET", path)).json.data;
      const known: { month: string; known_by: string }[] = months;
      return Object.fromEntries(known.map(({ month, known_by: by }) => [month, by]));
    }

    /** Countries that webhooks leave out are asked for, and come later than the payments. */
    async whenBooked(): Promise<void> {
      await this.endpoints.booked();
      await until(async () =>
        (await this.transactions()).every(({ customer_country: of }) => of !== "ZZ"),
      );
    }

    async transactions(): Promise<Record<string, unknown>[]> {
      return (await this.endpoints.get("/v1/transactions?limit=200")).json.data;
    }

    async figures(): Promise<Figures> {
      const read = async (path: string) => (await this.endpoints.get(path)).json.data;
      const mrr: number[] = [];
      for (let at = from + 15 * dayMs; at < from + 240 * dayMs; at += 15 * dayMs) {
        const figure = await read(`/v1/metrics/mrr?at=${new Date(at).toISOString()}`);
        mrr.push(Number(figure.current_mrr));
      }
      const products = await read("/v1/products?period=lifetime");
      return {
        mrr,
        transactions: (await this.transactions()).map(shownOf),
        products: products.map(shownOf),
      };
    }
  }

  /** Ids are of the workspace; versions say how often a row was written. */
  function shownOf(row: Record<string, unknown>): Record<string, unknown> {
    const own = ["id", "version", "account", "customer_id", "product_id", "slug"];
    return Object.fromEntries(Object.entries(row).filter(([key]) => !own.includes(key)));
  }
});
