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
} from "../payloads/google.js";
import { createGoogle } from "../../providers/google/index.js";
import {
  oneTimeProductPath,
  productPath,
  subscriptionPath,
  subscriptionProductPath,
} from "../../providers/google/paths.js";
import { credentialsOf, makeSigner, packageName } from "../apis/google-signer.js";
import { dayMs, midnight } from "../harness/days.js";
import { backfilled, coverageOf } from "../harness/histories.js";
import { HistorySuite } from "../harness/history-suite.js";

const google = createGoogle();
const signer = makeSigner("of-the-history");
const from = midnight(160);
const onDay = (day: number): number => from + day * dayMs;
const dayText = (day: number): string => new Date(onDay(day)).toISOString().slice(0, 10);
const moments = [5, 40, 70, 95, 125, 155].map((day) => new Date(onDay(day)).toISOString());
const weeks = { product: "history.weekly", basePlan: "w" } as const;
const coins = "history.coins.play";
const uploaded = ["h-stays", "h-ended", "h-old", "h-new", "h-back", "h-paused", "h-coins"];

type Push = readonly [notification: JsonObject, at: number];

describe("A backfill of Google Play", function () {
  this.timeout(200_000);
  const pushes: Push[] = [];
  const suite = new HistorySuite<Push>({
    provider: "google",
    from: dayText(0),
    ids: () => uploaded,
    api: ({ play }) => play,
    credentials: ({ play }) => ({
      ...credentialsOf(signer),
      service_account_key: play.serviceAccountKey,
    }),
    prepare: emitWorld,
    reported: () => pushes,
    sign([notification, at]) {
      const messageId = `${at}${JSON.stringify(notification)}`;
      const body = pushBytes(pushBody({ messageId, packageName, at, notification }));
      return google.sign(body, signer, Date.now());
    },
    moments,
    isWhole: ({ products }) => products.every(({ name }) => name.startsWith("History ")),
  });
  const { endpoints } = suite;
  afterEach(() => {
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
    const { alone } = suite;
    expect(alone.transactions).to.have.lengthOf(19 + 5 + 2 + 4 + 5 + 3 + 1);
    expect(new Set(alone.mrr).size).to.be.above(3);
    expect(alone.products.map(({ name }) => name).join()).to.match(/History Weekly.*History Coins/);
  });

  it("should read all of purchases that are named, though the API fails now and then", async () => {
    const done = await suite.readThroughFailures(5, { ids: [...uploaded, "none"] });
    expect(done.counts).to.deep.equal({
      voided_purchases: 0,
      subscriptions: 6,
      one_time_purchases: 1,
    });
    const listed = done.comparison.map((month) => month.listed);
    expect(listed.reduce((sum, { count }) => sum + count, 0)).to.equal(
      suite.alone.transactions.length,
    );
    // The chargeback is a dispute.
    expect(listed.reduce((sum, { refunded }) => sum + refunded, 0)).to.equal(7 + 5);
    expect(done.missing.join()).to.include("lists no customers");
  });

  suite.itComesToTheSame();

  it("should have rejected nothing", async () => {
    expect(await endpoints.rejects()).to.deep.equal([]);
  });

  it("should read what was voided, of purchases nobody named, and ask about them", async () => {
    const { of: other, id } = await suite.fresh();
    listVoided();
    const done = await backfilled(other, id, dayText(0));
    expect(done, done.problem ?? "").to.include({ state: "done" });
    expect(done.counts).to.include({ voided_purchases: 3, subscriptions: 1 });
    const { transactions } = await suite.figures(other);
    const own = suite.alone.transactions.filter((row) =>
      transactions.some(({ timestamp }) => timestamp === row.timestamp),
    );
    expect(transactions).to.have.lengthOf(6);
    expect(transactions.filter(({ status }) => status === "refunded")).to.have.lengthOf(2);
    expect(own).to.include.deep.members(
      transactions.filter(({ product_name: name }) => name.includes("Weekly")),
    );
    // It is not known to have read any month in whole.
    const months = await coverageOf(other, id);
    expect(months.map(({ known_by: by }) => by)).not.to.include("api");
  });

  suite.itChangesNothing([1, 2], listVoided);

  suite.itReportsADifference({
    isRead: ({ pathname }) => pathname === subscriptionPath(packageName, "h-stays"),
    // The event of the reading before has its answers: it is read once more, and compared.
    readings: 2,
    change() {
      const { orders } = endpoints.play;
      const kept = orders.get("GPA.h-stays..18") ?? {};
      const changed = JSON.stringify(kept).replaceAll('"units":"7"', '"units":"8"');
      orders.set("GPA.h-stays..18", JSON.parse(changed));
      return () => void orders.set("GPA.h-stays..18", kept);
    },
  });
});
