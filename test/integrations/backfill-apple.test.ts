/** Reading the App Store's history, from a real HTTP server that answers as Apple does. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import { backfill as backfillCommand } from "../../ops/backfill.js";
import {
  appleNotification,
  type JsonObject,
  notificationBody,
  type NotificationInput,
  renewalInfo,
  type TransactionInput,
  transactionInfo,
} from "../../ops/payloads/apple.js";
import { createApple } from "../../providers/apple/index.js";
import { isObject, textOf } from "../../providers/fields.js";
import type { Signed } from "../../providers/provider.js";
import type { AppStore } from "../apis/app-store.js";
import { always, answered, cut, type Failure } from "../apis/failures.js";
import { send } from "../apis/stripe-api.js";
import { dayMs, midnight } from "../harness/days.js";
import { type Endpoints, expectError, openEndpoints } from "../harness/endpoints.js";
import { backfilled, coverageOf } from "../harness/histories.js";
import { HistorySuite } from "../harness/history-suite.js";

const apple = createApple();
const weekMs = 7 * dayMs;
/** Within the half year of which Apple lists notifications. */
const from = midnight(176);
const onDay = (day: number): number => from + day * dayMs;
const dayText = (day: number): string => new Date(onDay(day)).toISOString().slice(0, 10);
const moments = [5, 30, 50, 70, 90, 110, 150, 175].map((day) => new Date(onDay(day)).toISOString());

/** A transaction as it is listed now; as the notification had it that reported it. */
interface Bought {
  readonly listed: TransactionInput;
  readonly sent: TransactionInput;
}

interface Story {
  readonly customer: AppStore["customers"][number];
  readonly notifications: readonly JsonObject[];
  /** What names the customer to Apple. */
  readonly id: string;
}

let transactions = 2_000_000_000;

/** One customer of the app, who did what `act` says. */
class Customer {
  readonly #listed: JsonObject[] = [];
  readonly #sent: NotificationInput[] = [];
  readonly #statuses: Record<string, { status: number; expirationIntent?: number }> = {};
  #first: string | null = null;

  constructor(private readonly store: AppStore) {}

  /** @param type of the notification that reports it; null: none does */
  buy(type: string | null, subtype: string | null, more: Partial<TransactionInput> = {}): Bought {
    transactions += 1;
    const id = `${transactions}`;
    this.#first ??= id;
    const purchasedAt = more.purchasedAt ?? onDay(1);
    const sent: TransactionInput = {
      id,
      originalId: this.#first,
      product: "history.week",
      purchasedAt,
      expiresAt: purchasedAt + weekMs,
      signedAt: purchasedAt + 60_000,
      price: 7000n,
      currency: "EUR",
      storefront: "DEU",
      reason: type === "DID_RENEW" ? "RENEWAL" : "PURCHASE",
      ...more,
    };
    if (type !== null) this.tell(type, subtype, sent, purchasedAt + 60_000);
    this.become(sent, {});
    return { listed: sent, sent };
  }

  renew(times: number, firstAt: number, more: Partial<TransactionInput> = {}): void {
    for (let period = 0; period < times; period += 1) {
      this.buy("DID_RENEW", null, { purchasedAt: firstAt + period * weekMs, ...more });
    }
  }

  tell(type: string, subtype: string | null, about: TransactionInput, at: number, status = 1) {
    const { app } = this.store;
    this.#sent.push({
      id: `${type}-${about.id}-${at}`,
      type,
      ...(subtype === null ? {} : { subtype }),
      signedAt: at,
      status,
      transaction: transactionInfo(app, { ...about, signedAt: at }),
      renewal: renewalInfo(app, { originalId: about.originalId, product: "any", signedAt: at }),
    });
  }

  /** It is listed so from now on, behind the others: it was changed last. */
  become(what: TransactionInput, change: Partial<TransactionInput>): TransactionInput {
    const changed = { ...what, ...change };
    const before = this.#listed.findIndex((one) => one["transactionId"] === what.id);
    if (before >= 0) this.#listed.splice(before, 1);
    this.#listed.push(transactionInfo(this.store.app, changed));
    return changed;
  }

  is(status: number, expirationIntent?: number): void {
    if (this.#first === null) throw new Error("nothing was bought");
    const more = expirationIntent === undefined ? {} : { expirationIntent };
    this.#statuses[this.#first] = { status, ...more };
  }

  get story(): Story {
    const { app } = this.store;
    return {
      customer: { transactions: this.#listed, statuses: this.#statuses },
      notifications: this.#sent.map((one) => appleNotification(app, one)),
      id: this.#first ?? "",
    };
  }
}

const acts: readonly ((customer: Customer) => void)[] = [
  // More than a page of transactions, bought again after a lapse.
  (customer) => {
    customer.buy("SUBSCRIBED", "INITIAL_BUY", { purchasedAt: onDay(1) });
    customer.renew(11, onDay(8));
    const last = { purchasedAt: onDay(85), expiresAt: onDay(92) };
    const { sent } = customer.buy("DID_RENEW", null, last);
    customer.tell("EXPIRED", "VOLUNTARY", sent, onDay(92) + 3_600_000, 2);
    customer.buy("SUBSCRIBED", "RESUBSCRIBE", { purchasedAt: onDay(100) });
    customer.renew(11, onDay(107));
    customer.is(1);
  },
  // Ended, and did not come back.
  (customer) => {
    customer.buy("SUBSCRIBED", "INITIAL_BUY", { purchasedAt: onDay(20), price: 9000n });
    const { sent } = customer.buy("DID_RENEW", null, { purchasedAt: onDay(27), price: 9000n });
    customer.tell("EXPIRED", "VOLUNTARY", sent, onDay(34) + 3_600_000, 2);
    customer.is(2, 1);
  },
  // A trial that converts.
  (customer) => {
    customer.buy("SUBSCRIBED", "INITIAL_BUY", { purchasedAt: onDay(40), offer: "FREE_TRIAL" });
    customer.renew(19, onDay(47));
    customer.is(1);
  },
  // Upgraded in the middle of a period.
  (customer) => {
    const { listed } = customer.buy("SUBSCRIBED", "INITIAL_BUY", { purchasedAt: onDay(60) });
    const more = { product: "history.week.pro", price: 21000n };
    customer.buy("DID_CHANGE_RENEWAL_PREF", "UPGRADE", { purchasedAt: onDay(63), ...more });
    customer.become(listed, { isUpgraded: true, revokedAt: onDay(63) });
    customer.renew(15, onDay(70), more);
    customer.is(1);
  },
  // Half of a period refunded, and it goes on.
  (customer) => {
    const { listed } = customer.buy("SUBSCRIBED", "INITIAL_BUY", { purchasedAt: onDay(64) });
    customer.renew(15, onDay(71));
    const change = { revokedAt: onDay(66), revocationPercentage: 50_000 };
    const refunded = customer.become(listed, change);
    customer.tell("REFUND", null, refunded, onDay(66) + 60_000, 1);
    customer.is(1);
  },
  // Refunded, and over with it.
  (customer) => {
    const { listed } = customer.buy("SUBSCRIBED", "INITIAL_BUY", { purchasedAt: onDay(84) });
    const refunded = customer.become(listed, { revokedAt: onDay(86) });
    customer.tell("REFUND", null, refunded, onDay(86) + 60_000, 5);
    customer.is(5);
  },
  // Could not be charged for ten days, then it could.
  (customer) => {
    customer.buy("SUBSCRIBED", "INITIAL_BUY", { purchasedAt: onDay(100) });
    customer.buy("DID_RENEW", "BILLING_RECOVERY", { purchasedAt: onDay(117) });
    customer.renew(7, onDay(124));
    customer.is(1);
  },
  // Could not be charged, until Apple gave up.
  (customer) => {
    const { sent } = customer.buy("SUBSCRIBED", "INITIAL_BUY", { purchasedAt: onDay(2) });
    customer.tell("EXPIRED", "BILLING_RETRY", sent, onDay(9 + 60), 2);
    customer.is(2, 2);
  },
  // Once, and given back.
  (customer) => {
    const once = { kind: "Consumable", product: "history.coins", expiresAt: null } as const;
    const { listed } = customer.buy("ONE_TIME_CHARGE", null, { purchasedAt: onDay(70), ...once });
    const refunded = customer.become(listed, { revokedAt: onDay(75) });
    customer.tell("REFUND", null, refunded, onDay(75) + 60_000);
  },
  // Shared by the family: nobody paid.
  (customer) => {
    customer.buy("SUBSCRIBED", "INITIAL_BUY", {
      purchasedAt: onDay(80),
      ownership: "FAMILY_SHARED",
    });
    customer.is(1);
  },
];
/** Was bought before the first day. */
const early = (customer: Customer): void => {
  const before = { kind: "Non-Consumable", product: "history.pack", expiresAt: null } as const;
  customer.buy(null, null, { purchasedAt: onDay(-3), ...before });
};

describe("A backfill of the App Store", function () {
  this.timeout(200_000);
  let store: AppStore;
  let calls: Signed[];
  let uploaded: string[];
  const suite = new HistorySuite({
    provider: "apple",
    from: dayText(0),
    ids: () => uploaded,
    api: ({ appStore }) => appStore,
    credentials: ({ appStore }) => appStore.credentials,
    prepare({ appStore }) {
      store = appStore;
      const stories = [...acts, early].map((act) => {
        const customer = new Customer(store);
        act(customer);
        return customer.story;
      });
      store.customers.push(...stories.map(({ customer }) => customer));
      uploaded = stories.map(({ id }) => id);
      calls = stories.flatMap(({ notifications }) =>
        notifications.map((one) => apple.sign(notificationBody(one), store.signer, Date.now())),
      );
    },
    reported: () => calls,
    sign: (call) => call,
    moments,
  });
  const { endpoints } = suite;
  afterEach(() => {
    store.notifications.length = 0;
  });
  after(() => {
    store.customers.length = 0;
  });

  it("should have something to compare with", () => {
    const { alone } = suite;
    expect(alone.transactions.length).to.be.above(80);
    expect(alone.transactions.map(({ status }) => status)).to.include("refunded");
    expect(new Set(alone.mrr).size).to.be.above(3);
  });

  it("should read all of customers that are named, though the API fails now and then", async () => {
    // One of another app, one that is none.
    const ids = [...uploaded, "999", "no-id"];
    const ways: Failure[] = [
      // A moment, not a number of seconds.
      (response) => send(response, 429, {}, { "retry-after": `${Date.now() + 20}` }),
      answered(500),
      cut,
      // Apple looks again: the customer is not passed over.
      answered(404, { errorCode: 4040006 }),
    ];
    const done = await suite.readThroughFailures(4, { ids, ways });
    expect(done.counts).to.include({ notifications: 0, refunds: 3, subscriptions: 9 });
    const listed = done.comparison.map((month) => month.listed);
    expect(listed.reduce((sum, { count }) => sum + count, 0)).to.equal(
      suite.alone.transactions.length,
    );
    expect(listed.reduce((sum, { refunded }) => sum + refunded, 0)).to.equal(3.5 + 7 + 7);
    expect(done.comparison.every(({ same }) => same)).to.equal(true);
    expect(done.missing.join()).to.include("lists no customers");
    expect(await coverage(endpoints, suite.integration)).to.match(/^none( api)+ none$/);
  });

  suite.itComesToTheSame();

  it("should read the customers of a file by the command, and refuse a wrong file", async () => {
    const { of: other, id } = await suite.fresh();
    const folder = mkdtempSync(join(tmpdir(), "ids-"));
    const file = join(folder, "ids.txt");
    const lines: string[] = [];
    // This service runs the processors already.
    const steps = { startProcessors: async () => {}, report: (line: string) => lines.push(line) };
    const given = { integration: id, from: from + dayMs / 2, ids: file };
    try {
      for (const [content, refusal] of [
        [null, /There is no file/],
        ["1\n2 3\n", /id 2 is wrong/],
        ["1\n".repeat(5_000), /the list is wrong/],
      ] as const) {
        if (content !== null) writeFileSync(file, content);
        expect(await backfillCommand(other.service, given, steps)).to.equal(2);
        expect(lines.pop()).to.match(refusal);
      }
      writeFileSync(file, `\u{feff}${uploaded.join("\r\n")}\r\n\r\n`);
      expect(await backfillCommand(other.service, given, steps), lines.join("\n")).to.equal(0);
    } finally {
      rmSync(folder, { recursive: true });
    }
    expect(await suite.figures(other)).to.deep.equal(suite.alone);
  });

  it("should book what Apple notified of, and then know whom to ask about", async () => {
    const { of: other, id } = await suite.fresh();
    list(calls);
    const done = await backfilled(other, id, dayText(0));
    expect(done, done.problem ?? "").to.include({ state: "done", problem: null });
    expect(done.counts).to.include({ notifications: calls.length });
    expect(done.counts["transactions"]).to.be.above(suite.alone.transactions.length);
    expect(await suite.figures(other)).to.deep.equal(suite.alone);
    expect(await other.rejects()).to.deep.equal([]);
    expect(await coverage(other, id)).to.match(/^none( api)+ none$/);
  });

  it("should call no month covered of which Apple lists no notifications", async () => {
    const { of: other, id } = await suite.fresh();
    expect(await backfilled(other, id, dayText(-60))).to.include({ state: "done" });
    // It was asked for eight months; the first and the last one are not over in whole.
    const months = await coverage(other, id);
    expect(months).to.match(/^none( api)+ none$/);
    expect(months.split(" ").length).to.be.below(8);
  });

  // Some of them were attempted, of all the customers have transactions.
  for (const seed of [1, 2]) {
    suite.itChangesNothing([seed], () => list(calls.filter((_call, index) => index % 3 === seed)));
  }

  suite.itReportsADifference({
    isRead: ({ pathname, search }) =>
      pathname === `/inApps/v2/history/${uploaded[0]}` && search.startsWith("?inApp"),
    readings: 2,
    change() {
      const late = new Customer(store);
      late.buy(null, null, { purchasedAt: onDay(90) });
      const { transactions: listed } = late.story.customer;
      const bought = listed.map((one) => ({ ...one, originalTransactionId: uploaded[0] ?? "" }));
      const [first = { transactions: [], statuses: {} }] = store.customers;
      const all = [...first.transactions, ...bought];
      store.customers.splice(0, 1, { ...first, transactions: all });
      return () => void store.customers.splice(0, 1, first);
    },
  });

  it("should fail rather than pass over what Apple would not understand", async () => {
    const refused = { errorCode: 4000005, errorMessage: "Invalid request revision." };
    store.misbehave = always(answered(400, refused), "/inApps/v2/history/");
    const failed = await suite.read();
    expect(failed).to.include({ state: "failed" });
    expect(failed.problem).to.include("refused transactions: answered 400");
  });

  it("should say that it has no key, and that a key is refused", async () => {
    const other = await openEndpoints({ hasStripe: false });
    const { bundle_id } = store.credentials;
    const { id } = await other.integrate("apple", { bundle_id });
    const keyless = await backfilled(other, id, dayText(0));
    expect(keyless).to.include({ state: "failed" });
    expect(keyless.problem).to.include("no key");
    const wrong = await suite.connect(other, { key_id: "ANOTHER" });
    const refused = await backfilled(other, wrong.id, dayText(0));
    expect(refused).to.include({ state: "failed" });
    expect(refused.problem).to.include("answered 401");
  });

  it("should refuse ids that it cannot take, and a key without its name", async () => {
    const start = (id: string, ids: readonly string[]) =>
      endpoints.manage("POST", `${endpoints.path}/integrations/${id}/backfill`, {
        from: dayText(0),
        ids,
      });
    expectError(
      await start(suite.integration, Array.from({ length: 4_001 }, String)),
      "422 field_invalid ids",
    );
    expectError(await start(suite.integration, ["two ids"]), "422 field_invalid ids.0");
    const seller = { seller_id: "c2VsbGVy", access_token: "none" };
    const { id } = await endpoints.integrate("gumroad", seller);
    expectError(await start(id, ["1"]), "422 ids_unsupported ids");
    const { key_id: _name, ...nameless } = store.credentials;
    const body = { provider: "apple", environment: "Production", credentials: nameless };
    const refused = await endpoints.manage("POST", `${endpoints.path}/integrations`, body);
    expectError(refused, "422 credential_invalid credentials.key_id");
    expect(refused.text).to.include("wrong: issuer_id, key_id, private_key come together.");
  });

  /** Apple lists them as notifications it has attempted to send. */
  function list(some: readonly Signed[]): void {
    for (const { body } of some) {
      const parsed: unknown = JSON.parse(body.toString());
      const signedPayload = (isObject(parsed) ? textOf(parsed["signedPayload"]) : null) ?? "";
      store.notifications.push({ signedPayload, sentAt: onDay(100) });
    }
  }

  async function coverage(of: Endpoints, id: string): Promise<string> {
    const months = await coverageOf(of, id);
    return months.map(({ known_by: by }) => by).join(" ");
  }
});
