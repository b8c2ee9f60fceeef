/** What Google Play is asked for a notification, and what is remembered of its answers. */
import { expect } from "chai";
import { limits } from "../../../config.js";
import { googleApi } from "../../../providers/google/api.js";
import { billingPeriodIn, nameIn } from "../../../providers/google/catalogue.js";
import { createGoogle } from "../../../providers/google/index.js";
import {
  type JsonObject,
  orderAnswer,
  type PurchaseInput,
  pushBody,
  subscriptionNotification,
  subscriptionPurchase,
} from "../../payloads/google.js";
import {
  orderPath,
  subscriptionPath,
  subscriptionProductPath,
} from "../../../providers/google/paths.js";
import type { Decoded, Known } from "../../../providers/provider.js";
import { answerTo, type GooglePlay, openGooglePlay } from "../../apis/google-play.js";
import { credentialsOf, makeSigner, packageName } from "../../apis/google-signer.js";
import { statesOf } from "../../harness/decoded.js";
import { rejection } from "../../harness/promises.js";

const tokenHosts = ["localhost", "127.0.0.1"];
const google = createGoogle({ tokenHosts });
const api = googleApi(tokenHosts);
const hour = 60 * 60 * 1000;
const day = 24 * hour;
const on = (month: number, dayOfMonth: number) => Date.UTC(2026, month - 1, dayOfMonth, 9);
const start = on(1, 10);
const product = "atlas.pro";
const purchased = 4;
/** In the last round the processors only see that nothing is open. */
const roundsMax = limits.enrichmentRoundsMax - 1;
const credentials = credentialsOf(makeSigner("one"));

function push(type: number, token: string, at = start + 1000): JsonObject {
  const notification = subscriptionNotification(type, token, product);
  return pushBody({ messageId: `${token}-${type}-${at}`, packageName, at, notification });
}

type Play = Pick<GooglePlay, "answers" | "orders">;
type Phase = "base" | "freeTrial" | "prorationPeriod";
type Line = [product: string, cents: bigint, from: number, until: number, phase?: Phase];

function emptyPlay(): Play {
  return { answers: new Map(), orders: new Map() };
}

/** An order of periods of plans, in euros. */
function addOrder(play: Play, id: string, paidFor: readonly Line[], createdAt?: number): void {
  const lines = paidFor.map(([name, cents, from, until, phase = "base"]) => {
    const total = phase === "freeTrial" ? 0n : cents;
    const period = { basePlan: "m", from, until, phase };
    return { product: name, title: "Atlas", listingPrice: cents, total, tax: 0n, period };
  });
  const [[, , from] = ["", 0n, 0]] = paidFor;
  const order = { id, token: "any", createdAt: createdAt ?? from, currency: "EUR", lines };
  play.orders.set(id, orderAnswer(order));
}

/** @param latest the order that last paid for each product; null: none yet */
function addPurchase(
  play: Play,
  token: string,
  latest: Readonly<Record<string, string | null>>,
  more: Pick<PurchaseInput, "startAt"> & Partial<PurchaseInput> & { expiresAt: number },
): void {
  const items = Object.entries(latest).map(([name, latestOrder]) => {
    return { product: name, basePlan: "m", expiresAt: more.expiresAt, latestOrder };
  });
  const answer = subscriptionPurchase({ state: "ACTIVE", country: "DE", items, ...more });
  play.answers.set(subscriptionPath(packageName, token), answer);
}

/** Paid for every 28 days, by the base order and `renewals` more. */
function subscribe(
  play: Play,
  token: string,
  more: { renewals?: number; replaces?: string; startAt?: number } = {},
): Play {
  const { renewals = 0, startAt = start, ...rest } = more;
  const base = `GPA.${token}`;
  const ids = [base, ...Array.from({ length: renewals }, (_, renewal) => `${base}..${renewal}`)];
  const from = (period: number) => startAt + period * 28 * day;
  for (const [period, id] of ids.entries()) {
    addOrder(play, id, [[product, 999n, from(period), from(period + 1)]]);
  }
  const latest = { [product]: ids.at(-1) ?? base };
  addPurchase(play, token, latest, { startAt, expiresAt: from(ids.length), ...rest });
  return play;
}

interface Asked {
  readonly rounds: readonly (readonly string[])[];
  readonly known: Known;
}

/** As the processors ask: round by round, until nothing is open. */
function askAll(
  play: Play,
  body: JsonObject,
  kept: ReadonlyMap<string, unknown> = new Map(),
): Asked {
  const answers = new Map<string, unknown>();
  const rounds: string[][] = [];
  const known = { kept, answers };
  for (;;) {
    const open = (google.asks?.(body, known) ?? []).filter(({ path }) => !answers.has(path));
    if (open.length === 0) return { rounds, known };
    rounds.push(open.map(({ path }) => path));
    for (const { path } of open) answers.set(path, answerTo(play, path));
  }
}

type Kept = Map<string, unknown>;

/** As the processors read: what is kept of it is there for the next. */
function readingOf(play: Play, token: string, at: number, kept: Kept = new Map()): Decoded {
  const body = push(purchased, token, at);
  const { known } = askAll(play, body, kept);
  for (const { id, object } of google.keepsAnswered?.(body, known) ?? []) {
    kept.set(id, { ...Object(object), ...Object(kept.get(id)) });
  }
  return google.decode(body, known);
}

function accountsIn(decoded: Decoded): string[] {
  return [...new Set(statesOf(decoded).map(({ account }) => account))];
}

/** Minor units a month; of equal times what was read later counts. */
function worthAt(readings: readonly Decoded[], moment: number): number {
  const states = new Map<string, { at: number; worth: number }>();
  for (const { subscription, steps } of readings.flatMap(statesOf)) {
    const { at = 0, items = [] } = steps[0] ?? {};
    if (at > moment || at < (states.get(subscription)?.at ?? 0)) continue;
    const worth = items.reduce((sum, item) => sum + Number(item.monthly_numerator), 0);
    states.set(subscription, { at, worth });
  }
  return [...states.values()].reduce((sum, { worth }) => sum + worth, 0);
}

describe("What Google Play is asked", () => {
  it("should be the purchase, then its orders, then what they leave open", () => {
    const play = subscribe(emptyPlay(), "one", { renewals: 1 });
    const orders = "orders:batchGet?orderIds=GPA.one&orderIds=GPA.one..0";
    expect(askAll(play, push(2, "one")).rounds).to.deep.equal([
      [subscriptionPath(packageName, "one")],
      [`/androidpublisher/v3/applications/${packageName}/${orders}`],
      [subscriptionProductPath(packageName, product)],
    ]);
  });

  it("should be a hundred orders at a time", () => {
    const play = subscribe(emptyPlay(), "old", { renewals: 150 });
    const [, orders = []] = askAll(play, push(2, "old")).rounds;
    expect(orders.map((path) => path.split("orderIds=").length - 1)).to.deep.equal([100, 51]);
    expect(orders.every((path) => path.length < 4_000)).to.equal(true);
  });

  it("should be each order alone where one of many does not exist", () => {
    const play = subscribe(emptyPlay(), "gap", { renewals: 2 });
    play.orders.delete("GPA.gap..0");
    const { rounds, known } = askAll(play, push(2, "gap"));
    expect(rounds[2]).to.include(orderPath(packageName, "GPA.gap..0"));
    expect(google.decode(push(2, "gap"), known).outcome).to.equal("facts");
  });

  it("should never be more orders than a subscription can have", () => {
    const play = emptyPlay();
    const latest = { [product]: "GPA.many..999999999" };
    addPurchase(play, "many", latest, { startAt: start, expiresAt: start + 28 * day });
    const { rounds, known } = askAll(play, push(2, "many"));
    expect(rounds).to.have.lengthOf(1);
    expect(google.decode(push(2, "many"), known)).to.include({ reason: "too_many_orders" });
  });

  it("should be nothing for what moves neither money nor MRR", () => {
    for (const type of [0, 8, 11, 14, 19, 20, 22, 99]) {
      expect(askAll(emptyPlay(), push(type, "one")).rounds, String(type)).to.deep.equal([]);
    }
  });

  it("should need the billing period where an order's own does not report it", () => {
    const play = subscribe(emptyPlay(), "test");
    addOrder(play, "GPA.test", [[product, 999n, start, start + 300_000]]);
    const { known } = askAll(play, push(purchased, "test"));
    const path = subscriptionProductPath(packageName, product);
    const question = google.asks?.(push(purchased, "test"), known).find((q) => q.path === path);
    expect(question?.importance).to.equal("required");
    expect(google.decode(push(purchased, "test"), known)).to.include({
      reason: "interval_unknown",
    });
  });
});

describe("The account of a Google purchase", () => {
  /** first ← second ← third … */
  function chain(tokens: readonly string[]): Play {
    const play = emptyPlay();
    for (const [index, token] of tokens.entries()) {
      const before = tokens[index - 1];
      const startAt = start + index * 30 * day;
      subscribe(play, token, { startAt, ...(before === undefined ? {} : { replaces: before }) });
    }
    return play;
  }

  it("should be the first token of its chain", () => {
    const { known, rounds } = askAll(chain(["a", "b", "c", "d"]), push(purchased, "d"));
    expect(accountsIn(google.decode(push(purchased, "d", start + 91 * day), known))).to.deep.equal([
      "a",
    ]);
    expect(rounds.length).to.be.at.most(roundsMax);
  });

  it("should stay the same when Google has forgotten the purchases it replaced", () => {
    const play = chain(["a", "b", "c"]);
    const kept: Kept = new Map();
    const report = (token: string, at: number) => accountsIn(readingOf(play, token, at, kept));
    expect(report("b", start + 30 * day + 1000)).to.deep.equal(["a"]);
    play.answers.delete(subscriptionPath(packageName, "a"));
    expect(report("c", start + 60 * day + 1000)).to.deep.equal(["a"]);
    play.answers.delete(subscriptionPath(packageName, "b"));
    expect(report("c", start + 200 * day)).to.deep.equal(["a"]);
  });

  it("should need what was kept of every purchase its chain names", () => {
    const body = push(purchased, "b", start + 31 * day);
    const { known } = askAll(chain(["a", "b"]), body);
    // And the orders the purchase itself named.
    expect(google.needs?.(body)).to.have.lengthOf(1 + 1);
    expect(google.needs?.(body, known)).to.have.lengthOf(2 + 1);
  });

  it("should be ended whole by its last purchase, where one between was never reported", () => {
    const play = chain(["a", "b", "c", "d"]);
    const kept: Kept = new Map();
    const [c, d] = [start + 60 * day, start + 90 * day];
    const reported = [
      readingOf(play, "a", start, kept),
      readingOf(play, "b", start + 30 * day, kept),
    ];
    for (const at of [d + 1000, d + 2000]) {
      const all = [...reported, readingOf(play, "d", at, kept)];
      const worth = [c - day, c + day, d + day].map((moment) => worthAt(all, moment));
      // 28 days from 9 February are a month, those from 10 April four weeks.
      expect(worth, `read at ${at}`).to.deep.equal([999, 999, 4329]);
    }
  });

  it("should be found in a bounded number of rounds, and without going in circles", () => {
    const tokens = Array.from({ length: 20 }, (_, index) => `t${index}`);
    const long = askAll(chain(tokens), push(purchased, "t19", start + 571 * day));
    expect(long.rounds.length).to.be.at.most(roundsMax);
    const circle = subscribe(chain(["a", "b"]), "a", { replaces: "b" });
    expect(askAll(circle, push(purchased, "b")).rounds.length).to.be.at.most(roundsMax);
  });
});

describe("An add-on bought in the middle of a period at Google Play", () => {
  const [jan20, feb10, mar10] = [on(1, 20), on(2, 10), on(3, 10)];

  /** What is read while plan and add-on are paid for by these orders. */
  function reported(plan: string, extra: string, at: number, kept: Kept): Decoded {
    const play = emptyPlay();
    addOrder(play, "GPA.old", [["plan", 2000n, start, feb10]]);
    addOrder(play, "GPA.new", [["extra", 500n, jan20, feb10, "prorationPeriod"]]);
    addOrder(play, "GPA.new..0", [
      ["plan", 2000n, feb10, mar10],
      ["extra", 500n, feb10, mar10],
    ]);
    const added = { startAt: jan20, expiresAt: mar10, replaces: "old" };
    addPurchase(play, "old", { plan: "GPA.old" }, { startAt: start, expiresAt: mar10 });
    addPurchase(play, "new", { plan, extra }, added);
    const monthly = { billingPeriodDuration: "P1M" };
    const basePlans = [{ basePlanId: "m", autoRenewingBasePlanType: monthly }];
    play.answers.set(subscriptionProductPath(packageName, "extra"), { basePlans });
    return readingOf(play, "new", at, kept);
  }

  it("should count beside what it was added to, also when it is read after the renewal", () => {
    const kept: Kept = new Map();
    const atOnce = reported("GPA.old", "GPA.new", jan20 + 1000, kept);
    expect(worthAt([atOnce], jan20 + day)).to.equal(2500);
    const renewed = reported("GPA.new..0", "GPA.new..0", feb10 + 1000, kept);
    const moments = [jan20 + day, feb10 + day];
    expect(moments.map((moment) => worthAt([renewed], moment))).to.deep.equal([2500, 2500]);
  });
});

describe("A deferred change of plan at Google Play", () => {
  const [jan20, feb10, mar10] = [on(1, 20), on(2, 10), on(3, 10)];

  /** What is read while the purchase has this order, or none; the account is kept from before. */
  function reported(
    token: "old" | "new",
    at: number,
    plan: string | null,
    state: "ACTIVE" | "EXPIRED" = "ACTIVE",
  ): Decoded {
    const play = emptyPlay();
    addOrder(play, "GPA.gold", [["gold", 2000n, start, feb10]], start - hour);
    addOrder(play, "GPA.silver", [["silver", 1000n, feb10, mar10]], feb10 - hour);
    const begun = token === "new" ? { startAt: jan20, replaces: "old" } : { startAt: start };
    const latest = plan === null ? { silver: null } : { [plan]: `GPA.${plan}` };
    addPurchase(play, token, latest, { state, expiresAt: feb10, ...begun });
    return readingOf(play, token, at);
  }

  const before = reported("old", start + 1000, "gold");
  const announced = reported("new", jan20 + 1000, "gold");
  const paid = reported("new", feb10, "silver");
  const orderless = reported("new", jan20 + 1000, null);
  const cases: [title: string, readings: readonly Decoded[]][] = [
    ["all is reported", [before, announced, paid]],
    ["the announcement names no order", [before, orderless, paid]],
    ["the payment is reported before the announcement", [before, paid, announced]],
    ["the announcement is lost", [before, paid]],
  ];
  for (const [title, readings] of cases) {
    it(`should count from its first order, where ${title}`, () => {
      const moments = [start + day, jan20 + day, feb10 - day, feb10 + day];
      const worth = moments.map((moment) => worthAt(readings, moment));
      expect(worth).to.deep.equal([2000, 2000, 2000, 1000]);
    });
  }

  it("should end the plan before it where it is over and was never paid", () => {
    const over = reported("new", feb10 + 1000, null, "EXPIRED");
    const worth = [feb10 - day, feb10 + day].map((at) => worthAt([before, orderless, over], at));
    expect(worth).to.deep.equal([2000, 0]);
  });
});

describe("A purchase at Google Play whose notification is read late", () => {
  const [jan17, feb17, mar17] = [on(1, 17), on(2, 17), on(3, 17)];
  const play = emptyPlay();
  addOrder(play, "GPA.late", [[product, 999n, start, jan17, "freeTrial"]]);
  addOrder(play, "GPA.late..0", [[product, 999n, jan17, feb17]]);
  addOrder(play, "GPA.late..1", [[product, 1299n, feb17, mar17]]);
  addPurchase(play, "late", { [product]: "GPA.late..1" }, { startAt: start, expiresAt: mar17 });
  const body = push(purchased, "late");
  const cases: [title: string, receivedAt: number, worth: readonly number[]][] = [
    ["the purchase alone on its day, whatever is paid ahead", start + 2000, [0, 0, 0]],
    ["what the trial became, ten days later", jan17 + 3 * day, [0, 999, 999]],
    ["the higher price as well, two months later", feb17 + 3 * day, [0, 999, 1299]],
  ];
  for (const [title, receivedAt, worth] of cases) {
    it(`should report ${title}`, () => {
      const { known } = askAll(play, body);
      const reading = google.decode(body, { ...known, receivedAt });
      const moments = [start + day, jan17 + day, feb17 + day];
      expect(moments.map((moment) => worthAt([reading], moment))).to.deep.equal(worth);
    });
  }
});

describe("A product of Google's catalogue", () => {
  const basePlans = [
    { basePlanId: "monthly", autoRenewingBasePlanType: { billingPeriodDuration: "P1M" } },
    { basePlanId: "yearly", installmentsBasePlanType: { billingPeriodDuration: "P1Y" } },
  ];

  it("should report the billing period of a plan, whatever becomes of its name", () => {
    for (const listings of [undefined, null, [], [{ languageCode: "en-US" }], "none"]) {
      const answer = { listings, basePlans };
      expect(nameIn(answer)).to.equal(null);
      expect(billingPeriodIn(answer, "monthly")?.interval).to.equal("month");
      expect(billingPeriodIn(answer, "yearly")?.interval).to.equal("year");
      expect(billingPeriodIn(answer, "other")).to.equal(null);
    }
  });
});

describe("A service account's access token", () => {
  let play: GooglePlay;
  before(async () => {
    play = await openGooglePlay();
  });

  /** The machine's own `post`, in small. */
  async function post(url: string, form: Readonly<Record<string, string>>): Promise<unknown> {
    const answer = await fetch(url, { method: "POST", body: new URLSearchParams(form) });
    const body: unknown = await answer.json();
    if (!answer.ok) throw new Error(JSON.stringify(body));
    return body;
  }

  it("should be asked for with a signed assertion, and kept while it is good", async () => {
    const given = { ...credentials, service_account_key: play.serviceAccountKey };
    const authorized = await api.authorize(google.credentials.parse(given), start, post);
    expect(authorized).to.deep.equal({
      headers: { authorization: "Bearer ya29.of-the-tests" },
      until: start + 3_599_000,
    });
  });

  it("should be asked for at Google's hosts only, unless a setting names others", async () => {
    const key = play.serviceAccountKey;
    const own = { ...key, token_uri: "https://oauth2.googleapis.com/token" };
    const strict = createGoogle();
    const given = (service_account_key: object) => ({ ...credentials, service_account_key });
    expect(strict.credentials.safeParse(given(own)).success).to.equal(true);
    const refused = strict.credentials.safeParse(given(key));
    expect(refused.error?.issues[0]?.path).to.deep.equal(["service_account_key", "token_uri"]);
    // Entered while the setting named the host.
    const entered = google.credentials.parse(given(key));
    let asked = 0;
    const count = async () => (asked += 1);
    const failed = await rejection(googleApi([]).authorize(entered, start, count));
    expect(String(failed)).to.include("no host of Google");
    expect(asked).to.equal(0);
  });

  it("should not be asked for without a key", async () => {
    expect(await api.authorize({}, start, post)).to.equal(null);
  });

  it("should refuse a key that is none when it is entered", () => {
    const withKey = (more: object) => ({
      ...credentials,
      service_account_key: { ...play.serviceAccountKey, ...more },
    });
    expect(google.credentials.safeParse(withKey({})).success).to.equal(true);
    for (const wrong of [
      { private_key: "secret" },
      { token_uri: "ftp://x" },
      { token_uri: "http://169.254.169.254/latest/meta-data" },
      { token_uri: "http://oauth2.googleapis.com/token" },
      { token_uri: "https://oauth2.googleapis.com:8443/token" },
      { token_uri: "https://oauth2.googleapis.com.example/token" },
      { token_uri: "https://user@elsewhere.example/token" },
      { client_email: "" },
    ]) {
      expect(google.credentials.safeParse(withKey(wrong)).success).to.equal(false);
    }
    expect(google.credentials.safeParse({ ...credentials, jwks: { keys: [] } }).success).to.equal(
      false,
    );
  });
});
