/** What Google Play is asked for a notification, and what is remembered of its answers. */
import { expect } from "chai";
import { limits } from "../../../config.js";
import { googleApi } from "../../../providers/google/api.js";
import { billingPeriodIn, nameIn } from "../../../providers/google/catalogue.js";
import { createGoogle } from "../../../providers/google/index.js";
import {
  type JsonObject,
  moneyOf,
  orderAnswer,
  pushBody,
  subscriptionNotification,
  subscriptionPurchase,
} from "../../../ops/payloads/google.js";
import {
  orderPath,
  subscriptionPath,
  subscriptionProductPath,
} from "../../../providers/google/paths.js";
import type { Decoded, Known } from "../../../providers/provider.js";
import { answerTo, type GooglePlay, openGooglePlay } from "../../apis/google-play.js";
import { credentialsOf, makeSigner, packageName } from "../../apis/google-signer.js";

const tokenHosts = ["localhost", "127.0.0.1"];
const google = createGoogle({ tokenHosts });
const api = googleApi(tokenHosts);
const hour = 60 * 60 * 1000;
const day = 24 * hour;
const start = Date.UTC(2026, 0, 10, 9);
const product = "atlas.pro";
const purchased = 4;
/** In the last round the processors only see that nothing is open. */
const roundsMax = limits.enrichmentRoundsMax - 1;
const credentials = credentialsOf(makeSigner("one"));

function push(type: number, token: string, at = start + 1000): JsonObject {
  const notification = subscriptionNotification(type, token, product);
  return pushBody({ messageId: `${token}-${type}-${at}`, packageName, at, notification });
}

/** A purchase and its orders, monthly, each reported by the base order and `renewals` more. */
function purchase(
  play: Pick<GooglePlay, "answers" | "orders">,
  token: string,
  more: { renewals?: number; replaces?: string; startAt?: number } = {},
): void {
  const { renewals = 0, startAt = start, replaces } = more;
  const base = `GPA.${token}`;
  const ids = [base, ...Array.from({ length: renewals }, (_, renewal) => `${base}..${renewal}`)];
  for (const [month, id] of ids.entries()) {
    const from = startAt + month * 28 * day;
    const period = { basePlan: "weekly", from, until: from + 28 * day, phase: "base" as const };
    const line = { product, title: "Atlas", listingPrice: 999n, total: 999n, tax: 0n, period };
    const order = { id, token, createdAt: from, currency: "EUR", lines: [line] };
    play.orders.set(id, orderAnswer(order));
  }
  const expiresAt = startAt + ids.length * 28 * day;
  play.answers.set(
    subscriptionPath(packageName, token),
    subscriptionPurchase({
      state: "ACTIVE",
      startAt,
      country: "DE",
      items: [{ product, basePlan: "weekly", expiresAt, latestOrder: ids.at(-1) ?? base }],
      ...(replaces === undefined ? {} : { replaces }),
    }),
  );
}

interface Asked {
  readonly rounds: readonly (readonly string[])[];
  readonly known: Known;
}

/** As the processors ask: round by round, until nothing is open. */
function askAll(
  play: Pick<GooglePlay, "answers" | "orders">,
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
function read(body: JsonObject, known: Known, kept: Kept): Decoded {
  for (const { id, object } of google.keepsAnswered?.(body, known) ?? []) {
    kept.set(id, { ...Object(object), ...Object(kept.get(id)) });
  }
  return google.decode(body, known);
}

function accountsIn(decoded: Decoded): string[] {
  if (decoded.outcome !== "facts") return [decoded.outcome];
  const accounts = decoded.facts.flatMap(({ body }) =>
    "Subscription" in body ? [body.Subscription.account] : [],
  );
  return [...new Set(accounts)];
}

describe("What Google Play is asked", () => {
  it("should be the purchase, then its orders, then what they leave open", () => {
    const play = { answers: new Map(), orders: new Map() };
    purchase(play, "one", { renewals: 1 });
    const orders = "orders:batchGet?orderIds=GPA.one&orderIds=GPA.one..0";
    expect(askAll(play, push(2, "one")).rounds).to.deep.equal([
      [subscriptionPath(packageName, "one")],
      [`/androidpublisher/v3/applications/${packageName}/${orders}`],
      [subscriptionProductPath(packageName, product)],
    ]);
  });

  it("should be a hundred orders at a time", () => {
    const play = { answers: new Map(), orders: new Map() };
    purchase(play, "old", { renewals: 150 });
    const [, orders = []] = askAll(play, push(2, "old")).rounds;
    expect(orders.map((path) => path.split("orderIds=").length - 1)).to.deep.equal([100, 51]);
    expect(orders.every((path) => path.length < 4_000)).to.equal(true);
  });

  it("should be each order alone where one of many does not exist", () => {
    const play = { answers: new Map(), orders: new Map() };
    purchase(play, "gap", { renewals: 2 });
    play.orders.delete("GPA.gap..0");
    const { rounds, known } = askAll(play, push(2, "gap"));
    expect(rounds[2]).to.include(orderPath(packageName, "GPA.gap..0"));
    expect(google.decode(push(2, "gap"), known).outcome).to.equal("facts");
  });

  it("should never be more orders than a subscription can have", () => {
    const play = { answers: new Map(), orders: new Map() };
    purchase(play, "many");
    const path = subscriptionPath(packageName, "many");
    const text = JSON.stringify(play.answers.get(path));
    play.answers.set(path, JSON.parse(text.replaceAll("GPA.many", "GPA.many..999999999")));
    const { rounds, known } = askAll(play, push(2, "many"));
    expect(rounds).to.have.lengthOf(1);
    expect(google.decode(push(2, "many"), known)).to.include({ reason: "too_many_orders" });
  });

  it("should be nothing for what moves neither money nor MRR", () => {
    for (const type of [0, 8, 11, 14, 19, 20, 22, 99]) {
      const known = { kept: new Map(), answers: new Map() };
      expect(google.asks?.(push(type, "one"), known), String(type)).to.deep.equal([]);
    }
  });

  it("should need the billing period where an order's own does not report it", () => {
    const play = { answers: new Map(), orders: new Map() };
    purchase(play, "test");
    const order = JSON.stringify(play.orders.get("GPA.test"));
    play.orders.set("GPA.test", JSON.parse(order.replace("2026-02-07T09:00", "2026-01-10T09:05")));
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
  function chain(tokens: readonly string[]) {
    const play = { answers: new Map<string, JsonObject>(), orders: new Map<string, JsonObject>() };
    for (const [index, token] of tokens.entries()) {
      const before = tokens[index - 1];
      const startAt = start + index * 30 * day;
      purchase(play, token, { startAt, ...(before === undefined ? {} : { replaces: before }) });
    }
    return play;
  }

  it("should be the first token of its chain", () => {
    const play = chain(["a", "b", "c", "d"]);
    const { known, rounds } = askAll(play, push(purchased, "d", start + 91 * day));
    expect(accountsIn(google.decode(push(purchased, "d", start + 91 * day), known))).to.deep.equal([
      "a",
    ]);
    expect(rounds.length).to.be.at.most(roundsMax);
  });

  it("should stay the same when Google has forgotten the purchases it replaced", () => {
    const play = chain(["a", "b", "c"]);
    const kept: Kept = new Map();
    const report = (token: string, at: number) => {
      const body = push(purchased, token, at);
      return accountsIn(read(body, askAll(play, body, kept).known, kept));
    };
    expect(report("b", start + 30 * day + 1000)).to.deep.equal(["a"]);
    play.answers.delete(subscriptionPath(packageName, "a"));
    expect(report("c", start + 60 * day + 1000)).to.deep.equal(["a"]);
    play.answers.delete(subscriptionPath(packageName, "b"));
    expect(report("c", start + 200 * day)).to.deep.equal(["a"]);
  });

  it("should need what was kept of every purchase its chain names", () => {
    const play = chain(["a", "b"]);
    const body = push(purchased, "b", start + 31 * day);
    const { known } = askAll(play, body);
    // And the orders the purchase itself named.
    expect(google.needs?.(body)).to.have.lengthOf(1 + 1);
    expect(google.needs?.(body, known)).to.have.lengthOf(2 + 1);
  });

  it("should be ended whole by its last purchase, where one between was never reported", () => {
    const play = chain(["a", "b", "c", "d"]);
    const kept: Kept = new Map();
    const reading = (token: string, at: number) => {
      const body = push(purchased, token, at);
      return read(body, askAll(play, body, kept).known, kept);
    };
    const reported = [reading("a", start), reading("b", start + 30 * day)];
    const [c, d] = [start + 60 * day, start + 90 * day];
    for (const at of [d + 1000, d + 2000]) {
      const all = [...reported, reading("d", at)];
      const worth = [c - day, c + day, d + day].map((moment) => worthAt(all, moment));
      // 28 days from 9 February are a month, those from 10 April four weeks.
      expect(worth, `read at ${at}`).to.deep.equal([999, 999, 4329]);
    }
  });

  it("should be found in a bounded number of rounds, and without going in circles", () => {
    const tokens = Array.from({ length: 20 }, (_, index) => `t${index}`);
    const long = askAll(chain(tokens), push(purchased, "t19", start + 571 * day));
    expect(long.rounds.length).to.be.at.most(roundsMax);
    const circle = chain(["a", "b"]);
    purchase(circle, "a", { replaces: "b" });
    expect(askAll(circle, push(purchased, "b")).rounds.length).to.be.at.most(roundsMax);
  });
});

describe("An add-on bought in the middle of a period at Google Play", () => {
  const [jan10, jan20] = [Date.UTC(2026, 0, 10, 9), Date.UTC(2026, 0, 20, 9)];
  const [feb10, mar10] = [Date.UTC(2026, 1, 10, 9), Date.UTC(2026, 2, 10, 9)];
  const orders = new Map([
    orderOf("old", "GPA.old", [["plan", 2000n, jan10, feb10, "base"]]),
    orderOf("new", "GPA.new", [["extra", 500n, jan20, feb10, "prorationPeriod"]]),
    orderOf("new", "GPA.new..0", [
      ["plan", 2000n, feb10, mar10, "base"],
      ["extra", 500n, feb10, mar10, "base"],
    ]),
  ]);

  /** What is read while plan and add-on are paid for by these orders. */
  function readingOf(plan: string, extra: string, at: number, kept: Kept): Decoded {
    const basePlans = [
      { basePlanId: "m", autoRenewingBasePlanType: { billingPeriodDuration: "P1M" } },
    ];
    const answers = new Map<string, JsonObject>([
      [subscriptionPath(packageName, "new"), purchaseOf(jan20, { plan, extra }, "old")],
      [subscriptionPath(packageName, "old"), purchaseOf(jan10, { plan: "GPA.old" })],
      [subscriptionProductPath(packageName, "extra"), { basePlans }],
    ]);
    const body = push(purchased, "new", at);
    return read(body, askAll({ answers, orders }, body, kept).known, kept);
  }

  it("should count beside what it was added to, also when it is read after the renewal", () => {
    const kept: Kept = new Map();
    const atOnce = readingOf("GPA.old", "GPA.new", jan20 + 1000, kept);
    expect(worthAt([atOnce], jan20 + day)).to.equal(2500);
    const renewed = readingOf("GPA.new..0", "GPA.new..0", feb10 + 1000, kept);
    const moments = [jan20 + day, feb10 + day];
    expect(moments.map((moment) => worthAt([renewed], moment))).to.deep.equal([2500, 2500]);
  });

  type Line = [string, bigint, number, number, "base" | "prorationPeriod"];

  function orderOf(token: string, id: string, reported: readonly Line[]): [string, JsonObject] {
    const lines = reported.map(([title, price, from, until, phase]) => {
      const period = { basePlan: "m", from, until, phase };
      return { product: title, title, listingPrice: price, total: price, tax: 0n, period };
    });
    const [[, , createdAt] = ["", 0n, 0]] = reported;
    return [id, orderAnswer({ id, token, createdAt, currency: "EUR", lines })];
  }

  function purchaseOf(
    startAt: number,
    latest: Readonly<Record<string, string>>,
    replaces?: string,
  ): JsonObject {
    const items = Object.entries(latest).map(([name, latestOrder]) => {
      return { product: name, basePlan: "m", expiresAt: mar10, latestOrder };
    });
    const more = replaces === undefined ? {} : { replaces };
    return subscriptionPurchase({ state: "ACTIVE", startAt, country: "DE", items, ...more });
  }
});

describe("A deferred change of plan at Google Play", () => {
  const jan10 = Date.UTC(2026, 0, 10, 9);
  const jan20 = Date.UTC(2026, 0, 20, 10);
  const feb10 = Date.UTC(2026, 1, 10, 9);
  const mar10 = Date.UTC(2026, 2, 10, 9);
  const order = (token: string, plan: string, from: number, until: number, cents: bigint) => {
    const period = { basePlan: "m", from, until, phase: "base" as const };
    const line = { product: plan, title: plan, listingPrice: cents, total: cents, tax: 0n, period };
    const [id, createdAt] = [`GPA.${plan}`, from - hour];
    return orderAnswer({ id, token, createdAt, currency: "EUR", lines: [line] });
  };
  const orders = new Map([
    ["GPA.gold", order("old", "gold", jan10, feb10, 2000n)],
    ["GPA.silver", order("new", "silver", feb10, mar10, 1000n)],
  ]);

  /** What is read while the purchase has this order, or none; the account is kept from before. */
  function readingOf(
    token: string,
    at: number,
    plan: string | null,
    state: "ACTIVE" | "EXPIRED" = "ACTIVE",
  ): Decoded {
    const isNew = token === "new";
    const answer = subscriptionPurchase({
      state,
      startAt: isNew ? jan20 : jan10,
      country: "DE",
      items: [
        {
          product: plan ?? "silver",
          basePlan: "m",
          expiresAt: feb10,
          latestOrder: plan === null ? null : `GPA.${plan}`,
        },
      ],
      ...(isNew ? { replaces: "old" } : {}),
    });
    const play = { answers: new Map([[subscriptionPath(packageName, token), answer]]), orders };
    const body = push(purchased, token, at);
    return google.decode(body, askAll(play, body).known);
  }

  const before = readingOf("old", jan10 + 1000, "gold");
  const announced = readingOf("new", jan20 + 1000, "gold");
  const paid = readingOf("new", feb10, "silver");
  const orderless = readingOf("new", jan20 + 1000, null);
  const cases: [title: string, readings: readonly Decoded[]][] = [
    ["all is reported", [before, announced, paid]],
    ["the announcement names no order", [before, orderless, paid]],
    ["the payment is reported before the announcement", [before, paid, announced]],
    ["the announcement is lost", [before, paid]],
  ];
  for (const [title, readings] of cases) {
    it(`should count from its first order, where ${title}`, () => {
      const moments = [jan10 + day, jan20 + day, feb10 - day, feb10 + day];
      const worth = moments.map((moment) => worthAt(readings, moment));
      expect(worth).to.deep.equal([2000, 2000, 2000, 1000]);
    });
  }

  it("should end the plan before it where it is over and was never paid", () => {
    const over = readingOf("new", feb10 + 1000, null, "EXPIRED");
    const worth = [feb10 - day, feb10 + day].map((at) => worthAt([before, orderless, over], at));
    expect(worth).to.deep.equal([2000, 0]);
  });
});

describe("A purchase at Google Play whose notification is read late", () => {
  const jan10 = Date.UTC(2026, 0, 10, 9);
  const jan17 = Date.UTC(2026, 0, 17, 9);
  const feb17 = Date.UTC(2026, 1, 17, 9);
  const mar17 = Date.UTC(2026, 2, 17, 9);
  const periods: [id: string, from: number, until: number, cents: bigint, isFree: boolean][] = [
    ["GPA.late", jan10, jan17, 999n, true],
    ["GPA.late..0", jan17, feb17, 999n, false],
    ["GPA.late..1", feb17, mar17, 1299n, false],
  ];
  const orders = new Map(
    periods.map(([id, from, until, cents, isFree]) => {
      const phase = isFree ? ("freeTrial" as const) : ("base" as const);
      const period = { basePlan: "m", from, until, phase };
      const total = isFree ? 0n : cents;
      const line = { product, title: "Atlas", listingPrice: cents, total, tax: 0n, period };
      const order = { id, token: "late", createdAt: from, currency: "EUR", lines: [line] };
      return [id, orderAnswer(order)];
    }),
  );
  const items = [{ product, basePlan: "m", expiresAt: mar17, latestOrder: "GPA.late..1" }];
  const answer = subscriptionPurchase({ state: "ACTIVE", startAt: jan10, country: "DE", items });
  const answers = new Map([[subscriptionPath(packageName, "late"), answer]]);
  const body = push(purchased, "late", jan10 + 1000);
  const cases: [title: string, receivedAt: number, worth: readonly number[]][] = [
    ["the purchase alone on its day, whatever is paid ahead", jan10 + 2000, [0, 0, 0]],
    ["what the trial became, ten days later", jan17 + 3 * day, [0, 999, 999]],
    ["the higher price as well, two months later", feb17 + 3 * day, [0, 999, 1299]],
  ];
  for (const [title, receivedAt, worth] of cases) {
    it(`should report ${title}`, () => {
      const { known } = askAll({ answers, orders }, body);
      const reading = google.decode(body, { ...known, receivedAt });
      const moments = [jan10 + day, jan17 + day, feb17 + day];
      expect(moments.map((moment) => worthAt([reading], moment))).to.deep.equal(worth);
    });
  }
});

/** Minor units a month; of equal times what was read later counts. */
function worthAt(readings: readonly Decoded[], moment: number): number {
  const states = new Map<string, { at: number; worth: number }>();
  for (const reading of readings) {
    for (const { body } of reading.outcome === "facts" ? reading.facts : []) {
      if (!("Subscription" in body)) continue;
      const { subscription, steps } = body.Subscription;
      const { at = 0, items = [] } = steps[0] ?? {};
      if (at > moment || at < (states.get(subscription)?.at ?? 0)) continue;
      const worth = items.reduce((sum, item) => sum + Number(item.monthly_numerator), 0);
      states.set(subscription, { at, worth });
    }
  }
  return [...states.values()].reduce((sum, { worth }) => sum + worth, 0);
}

describe("Google's money", () => {
  const cases: readonly [amountMinor: bigint, currency: string, reported: JsonObject][] = [
    [699n, "USD", { currencyCode: "USD", units: "6", nanos: 990_000_000 }],
    [0n, "EUR", { currencyCode: "EUR" }],
    [5n, "EUR", { currencyCode: "EUR", nanos: 50_000_000 }],
    [1200n, "JPY", { currencyCode: "JPY", units: "1200" }],
    [1250n, "KWD", { currencyCode: "KWD", units: "1", nanos: 250_000_000 }],
    [-175n, "USD", { currencyCode: "USD", units: "-1", nanos: -750_000_000 }],
  ];
  for (const [amountMinor, currency, reported] of cases) {
    it(`should report ${amountMinor} of ${currency} in units and billionths`, () => {
      expect(moneyOf(amountMinor, currency)).to.deep.equal(reported);
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
    const { service_account_key: key } = google.credentials.parse({
      ...credentials,
      service_account_key: play.serviceAccountKey,
    });
    const authorized = await api.authorize({ service_account_key: key }, start, post);
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
    const failed = await googleApi([])
      .authorize(entered, start, count)
      .catch((error: unknown) => error);
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
