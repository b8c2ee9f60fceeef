/** What Paddle's lists reveal of the past, as the events its webhook would have sent. */
import { expect } from "chai";
import {
  anyTime,
  type HistoryList,
  type HistoryPage,
  type Span,
} from "../../providers/backfill.js";
import {
  type JsonObject,
  priceData,
  rfc3339,
  type SubscriptionInput,
  subscriptionData,
} from "../../ops/payloads/paddle.js";
import {
  adjustmentData,
  type AdjustmentInput,
  transactionData,
} from "../../ops/payloads/paddle-money.js";
import { decode } from "../../providers/paddle/decode.js";
import { paddleBackfill } from "../../providers/paddle/history/backfill.js";
import { bodiesOf, worthByDay } from "../harness/decoded.js";
import { cell, rowsOf } from "../model/tables/table.js";

const dayMs = 24 * 60 * 60 * 1000;
const startedAt = Date.UTC(2026, 0, 1);
const readOn = 60;
const price = priceData({ id: "pri_1", product: "pro_1", unitAmount: 3000n, currency: "EUR" });

const at = (day: number): number => startedAt + day * dayMs;
const dayOf = (ms: number): number => Math.floor((ms - startedAt) / dayMs);

function listOf(name: string): HistoryList {
  const list = paddleBackfill.lists.find((one) => one.name === name);
  if (list === undefined) throw new Error(`no list ${name}`);
  return list;
}

function answer(data: readonly JsonObject[], pagination: JsonObject = { has_more: false }) {
  return { data, meta: { pagination } };
}

function pageOf(name: string, data: readonly JsonObject[], span: Span = anyTime): HistoryPage {
  const page = listOf(name).read(answer(data), at(readOn), span);
  if (page === null) throw new Error("no page");
  return page;
}

describe("A subscription in the history of Paddle", () => {
  function reportedOf(subscription: JsonObject): string {
    const { events } = pageOf("subscriptions", [subscription]);
    return worthByDay(
      events.map(({ body }) => decode(body)),
      startedAt,
    );
  }

  function subscriptionOf(row: Readonly<Record<string, string>>): JsonObject {
    const day = (name: string): number | undefined => {
      const text = cell(row, name);
      return text === "-" ? undefined : at(Number(text));
    };
    const [status] = statuses.filter((known) => known === row["status"]);
    if (status === undefined) throw new Error(`no status ${row["status"]}`);
    const [trialEndsAt, pausedAt, canceledAt] = [day("trial"), day("paused"), day("ended")];
    const isWorth = status === "active" || status === "past_due";
    return subscriptionData({
      id: "sub_1",
      customer: "ctm_1",
      currency: "EUR",
      status,
      startedAt,
      items: [
        {
          price,
          quantity: 1,
          status: status === "trialing" ? "trialing" : isWorth ? "active" : "inactive",
          ...(trialEndsAt === undefined ? {} : { trialEndsAt }),
        },
      ],
      firstBilledAt: day("billed") ?? null,
      periodStartsAt: at(45),
      ...(pausedAt === undefined ? {} : { pausedAt }),
      ...(canceledAt === undefined ? {} : { canceledAt }),
    });
  }

  const statuses = ["active", "trialing", "past_due", "paused", "canceled"] as const;
  const cases = rowsOf(`
    what                  | status   | trial | billed | paused | ended | reported
    goes on               | active   | -     | 0      | -      | -     | 0: 3000; 60: 3000
    is past due           | past_due | -     | 0      | -      | -     | 0: 3000; 60: 3000
    was imported          | active   | -     | -      | -      | -     | 0: 3000; 60: 3000
    is paused             | paused   | -     | 0      | 20     | -     | 0: 3000; 20: 0
    has ended             | canceled | -     | 0      | -      | 50    | 0: 3000; 50: 0
    was paused, ended     | canceled | -     | 0      | 20     | 50    | 0: 3000; 20: 0; 50: 0
    is on trial           | trialing | 70    | -      | -      | -     | 0: 0; 60: 0
    was converted         | active   | 14    | 14.01  | -      | -     | 0: 0; 14: 3000; 60: 3000
    was converted early   | active   | 14    | 10     | -      | -     | 0: 0; 10: 3000; 60: 3000
    was converted late    | active   | 14    | 21     | -      | -     | 0: 0; 21: 3000; 60: 3000
    was converted, ended  | canceled | 14    | 14.01  | -      | 50    | 0: 0; 14: 3000; 50: 0
    was converted, paused | paused   | 14    | 14.01  | 20     | -     | 0: 0; 14: 3000; 20: 0
    paid a fee, converted | canceled | 14    | 0      | -      | 50    | 0: 0; 14: 3000; 50: 0
    ended in its trial    | canceled | 14    | -      | -      | 4     | 0: 0; 4: 0
    ended with its trial  | canceled | 14    | -      | -      | 14    | 0: 0; 14: 0
    paid a fee, ended     | canceled | 14    | 0      | -      | 14    | 0: 0; 14: 0
    paused with its trial | paused   | 14    | -      | 14     | -     | 0: 0; 14: 0
  `);
  for (const row of cases) {
    it(`should be read where it ${cell(row, "what")}: ${cell(row, "reported")}`, () => {
      expect(reportedOf(subscriptionOf(row))).to.equal(cell(row, "reported"));
    });
  }

  it("should begin with a trial that only its price has, where it was billed later", () => {
    const trial: SubscriptionInput["items"][number] = {
      price: { ...price, trial_period: { interval: "day", frequency: 14 } },
      quantity: 1,
    };
    const of = { id: "sub_1", customer: "ctm_1", currency: "EUR", status: "active" } as const;
    const given = { ...of, startedAt, items: [trial], periodStartsAt: at(45) };
    const later = subscriptionData({ ...given, firstBilledAt: at(14) });
    expect(reportedOf(later)).to.equal("0: 0; 14: 3000; 60: 3000");
    const atOnce = subscriptionData({ ...given, firstBilledAt: startedAt });
    expect(reportedOf(atOnce)).to.equal("0: 3000; 60: 3000");
    const imported = subscriptionData({ ...given, firstBilledAt: null });
    expect(reportedOf(imported)).to.equal("0: 3000; 60: 3000");
  });

  it("should keep the names of its past, and name each reading of its present", () => {
    const list = listOf("subscriptions");
    const read = (unitAmount: bigint, day: number): string[] => {
      const changed = { ...price, unit_price: { amount: `${unitAmount}`, currency_code: "EUR" } };
      const [goesOn = {}] = cases;
      const items = [{ quantity: 1, status: "active", recurring: true, price: changed }];
      const page = list.read(answer([{ ...subscriptionOf(goesOn), items }]), at(day), anyTime);
      return page?.events.map(({ nativeId }) => nativeId) ?? [];
    };
    const [first, later] = [read(3000n, 60), read(5000n, 61)];
    expect(later.slice(0, -1)).to.deep.equal(first.slice(0, -1));
    expect(later.at(-1)).not.to.equal(first.at(-1));
  });
});

describe("An adjustment in the history of Paddle", () => {
  function reportedOf(adjustment: JsonObject): string {
    const facts = pageOf("adjustments", [adjustment]).events.flatMap(({ body }) =>
      bodiesOf(decode(body)),
    );
    return facts
      .map((body) => {
        if ("Refund" in body) {
          const { at: madeAt, failed_at: failedAt } = body.Refund;
          return `refund ${dayOf(madeAt)}${failedAt === null ? "" : ` failed ${dayOf(failedAt)}`}`;
        }
        if (!("Dispute" in body)) return Object.keys(body).join();
        const { withdrawn_at: out, returned_at: back } = body.Dispute;
        return out === null ? `back ${dayOf(back ?? 0)}` : `out ${dayOf(out)}`;
      })
      .join("; ");
  }

  const cases = rowsOf(`
    action             | status           | changed | reported
    refund             | pending_approval | 0       |
    refund             | approved         | -       | refund 0
    refund             | approved         | 3       | refund 3
    refund             | rejected         | 3       | refund 3 failed 3
    chargeback         | approved         | -       | out 0
    chargeback         | reversed         | 9       | out 0
    chargeback_reverse | approved         | -       | back 0
    chargeback_warning | approved         | -       |
    credit             | approved         | -       |
  `);
  for (const row of cases) {
    const [action, status] = [cell(row, "action"), cell(row, "status")];
    it(`should read a ${action} that is ${status} as: ${cell(row, "reported")}`, () => {
      const adjustment = adjustmentData({
        id: "adj_1",
        transaction: "txn_1",
        customer: "ctm_1",
        currency: "EUR",
        createdAt: startedAt,
        action: oneOf(actions, action),
        status: oneOf(statuses, status),
        total: 500n,
      });
      const changed = cell(row, "changed");
      const updatedAt = changed === "-" ? {} : { updated_at: rfc3339(at(Number(changed))) };
      expect(reportedOf({ ...adjustment, ...updatedAt })).to.equal(cell(row, "reported"));
    });
  }

  const actions: readonly AdjustmentInput["action"][] = [
    "refund",
    "credit",
    "chargeback",
    "chargeback_reverse",
    "chargeback_warning",
  ];
  const statuses: readonly AdjustmentInput["status"][] = [
    "pending_approval",
    "approved",
    "rejected",
    "reversed",
  ];
});

function oneOf<T extends string>(known: readonly T[], text: string): T {
  const found = known.find((one) => one === text);
  if (found === undefined) throw new Error(`unknown: ${text}`);
  return found;
}

describe("A page of the history of Paddle", () => {
  const span = { from: at(10), to: at(50) };

  function transaction(id: string, billedOn: number, paidOn: number): JsonObject {
    const product = { id: "pro_1", name: "Atlas" };
    return transactionData({
      id,
      customer: "ctm_1",
      address: "add_1",
      currency: "EUR",
      createdAt: at(billedOn),
      paidAt: at(paidOn),
      lines: [{ id: `${id}_1`, price, product, subtotal: 3000n }],
    });
  }

  it("should be asked for by the path of the API and the cursor alone", () => {
    const list = listOf("transactions");
    const next = "https://elsewhere.test/transactions?order_by=id[DESC]&after=txn_7";
    const page = list.read(answer([], { has_more: true, next }), at(readOn), span);
    expect(page?.next).to.equal(null); // nothing on it: nothing will follow
    const more = list.read(
      answer([transaction("txn_7", 20, 20)], { has_more: true, next }),
      0,
      anyTime,
    );
    expect(more?.next).to.equal("txn_7");
    const url = new URL(list.path(span, more?.next ?? null), "http://paddle.test");
    expect(url.pathname).to.equal("/transactions");
    expect(Object.fromEntries(url.searchParams)).to.deep.equal({
      order_by: "id[DESC]",
      per_page: "30",
      status: "completed",
      "billed_at[GTE]": new Date(at(10 - 90)).toISOString(),
      "billed_at[LTE]": new Date(at(50)).toISOString(),
      include: "address,adjustments_totals",
      after: "txn_7",
    });
  });

  const noPages: [string, unknown][] = [
    ["has no pagination", { data: [] }],
    ["holds no objects", answer([{ id: "" }])],
    ["has more and no cursor", answer([{ id: "txn_1" }], { has_more: true })],
    ["has a cursor that is none", answer([{ id: "txn_1" }], { has_more: true, next: "more" })],
  ];
  for (const [title, body] of noPages) {
    it(`should be none where the answer ${title}`, () => {
      expect(listOf("transactions").read(body, at(readOn), span)).to.equal(null);
    });
  }

  it("should leave out what was paid before, and say what was paid and refunded", () => {
    const refunded = {
      ...transaction("txn_3", 12, 13),
      address: { country_code: "DE" },
      adjustments_totals: { breakdown: { credit: "0", refund: "700", chargeback: "100" } },
    };
    const rows = [refunded, transaction("txn_2", 5, 12), transaction("txn_1", 5, 9)];
    const page = pageOf("transactions", rows, span);
    expect(page.objects).to.equal(3);
    const shared = { currency: "EUR", amount: 3000n, fee: 150n, tax: 0n };
    expect(page.payments).to.deep.equal([
      { payment: "txn_3", at: at(13), refunded: 700n, ...shared },
      { payment: "txn_2", at: at(12), refunded: 0n, ...shared },
    ]);
    expect(page.events).to.have.lengthOf(2);
    expect(page.through).to.deep.equal({ from: at(5), to: at(50) });
    const [first] = page.events.flatMap(({ body }) => bodiesOf(decode(body)));
    expect(first).to.have.nested.property("Payment.country", "DE");
  });

  it("should end a list that takes no dates at the first that is older", () => {
    const list = listOf("adjustments");
    const adjustment = (id: string, day: number): JsonObject =>
      adjustmentData({
        id,
        transaction: "txn_1",
        customer: "ctm_1",
        currency: "EUR",
        createdAt: at(day),
        action: "refund",
        status: "approved",
        total: 100n,
      });
    const more = { has_more: true, next: "https://api.paddle.com/adjustments?after=adj_1" };
    const within = list.read(answer([adjustment("adj_2", 12)], more), at(readOn), span);
    expect(within?.next).to.equal("adj_1");
    const both = answer([adjustment("adj_2", 12), adjustment("adj_1", 9)], more);
    const last = list.read(both, at(readOn), span);
    expect(last?.next).to.equal(null);
    expect(last?.events).to.have.lengthOf(1);
  });

  it("should name the same state by the same id, whenever it is read", () => {
    const list = listOf("transactions");
    const known = transaction("txn_1", 20, 20);
    const named = (object: JsonObject, asOf: number) =>
      list.read(answer([object]), asOf, anyTime)?.events.map(({ nativeId }) => nativeId);
    const link = { checkout: { url: "https://new.test" }, updated_at: rfc3339(at(40)) };
    expect(named({ ...known, ...link }, at(61))).to.deep.equal(named(known, at(60)));
    expect(named({ ...known, customer_id: "ctm_2" }, at(60))).not.to.deep.equal(
      named(known, at(60)),
    );
  });
});
