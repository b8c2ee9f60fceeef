/** Reading Gumroad's history, from a real HTTP server that lists it as Gumroad does. */
import { expect } from "chai";
import {
  type ListedInput,
  listedSale,
  membershipPing,
  pathOfSubscriber,
  salePing,
  subscriberAnswer,
} from "../../ops/payloads/gumroad.js";
import { createGumroad } from "../../providers/gumroad/index.js";
import { send } from "../apis/stripe-api.js";
import { dayMs, midnight } from "../harness/days.js";
import { type Endpoints, openEndpoints, suiteEndpoints } from "../harness/endpoints.js";
import {
  backfilled,
  backfilledBetween,
  expectAgreement,
  figuresOf,
  monthsOf,
  reconciled,
} from "../harness/histories.js";

const gumroad = createGumroad();
const seller = { seller_id: "c2VsbGVyLW9mLWhpc3Rvcnk=" };
/** Of orders in which webhooks come. */
const seeds = [1, 2, 3];
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

describe("A backfill of Gumroad", function suite() {
  this.timeout(120_000);
  const endpoints = suiteEndpoints();
  let integration: string;
  let alone: Awaited<ReturnType<typeof figuresOf>>;

  before(async () => {
    const { gumroadApi: api } = endpoints;
    for (const sale of sales) api.report(sale);
    api.listed.push(...[old, given, ...sales].map(listedSale));
    const end = subscriberAnswer("ended==", { cancelledAt: onDay(34) });
    api.subscribers.set(pathOfSubscriber("ended=="), end);
    const webhooks = await openEndpoints({ hasStripe: false });
    await deliver(webhooks, (await connect(webhooks)).webhook, pings);
    alone = await figuresOf(webhooks, moments);
    integration = (await connect(endpoints)).integration;
  });
  afterEach(() => {
    endpoints.gumroadApi.misbehave = null;
  });
  after(() => {
    endpoints.gumroadApi.listed.length = 0;
  });

  it("should read all, though its API fails now and then, and find it as listed", async () => {
    const { gumroadApi: api } = endpoints;
    const called = api.calls.length;
    let calls = 0;
    api.misbehave = (_request, response) => {
      calls += 1;
      if (calls % 4 !== 0) return false;
      if (calls % 12 === 0) response.destroy();
      else if (calls % 8 === 0) send(response, 500, {});
      else send(response, 429, {}, { "retry-after": "0" });
      return true;
    };
    const done = await backfilled(endpoints, integration, dayText(0));
    expect(done, done.problem ?? "").to.include({ state: "done", problem: null });
    expect(done.counts).to.deep.equal({ sales: sales.length + 1 });
    const listed = done.comparison.map((month) => month.listed);
    expect(sumOf(listed, "count")).to.equal(sales.length - 1);
    expect(sumOf(listed, "refunded")).to.be.closeTo(12.49 + 4, 0.001);
    expect(done.comparison.every(({ same }) => same)).to.equal(true);
    // The list has whole sales: none is looked up.
    const looked = api.calls.slice(called).filter((path) => path.startsWith("/v2/sales/"));
    expect(looked).to.deep.equal([]);
  });

  it("should come to the figures that webhooks alone come to", async () => {
    expect(await figuresOf(endpoints, moments)).to.deep.equal(alone);
    expect(alone.transactions).to.have.lengthOf(sales.length - 1);
    const [early = 0, middle = 0, late = 0] = alone.mrr;
    // Two members, then one more, then one less.
    expect(middle / early).to.be.within(1.4, 1.6);
    expect(late / middle).to.be.within(0.6, 0.7);
  });

  it("should agree with its list to the cent, month by month", async () => {
    const agreed = await reconciled(endpoints, integration, { from: dayText(0).slice(0, 7) });
    // Of the first month, a part was not read: what is old is listed, too.
    const [, ...later] = agreed.months;
    expectAgreement({ ...agreed, months: later, score_pct: 100 });
    const all = agreed.months.flatMap(({ report }) => report?.currencies ?? []);
    expect(all.reduce((count, { booked }) => count + booked.count, 0)).to.equal(sales.length - 1);
    const differing = agreed.months.flatMap(({ report }) => report?.differences ?? []);
    expect(differing.every(({ reason }) => reason === "before_connection")).to.equal(true);
  });

  it("should change nothing when it reads again, or webhooks report the same", async () => {
    await Promise.all(seeds.map((seed) => overlap(seed)));
  });

  async function overlap(seed: number): Promise<void> {
    const both = await openEndpoints({ hasStripe: false });
    const { integration: id, webhook } = await connect(both);
    await backfilledBetween(both, {
      id,
      from: dayText(0),
      reported: pings,
      seed,
      deliver: (some) => deliver(both, webhook, some),
    });
    expect(await figuresOf(both, moments), `seed ${seed}`).to.deep.equal(alone);
  }

  it("should report a difference, and not call it done", async () => {
    const { gumroadApi: api } = endpoints;
    const late = once(60, { sale: "late==", cents: 900n });
    let reads = 0;
    api.misbehave = (request) => {
      // It appears between the reading and the comparison.
      if (request.url?.startsWith(`/v2/sales?after=${dayText(0)}&`) !== true) return false;
      reads += 1;
      if (reads === 3) api.listed.push(listedSale(late));
      return false;
    };
    const different = await backfilled(endpoints, integration, dayText(0));
    api.listed.pop();
    expect(different).to.include({ state: "different" });
    expect(monthsOf(different).filter((month) => month.endsWith("other"))).to.have.lengthOf(1);
  });

  function sumOf(all: readonly { count: number; refunded: number }[], field: "count" | "refunded") {
    return all.reduce((sum, one) => sum + one[field], 0);
  }

  async function connect(to: Endpoints) {
    const { accessToken: access_token } = endpoints.gumroadApi;
    const made = await to.integrate("gumroad", { ...seller, access_token });
    return { integration: made.id, webhook: made.webhook_path };
  }

  async function deliver(to: Endpoints, webhook: string, all: readonly Buffer[]) {
    for (const ping of all) {
      const answer = await to.post(webhook, gumroad.sign(ping, seller, Date.now()));
      expect(answer.status, answer.text).to.equal(200);
    }
  }
});
