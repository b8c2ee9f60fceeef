/** Subscriptions of the app stores that another one replaces, as MRR is read of all. */
import { expect } from "chai";
import {
  appleNotification,
  type AppInput,
  type JsonObject,
  transactionInfo,
} from "../../../ops/payloads/apple.js";
import { purchaseBody, type PurchaseType } from "../../../ops/payloads/revenuecat.js";
import { decodedBy, inWordsOfModel } from "../../model/compare/adapter-facts.js";
import { must } from "../../model/readers/json.js";
import { timelinesOf, worthAt } from "../../model/mrr.js";
import { providers } from "../../harness/provider-cases.js";

const day = (number: number) => Date.UTC(2026, 2, 1) + (number - 1) * 24 * 60 * 60 * 1000;

/** At a day, of an original transaction: bought or announced for a price, up to a day. */
type Reported<Type> = readonly [
  type: Type,
  at: number,
  original: string,
  cents: bigint,
  end: number,
  /** Of Apple: the original transaction whose place this one took. */
  previous?: string,
];

/** `mrr`: in dollars, as of days. */
type Cases<Type> = readonly [what: string, reported: readonly Reported<Type>[], mrr: string][];

const ofRevenueCat: Cases<PurchaseType> = [
  [
    "should end the old plan when the new one begins at once",
    [
      ["INITIAL_PURCHASE", 1, "GPA.old", 999n, 32],
      ["PRODUCT_CHANGE", 10, "GPA.old", 0n, 10],
      ["INITIAL_PURCHASE", 10, "GPA.new", 833n, 41],
    ],
    "9: 9.99, 10: 8.33, 40: 8.33",
  ],
  [
    "should end it with its period when the new one comes as a renewal then",
    [
      ["INITIAL_PURCHASE", 1, "GPA.old", 999n, 32],
      ["PRODUCT_CHANGE", 10, "GPA.old", 0n, 32],
      ["RENEWAL", 32, "GPA.new", 499n, 62],
    ],
    "31: 9.99, 32: 4.99, 60: 4.99",
  ],
  [
    "should go on with the old one where it renews after all",
    [
      ["INITIAL_PURCHASE", 1, "GPA.old", 999n, 32],
      ["PRODUCT_CHANGE", 10, "GPA.old", 0n, 32],
      ["RENEWAL", 32, "GPA.old", 999n, 62],
    ],
    "31: 9.99, 32: 9.99, 60: 9.99",
  ],
  [
    "should count the new plan where it is bought under the old one's transaction",
    [
      ["INITIAL_PURCHASE", 1, "GPA.old", 999n, 32],
      ["INITIAL_PURCHASE", 32, "GPA.old", 499n, 62],
      ["PRODUCT_CHANGE", 10, "GPA.old", 0n, 32],
    ],
    "31: 9.99, 32: 4.99, 60: 4.99",
  ],
  [
    "should go on with the old one where its next period begins before that, or a little after",
    [
      ["INITIAL_PURCHASE", 1, "GPA.old", 999n, 32],
      ["PRODUCT_CHANGE", 2, "GPA.old", 0n, 32],
      ["RENEWAL", 31.5, "GPA.old", 999n, 61],
      ["PRODUCT_CHANGE", 33, "GPA.old", 0n, 61],
      ["RENEWAL", 61.01, "GPA.old", 999n, 92],
    ],
    "31: 9.99, 32: 9.99, 61: 9.99, 62: 9.99",
  ],
  [
    "should go on where a renewal begins at the very moment of an end",
    [
      ["INITIAL_PURCHASE", 1, "GPA.old", 999n, 32],
      ["EXPIRATION", 32, "GPA.old", 0n, 32],
      ["RENEWAL", 32, "GPA.old", 999n, 62],
    ],
    "31: 9.99, 32: 9.99, 60: 9.99",
  ],
  [
    "should go on where it is bought again at the very moment of an end",
    [
      ["INITIAL_PURCHASE", 1, "GPA.old", 999n, 32],
      ["INITIAL_PURCHASE", 32, "GPA.old", 499n, 62],
      ["EXPIRATION", 32, "GPA.old", 0n, 32],
    ],
    "31: 9.99, 32: 4.99, 60: 4.99",
  ],
];

const one = ["SUBSCRIBED", 1, "71", 1000n, 31] as const;
const bundle = ["SUBSCRIBED", 11, "72", 1500n, 41, "71"] as const;
const renewed = ["DID_RENEW", 16, "72", 1500n, 46, "71"] as const;
const again = ["SUBSCRIBED", 19, "71", 1000n, 49, "72"] as const;
const expired = ["EXPIRED", 20, "72", 1500n, 46, "71"] as const;
const ofApple: Cases<string> = [
  ["should count alone", [one, bundle], "10: 10, 21: 15"],
  ["should count alone where only its renewal was reported", [one, renewed], "21: 15"],
  ["should make way for the first one again", [one, bundle, renewed, again], "18: 15, 21: 10"],
  ["should end nothing by its end", [one, bundle, again, expired], "21: 10"],
];

describe("A plan of Google Play that another replaces", () => {
  itIsWorth("revenuecat", ofRevenueCat, revenueCatBody);
});

describe("A subscription of the App Store that took another's place", () => {
  itIsWorth("apple", ofApple, appleBody);
});

function itIsWorth<Type>(
  source: "revenuecat" | "apple",
  cases: Cases<Type>,
  bodyOf: (reported: Reported<Type>, index: number) => JsonObject,
): void {
  for (const [what, reported, mrr] of cases) {
    for (const order of ["as reported", "backwards"]) {
      it(`${what}: ${order}`, () => {
        const events = reported.map((each, index) => {
          const body = bodyOf(each, index);
          return { id: `event_${index}`, source, receivedAt: day(90) + index, body };
        });
        if (order === "backwards") events.reverse();
        const adapter = must(providers.get(source), "an adapter");
        const facts = inWordsOfModel(decodedBy(adapter, events));
        const timelines = timelinesOf(facts, "USD");
        const worth = (at: number) =>
          timelines.reduce((sum, timeline) => sum + worthAt(timeline, day(at)), 0n);
        const read = mrr.split(", ").map((part) => {
          const [at = ""] = part.split(": ");
          return `${at}: ${Number(worth(Number(at))) / 1_000_000}`;
        });
        expect(read.join(", ")).to.equal(mrr);
      });
    }
  }
}

const app: AppInput = { bundleId: "com.example.next", appAppleId: 1, environment: "Production" };

function appleBody(reported: Reported<string>, index: number): JsonObject {
  const [type, at, originalId, cents, end, previous] = reported;
  const transaction = transactionInfo(app, {
    id: `${originalId}${index}`,
    originalId,
    ...(previous === undefined ? {} : { previousId: previous }),
    product: "pro",
    purchasedAt: day(at),
    expiresAt: day(end),
    signedAt: day(at),
    price: cents * 10n,
    currency: "USD",
  });
  return appleNotification(app, {
    id: `n-${index}`,
    type,
    status: 1,
    signedAt: day(at),
    transaction,
  });
}

function revenueCatBody(reported: Reported<PurchaseType>, index: number): JsonObject {
  const [type, at, original, amount, end] = reported;
  const bytes = purchaseBody(type, {
    id: `rcevt_${index}`,
    at: day(at) + 1000,
    transaction: `${original}..${index}`,
    original,
    user: "user",
    product: "pro",
    store: "PLAY_STORE",
    environment: "PRODUCTION",
    periodType: "NORMAL",
    purchasedAt: day(at),
    expirationAt: day(end),
    amount,
    usdCents: amount,
    currency: "USD",
    country: "US",
    tax: "0.0",
    commission: null,
  });
  return JSON.parse(bytes.toString());
}
