/** Reading Google Play's history, from a real HTTP server that answers as Google does. */
import { expect } from "chai";
import {
  type JsonObject,
  oneTimeProductNotification,
  orderAnswer,
  type OrderInput,
  productPurchase,
  type PurchaseInput,
  pushBody,
  pushBytes,
  subscriptionNotification,
  subscriptionProduct,
  subscriptionPurchase,
  voidedPurchaseNotification,
} from "../../ops/payloads/google.js";
import { createGoogle } from "../../providers/google/index.js";
import {
  oneTimeProductPath,
  productPath,
  subscriptionPath,
  subscriptionProductPath,
} from "../../providers/google/paths.js";
import { credentialsOf, makeSigner, packageName } from "../apis/google-signer.js";
import { send } from "../apis/stripe-api.js";
import { dayMs, midnight } from "../harness/days.js";
import { type Endpoints, openEndpoints, suiteEndpoints } from "../harness/endpoints.js";
import { backfilled, backfilledBetween, figuresOf, monthsOf } from "../harness/histories.js";
import { until } from "../harness/promises.js";

const google = createGoogle();
const signer = makeSigner("of-the-history");
/** Of orders in which webhooks come. */
const seeds = [1, 2];
const from = midnight(160);
const onDay = (day: number): number => from + day * dayMs;
const dayText = (day: number): string => new Date(onDay(day)).toISOString().slice(0, 10);
const moments = [5, 40, 70, 95, 125, 155].map((day) => new Date(onDay(day)).toISOString());
const weeks = { product: "history.weekly", basePlan: "w" } as const;
const coins = "history.coins.play";
const uploaded = ["h-stays", "h-ended", "h-old", "h-new", "h-back", "h-paused", "h-coins"];

type Push = readonly [notification: JsonObject, at: number];

describe("A backfill of Google Play", function suite() {
  this.timeout(200_000);
  const endpoints = suiteEndpoints();
  let integration: string;
  let alone: Awaited<ReturnType<typeof figuresOf>>;
  const pushes: Push[] = [];

  before(async () => {
    emitWorld();
    const webhooks = await openEndpoints({ hasStripe: false });
    await deliver(webhooks, (await connect(webhooks)).webhook, pushes);
    alone = await figures(webhooks);
    integration = (await connect(endpoints)).integration;
  });
  afterEach(() => {
    endpoints.play.misbehave = null;
    endpoints.play.voided.length = 0;
  });

  /** As Google answers in the end, and what it pushed on the way there. */
  function emitWorld(): void {
    const title = "History Weekly";
    const basePlans = { w: "P1W" };
    const product = { packageName, product: weeks.product, title, basePlans };
    const path = subscriptionProductPath(packageName, weeks.product);
    endpoints.play.answers.set(path, subscriptionProduct(product));
    const named = { listings: [{ languageCode: "en-US", title: "History Coins" }] };
    endpoints.play.answers.set(oneTimeProductPath(packageName, coins), named);

    // One of its weeks was never charged: there is no such order.
    subscribe("h-stays", onDay(1), 20, { without: 7 });
    const ended = subscribe("h-ended", onDay(90), 5, { state: "EXPIRED" });
    pushes.push([subscriptionNotification(13, "h-ended"), ended + 60_000]);
    // Replaced by another purchase.
    const replacedAt = subscribe("h-old", onDay(100), 2, { state: "EXPIRED", isReplaced: true });
    subscribe("h-new", replacedAt, 4, { replaces: "h-old" });
    // Its second week was charged back, its third returned.
    subscribe("h-back", onDay(120), 5, {
      refunds: new Map([
        [1, { at: onDay(135), isChargeback: true }],
        [2, { at: onDay(140) }],
      ]),
    });
    voids("h-back", "GPA.h-back..0", onDay(135), true);
    voids("h-back", "GPA.h-back..1", onDay(140), true);
    const paused = subscribe("h-paused", onDay(110), 3, { state: "PAUSED" });
    pushes.push([subscriptionNotification(10, "h-paused"), paused]);

    const purchase = { product: coins, order: "GPA.h-coins", country: "FR", at: onDay(137) };
    const answer = productPurchase(purchase);
    endpoints.play.answers.set(productPath(packageName, "h-coins"), answer);
    const line = { product: coins, title: "?", listingPrice: 500n, total: 500n, tax: 0n };
    const bought = { id: "GPA.h-coins", token: "h-coins", createdAt: onDay(137), currency: "EUR" };
    const refund = { at: onDay(141) };
    const order = orderAnswer({ ...bought, state: "REFUNDED", refund, lines: [line] });
    endpoints.play.orders.set(bought.id, order);
    pushes.push([oneTimeProductNotification(1, "h-coins", coins), onDay(137) + 1000]);
    voids("h-coins", "GPA.h-coins", onDay(141), false);
  }

  function voids(token: string, orderId: string, at: number, isSubscription: boolean): void {
    const voided = { purchaseToken: token, orderId, isSubscription };
    pushes.push([voidedPurchaseNotification(voided), at + 60_000]);
  }

  function listVoided(): void {
    for (const [token, orderId, at] of [
      ["h-back", "GPA.h-back..0", onDay(135)],
      ["h-back", "GPA.h-back..1", onDay(140)],
      ["h-coins", "GPA.h-coins", onDay(141)],
    ] as const) {
      const times = { purchaseTimeMillis: `${onDay(120)}`, voidedTimeMillis: `${at + 1000}` };
      const named = { purchaseToken: token, orderId, voidedSource: 0, voidedReason: 0 };
      endpoints.play.voided.push({ kind: "androidpublisher#voidedPurchase", ...named, ...times });
    }
  }

  /** Bought and renewed, a week each. @returns when the last one ends */
  function subscribe(
    token: string,
    startAt: number,
    periods: number,
    more: Partial<PurchaseInput> & {
      readonly without?: number;
      readonly refunds?: ReadonlyMap<number, NonNullable<OrderInput["refund"]>>;
    } = {},
  ): number {
    const { without = null, refunds, ...purchase } = more;
    const base = `GPA.${token}`;
    const idOf = (period: number) => (period === 0 ? base : `${base}..${period - 1}`);
    for (let period = 0; period < periods; period += 1) {
      if (period === without) continue;
      const at = startAt + period * 7 * dayMs;
      const dates = { from: at, until: at + 7 * dayMs };
      const line = {
        product: weeks.product,
        title: "?",
        listingPrice: 700n,
        total: 700n,
        tax: 100n,
        period: { basePlan: weeks.basePlan, ...dates, phase: "base" as const },
      };
      const refund = refunds?.get(period);
      const order = { id: idOf(period), token, createdAt: at, currency: "EUR", lines: [line] };
      const state = refund === undefined ? {} : { refund, state: "REFUNDED" as const };
      endpoints.play.orders.set(order.id, orderAnswer({ ...order, ...state }));
      const type = period === 0 ? 4 : 2;
      pushes.push([subscriptionNotification(type, token), at + 2000]);
    }
    const expiresAt = startAt + periods * 7 * dayMs;
    const item = { ...weeks, expiresAt, latestOrder: idOf(periods - 1) };
    const answer = { state: "ACTIVE" as const, country: "DE", startAt, items: [item] };
    const path = subscriptionPath(packageName, token);
    endpoints.play.answers.set(path, subscriptionPurchase({ ...answer, ...purchase }));
    return expiresAt;
  }

  it("should have something to compare with", () => {
    expect(alone.transactions).to.have.lengthOf(19 + 5 + 2 + 4 + 5 + 3 + 1);
    expect(new Set(alone.mrr).size).to.be.above(3);
    expect(alone.products.join("\n")).to.match(/History Weekly.*History Coins/s);
  });

  it("should read all of purchases that are named, though the API fails now and then", async () => {
    let asked = 0;
    endpoints.play.misbehave = (_request, response) => {
      asked += 1;
      if (asked % 5 !== 0) return false;
      if (asked % 15 === 0) response.destroy();
      else if (asked % 10 === 0) send(response, 503, {});
      else send(response, 429, {}, { "retry-after": "0" });
      return true;
    };
    const done = await backfilled(endpoints, integration, dayText(0), [...uploaded, "none"]);
    expect(done, done.problem ?? "").to.include({ state: "done", problem: null });
    expect(done.counts).to.deep.equal({
      voided_purchases: 0,
      subscriptions: 6,
      one_time_purchases: 1,
    });
    const listed = done.comparison.map((month) => month.listed);
    expect(listed.reduce((sum, { count }) => sum + count, 0)).to.equal(alone.transactions.length);
    // The chargeback is a dispute.
    expect(listed.reduce((sum, { refunded }) => sum + refunded, 0)).to.equal(7 + 5);
    expect(done.missing.join()).to.include("lists no customers");
  });

  it("should come to the figures that webhooks alone come to", async () => {
    expect(await figures(endpoints)).to.deep.equal(alone);
    expect(await endpoints.rejects()).to.deep.equal([]);
  });

  it("should read what was voided, of purchases nobody named, and ask about them", async () => {
    const other = await openEndpoints({ hasStripe: false });
    const { integration: id } = await connect(other);
    listVoided();
    const done = await backfilled(other, id, dayText(0));
    expect(done, done.problem ?? "").to.include({ state: "done" });
    expect(done.counts).to.include({ voided_purchases: 3, subscriptions: 1 });
    const { transactions } = await figures(other);
    const own = alone.transactions.filter((row) =>
      transactions.some((one) => one.split(" ")[0] === row.split(" ")[0]),
    );
    expect(transactions).to.have.lengthOf(6);
    expect(transactions.filter((row) => row.includes("refunded"))).to.have.lengthOf(2);
    expect(own).to.include.members(transactions.filter((row) => row.includes("Weekly")));
    // It is not known to have read any month in whole.
    const path = `${other.path}/integrations/${id}/coverage`;
    const months: { known_by: string }[] = (await other.manage("GET", path)).json.data.months;
    expect(months.map(({ known_by: by }) => by)).not.to.include("api");
  });

  for (const seed of seeds) {
    it(`should change nothing when it reads again, or webhooks overlap (${seed})`, async () => {
      const both = await openEndpoints({ hasStripe: false });
      const { integration: id, webhook } = await connect(both);
      listVoided();
      await backfilledBetween(both, {
        id,
        from: dayText(0),
        ids: uploaded,
        reported: pushes,
        seed,
        deliver: (some) => deliver(both, webhook, some),
      });
      expect(await figures(both), `seed ${seed}`).to.deep.equal(alone);
    });
  }

  it("should report a difference, and not call it done", async () => {
    const path = subscriptionPath(packageName, "h-stays");
    let reads = 0;
    const kept = endpoints.play.orders.get("GPA.h-stays..18");
    endpoints.play.misbehave = (request) => {
      if (request.url !== path) return false;
      reads += 1;
      // The event of the reading before has its answers: it is read once more, and compared.
      if (reads === 2) {
        const changed = JSON.stringify(kept).replaceAll('"units":"7"', '"units":"8"');
        endpoints.play.orders.set("GPA.h-stays..18", JSON.parse(changed));
      }
      return false;
    };
    const different = await backfilled(endpoints, integration, dayText(0), uploaded);
    if (kept !== undefined) endpoints.play.orders.set("GPA.h-stays..18", kept);
    expect(different).to.include({ state: "different" });
    expect(monthsOf(different).filter((month) => month.endsWith("other"))).to.have.lengthOf(1);
  });

  /** Names are optional: they follow what is booked. */
  async function figures(of: Endpoints): ReturnType<typeof figuresOf> {
    let found = await figuresOf(of, moments);
    await until(async () => {
      found = await figuresOf(of, moments);
      return found.products.every((row) => row.startsWith("History "));
    });
    return found;
  }

  async function connect(to: Endpoints) {
    const made = await to.integrate("google", {
      ...credentialsOf(signer),
      service_account_key: endpoints.play.serviceAccountKey,
    });
    return { integration: made.id, webhook: made.webhook_path };
  }

  async function deliver(to: Endpoints, webhook: string, all: readonly Push[]) {
    for (const [notification, at] of all) {
      const messageId = `${at}${JSON.stringify(notification)}`;
      const body = pushBytes(pushBody({ messageId, packageName, at, notification }));
      const answer = await to.post(webhook, google.sign(body, signer, Date.now()));
      expect(answer.status, answer.text).to.equal(200);
    }
  }
});
