/** Reading Gumroad's history, from a real HTTP server that lists it as Gumroad does. */
import { expect } from "chai";
import { membershipPing, salePing } from "../../ops/payloads/gumroad.js";
import {
  type ListedInput,
  listedSale,
  pathOfSubscriber,
  subscriberAnswer,
} from "../payloads/gumroad-answers.js";
import { createGumroad } from "../../providers/gumroad/index.js";
import { dayMs, midnight } from "../harness/days.js";
import { expectAgreement, reconciled } from "../harness/histories.js";
import { HistorySuite } from "../harness/history-suite.js";

const gumroad = createGumroad();
const seller = { seller_id: "c2VsbGVyLW9mLWhpc3Rvcnk=" };
/** Few weeks are few calls. */
const from = midnight(50);
const onDay = (day: number): number => from + day * dayMs;
const dayText = (day: number): string => new Date(onDay(day)).toISOString().slice(0, 10);
const moments = [10, 25, 40].map((day) => new Date(onDay(day)).toISOString());

const product = { product: "prd-history==", productName: "Brush Pack", soldIn: "usd" } as const;
const club = {
  product: "prd-history-club==",
  productName: "Brush Club",
  recurrence: "monthly",
} as const;
function once(number: number, more: Partial<ListedInput> = {}): ListedInput {
  return { ...product, sale: `h${number}==`, at: onDay(number / 2), cents: 1249n, ...more };
}
function charge(member: string, day: number, more: Partial<ListedInput> = {}): ListedInput {
  const named = { sale: `${member}-${day}==`, subscription: `${member}==`, purchaser: member };
  return { ...club, ...named, at: onDay(day), cents: 1000n, recurring: false, ...more };
}
/** "Mar 8, 2026" */
const trialEndsOn = new Date(onDay(19)).toLocaleDateString("en-US", {
  timeZone: "UTC",
  year: "numeric",
  month: "short",
  day: "numeric",
});

const sales: ListedInput[] = [
  ...Array.from({ length: 12 }, (_, number) => once(number)),
  once(30, { refunded: true }),
  once(31, { partiallyRefunded: true, refundable: "8.49" }),
  once(32, { disputed: true }),
  charge("stays", 3),
  charge("stays", 33, { recurring: true }),
  charge("ended", 4, { dead: true }),
  charge("tried", 5, { trialEndsOn }),
  charge("tried", 19, { trialEndsOn, recurring: true }),
];
/** Its ping is about the receiver's copy. */
const given = once(33, { given: true });
const old = once(-10);

/** Pings of all that, as Gumroad has sent them. */
const pings: Buffer[] = [
  ...sales.flatMap((sale) => [
    salePing("sale", { ...sale, more: {} }),
    ...(sale.refunded ? [salePing("refund", { ...sale, more: { refunded: true } })] : []),
    ...(sale.partiallyRefunded ? [salePing("refund", sale)] : []),
    ...(sale.disputed ? [salePing("dispute", sale)] : []),
  ]),
  membershipPing(
    { ...club, subscription: "ended==", user: "ended", createdAt: onDay(4) },
    // When Gumroad has noticed that it is over.
    { resource: "subscription_ended", endedAt: onDay(34) + 40_000 },
  ),
];

describe("A backfill of Gumroad", function () {
  this.timeout(120_000);
  const suite = new HistorySuite({
    provider: "gumroad",
    from: dayText(0),
    api: ({ gumroadApi }) => gumroadApi,
    credentials: ({ gumroadApi }) => ({ ...seller, access_token: gumroadApi.accessToken }),
    prepare({ gumroadApi: api }) {
      for (const sale of sales) api.report(sale);
      api.listed.push(...[old, given, ...sales].map(listedSale));
      const end = subscriberAnswer("ended==", { cancelledAt: onDay(34) });
      api.subscribers.set(pathOfSubscriber("ended=="), end);
    },
    reported: () => pings,
    sign: (ping) => gumroad.sign(ping, seller, Date.now()),
    moments,
  });
  after(() => {
    suite.endpoints.gumroadApi.listed.length = 0;
  });

  it("should read all, though its API fails now and then, and find it as listed", async () => {
    const { gumroadApi: api } = suite.endpoints;
    const called = api.calls.length;
    const done = await suite.readThroughFailures(4);
    expect(done.counts).to.deep.equal({ sales: sales.length + 1 });
    const listed = done.comparison.map((month) => month.listed);
    expect(sumOf(listed, "count")).to.equal(sales.length - 1);
    expect(sumOf(listed, "refunded")).to.be.closeTo(12.49 + 4, 0.001);
    expect(done.comparison.every(({ same }) => same)).to.equal(true);
    // The list has whole sales: none is looked up.
    const looked = api.calls.slice(called).filter((path) => path.startsWith("/v2/sales/"));
    expect(looked).to.deep.equal([]);
  });

  suite.itComesToTheSame();

  it("should have something to compare with", () => {
    expect(suite.alone.transactions).to.have.lengthOf(sales.length - 1);
    const [early = 0, middle = 0, late = 0] = suite.alone.mrr;
    // Two members, then one more, then one less.
    expect(middle / early).to.be.within(1.4, 1.6);
    expect(late / middle).to.be.within(0.6, 0.7);
  });

  it("should agree with its list to the cent, month by month", async () => {
    const months = { from: dayText(0).slice(0, 7) };
    const agreed = await reconciled(suite.endpoints, suite.integration, months);
    // Of the first month, a part was not read: what is old is listed, too.
    const [, ...later] = agreed.months;
    expectAgreement({ ...agreed, months: later, score_pct: 100 });
    const all = agreed.months.flatMap(({ report }) => report?.currencies ?? []);
    expect(all.reduce((count, { booked }) => count + booked.count, 0)).to.equal(sales.length - 1);
    const differing = agreed.months.flatMap(({ report }) => report?.differences ?? []);
    expect(differing.every(({ reason }) => reason === "before_connection")).to.equal(true);
  });

  suite.itFetchesWhatIsMissing({ from: dayText(0).slice(0, 7), to: dayText(45).slice(0, 7) });

  suite.itChangesNothing([1, 2, 3]);

  suite.itReportsADifference({
    isRead: ({ pathname, searchParams }) =>
      pathname === "/v2/sales" && searchParams.get("after") === dayText(0),
    readings: 3,
    change() {
      const { listed } = suite.endpoints.gumroadApi;
      listed.push(listedSale(once(60, { sale: "late==", cents: 900n })));
      return () => void listed.pop();
    },
  });

  function sumOf(all: readonly { count: number; refunded: number }[], field: "count" | "refunded") {
    return all.reduce((sum, one) => sum + one[field], 0);
  }
});
