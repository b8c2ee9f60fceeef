/** What Lemon Squeezy's lists reveal about the past. */
import { expect } from "chai";
import { isoTime, type LemonObject, orderObject } from "../../ops/payloads/lemonsqueezy.js";
import {
  answerOf,
  invoiceObject,
  listAnswer,
  priceAttributes,
  type SubscriptionInput,
  subscriptionObject,
} from "../payloads/lemonsqueezy.js";
import { written } from "../apis/lemonsqueezy-api.js";
import type { HistoryPage } from "../../providers/backfill.js";
import { decode } from "../../providers/lemonsqueezy/decode.js";
import { heading } from "../../providers/lemonsqueezy/event.js";
import { lemonSqueezyBackfill } from "../../providers/lemonsqueezy/history/backfill.js";
import { dayMs } from "../harness/days.js";
import { bodiesOf, worthByDay } from "../harness/decoded.js";
import { cell, type Row, rowsOf } from "../model/tables/table.js";

const createdAt = Date.UTC(2026, 0, 1);
const onDay = (day: number): number => createdAt + day * dayMs;
const span = { from: createdAt, to: onDay(100) };

/** A subscription of 9.90 a month; its order is the first there is. */
const known = {
  kept: new Map(),
  answers: new Map<string, unknown>([
    ["/v1/stores/1", answerOf("stores", 1, { currency: "USD" })],
    ["/v1/prices/4", answerOf("prices", 4, priceAttributes({ unitPrice: 990n }))],
    ["/v1/orders/1", answerOf("orders", 1, {})],
    ["/v1/discount-redemptions?filter[order_id]=1&page[size]=100", listAnswer("redemptions", [])],
  ]),
};

function readPage(
  name: string,
  data: readonly LemonObject[],
  {
    included = [],
    number = 1,
    last = 1,
  }: { included?: LemonObject[]; number?: number; last?: number },
): HistoryPage {
  const list = lemonSqueezyBackfill.lists.find((one) => one.name === name);
  const answer = {
    meta: { page: { currentPage: number, lastPage: last } },
    data: data.map(written),
    ...(included.length > 0 && { included: included.map(written) }),
  };
  const page = list?.read(answer, onDay(100), span, `${number}`);
  if (!page) throw new Error(`no page of ${name}`);
  return page;
}

const statuses: Readonly<Record<string, SubscriptionInput["status"]>> = {
  on_trial: "on_trial",
  active: "active",
  paused: "paused",
  past_due: "past_due",
  unpaid: "unpaid",
  cancelled: "cancelled",
  expired: "expired",
};

const dayIn = (row: Row, name: string): number | null =>
  cell(row, name) === "-" ? null : onDay(Number(cell(row, name)));

function pageOf(row: Row): HistoryPage {
  const status = statuses[cell(row, "status")];
  if (status === undefined) throw new Error(`no status ${cell(row, "status")}`);
  const [charged = 0n, setupFee = 0n] = cell(row, "order").split("+").map(BigInt);
  const total = charged + setupFee;
  const order = { id: 1, customer: 7, currency: "USD", product: 3, createdAt } as const;
  const paidAt = dayIn(row, "paid");
  const subscription = subscriptionObject({
    id: 9,
    customer: 7,
    order: 1,
    product: 3,
    price: 4,
    item: 5,
    status,
    createdAt,
    updatedAt: dayIn(row, "now") ?? createdAt,
    trialEndsAt: dayIn(row, "trial"),
    endsAt: dayIn(row, "ends"),
    ...(status === "paused" && { pause: "void" }),
  });
  const invoice = { customer: 7, subscription: 9, currency: "USD" } as const;
  const included = [
    orderObject({ ...order, total, setupFee }),
    invoiceObject({ ...invoice, id: 1, reason: "initial", total, createdAt }),
    ...(paidAt === null
      ? []
      : [
          invoiceObject({
            ...invoice,
            id: 3,
            reason: "renewal",
            total: 990n,
            createdAt: paidAt + dayMs,
          }),
          invoiceObject({ ...invoice, id: 2, reason: "renewal", total: 990n, createdAt: paidAt }),
        ]),
  ];
  return readPage("subscriptions", [subscription], { included });
}

describe("A subscription in the history of Lemon Squeezy", () => {
  // Days; cents that its order charged, for it + to set it up; when its next invoice was paid.
  const cases = rowsOf(`
    what                   | status    | now | order | trial | paid | ends | reported
    was paid at once       | active    | 60  | 990   | -     | 30   | -    | 0: 990; 60: 990
    is cancelled           | cancelled | 60  | 990   | -     | 30   | 90   | 0: 990; 60: 990
    is past due            | past_due  | 60  | 990   | -     | 30   | -    | 0: 990; 60: 990
    is unpaid              | unpaid    | 60  | 990   | -     | 30   | -    | 0: 990; 60: 0
    is paused              | paused    | 60  | 990   | -     | 30   | -    | 0: 990; 60: 0
    has ended              | expired   | 60  | 990   | -     | 30   | 60   | 0: 990; 60: 0
    changed after its end  | expired   | 80  | 990   | -     | 30   | 60   | 0: 990; 60: 0
    is in its trial        | on_trial  | 0   | 0     | 14    | -    | -    | 0: 0
    left its trial         | cancelled | 5   | 0     | -     | -    | 14   | 0: 0
    ended with its trial   | expired   | 14  | 0     | -     | -    | 14   | 0: 0; 14: 0
    paid after its trial   | active    | 60  | 0     | -     | 14   | -    | 0: 0; 14: 990; 60: 990
    says it had a trial    | active    | 60  | 0     | 14    | 14   | -    | 0: 0; 14: 990; 60: 990
    ended after both       | expired   | 60  | 0     | -     | 14   | 60   | 0: 0; 14: 990; 60: 0
    did not pay after it   | past_due  | 14  | 0     | -     | -    | -    | 0: 0; 14: 990
    was set up for a fee   | active    | 14  | 0+500 | -     | -    | -    | 0: 0; 14: 990
  `);
  for (const row of cases) {
    it(`should be read where it ${cell(row, "what")}: ${cell(row, "reported")}`, () => {
      const decoded = pageOf(row).events.map(({ body }) => decode(body, known));
      expect(worthByDay(decoded, createdAt)).to.equal(cell(row, "reported"));
    });
  }

  const [first] = cases;
  const subscription: Row = { ...first };

  it("should be the same events when nothing changed, and others of what did", () => {
    const idsOf = (row: Row): string[] => pageOf(row).events.map(({ nativeId }) => nativeId);
    const [begun, now] = idsOf(subscription);
    expect(idsOf(subscription)).to.deep.equal([begun, now]);
    const [stillBegun, later] = idsOf({ ...subscription, now: "61" });
    expect(stillBegun).to.equal(begun);
    expect(later).not.to.equal(now);
  });
});

describe("Money in the history of Lemon Squeezy", () => {
  const order = (id: number, day: number, more = {}): LemonObject =>
    orderObject({
      id,
      customer: 7,
      currency: "EUR",
      total: 1000n,
      product: 3,
      createdAt: onDay(day),
      ...more,
    });

  it("should be that of the span, read until it is past", () => {
    const inside = readPage("orders", [order(3, 20), order(2, 10)], { number: 1, last: 9 });
    expect(inside).to.include({ objects: 2, next: "2" });
    const past = readPage("orders", [order(2, 0), order(1, -1)], { number: 2, last: 9 });
    expect(past).to.include({ objects: 1, next: null });
    expect(past.payments.map(({ payment }) => payment)).to.deep.equal(["order:2"]);
    expect(readPage("orders", [order(1, 5)], {})).to.include({ next: null });
  });

  it("should be refunded when it was, whatever changed since", () => {
    const refund = { refundedAmount: 400n, updatedAt: onDay(30) };
    const object = order(1, 10, refund);
    const attributes = { ...object.attributes, refunded_at: isoTime(onDay(20)) };
    const { events, payments } = readPage("orders", [{ ...object, attributes }], {});
    const totals = events
      .flatMap(({ body }) => bodiesOf(decode(body)))
      .flatMap((body) => ("RefundTotal" in body ? [body.RefundTotal] : []));
    expect(totals).to.have.lengthOf(1);
    expect(totals[0]).to.include({ at: onDay(20), amount: 400n, currency: "EUR" });
    expect(payments).to.deep.equal([
      {
        payment: "order:1",
        at: onDay(10),
        currency: "EUR",
        amount: 1000n,
        refunded: 400n,
        tax: 0n,
      },
    ]);
  });

  it("should be compared once where an order and an invoice report it", () => {
    const invoice = (id: number, reason: "initial" | "renewal"): LemonObject =>
      invoiceObject({
        id,
        reason,
        subscription: 9,
        customer: 7,
        currency: "EUR",
        total: 1000n,
        createdAt: onDay(id),
      });
    const objects = [invoice(2, "renewal"), invoice(1, "initial")];
    const { events, payments } = readPage("subscription_invoices", objects, {});
    expect(events).to.have.lengthOf(2);
    expect(payments.map(({ payment }) => payment)).to.deep.equal(["invoice:2"]);
  });

  it("should say whether it is of the sandbox, as the object does", () => {
    const object = order(1, 5);
    const tried = { ...object, attributes: { ...object.attributes, test_mode: true } };
    const [event] = readPage("orders", [tried], {}).events;
    expect(heading(event?.body)?.sandbox).to.equal(true);
  });

  it("should not be what nobody paid", () => {
    const unpaid = order(1, 5, { status: "pending" });
    expect(readPage("orders", [unpaid], {}).payments).to.deep.equal([]);
  });

  it("should be asked for page by page, of one store where it is named", () => {
    const paths = lemonSqueezyBackfill.lists.map((list) => [
      list.path(span, null, {}),
      list.path(span, "3", { store_id: "17" }),
    ]);
    const asked = paths.flat().map((path) => decodeURIComponent(path));
    const subscriptions = "/v1/subscriptions?page[number]";
    const included = "include=order,subscription-invoices";
    expect(asked).to.deep.equal([
      "/v1/orders?page[number]=1&page[size]=100",
      "/v1/orders?page[number]=3&page[size]=100&filter[store_id]=17",
      `${subscriptions}=1&page[size]=25&${included}`,
      `${subscriptions}=3&page[size]=25&filter[store_id]=17&${included}`,
      "/v1/subscription-invoices?page[number]=1&page[size]=100",
      "/v1/subscription-invoices?page[number]=3&page[size]=100&filter[store_id]=17",
    ]);
  });

  it("should be no page where the answer is none", () => {
    for (const list of lemonSqueezyBackfill.lists) {
      expect(list.read({ data: [] }, createdAt, span, null)).to.equal(null);
    }
  });
});
