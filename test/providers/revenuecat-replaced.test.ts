/** Plans of Google Play that RevenueCat reports under another original transaction. */
import { expect } from "chai";
import { purchaseBody, type PurchaseType } from "../../ops/payloads/revenuecat.js";
import { decodedBy, inWordsOfModel } from "../model/compare/adapter-facts.js";
import { bundledQuotes } from "../model/bundled-quotes.js";
import { must } from "../model/readers/json.js";
import { timelinesOf, worthAt } from "../model/mrr.js";
import { providers } from "../harness/provider-cases.js";

const day = (number: number) => Date.UTC(2026, 2, number);

/** At a day, of an original transaction: bought or announced for a price, up to a day. */
type Reported = readonly [
  type: PurchaseType,
  at: number,
  original: string,
  cents: bigint,
  end: number,
];

/** `mrr`: in dollars, as of days. */
const cases: readonly [what: string, reported: readonly Reported[], mrr: string][] = [
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

describe("A plan of Google Play that another replaces", () => {
  for (const [what, reported, mrr] of cases) {
    for (const order of ["as reported", "backwards"]) {
      it(`${what}: ${order}`, () => {
        const events = reported.map((one, index) => eventOf(one, index));
        if (order === "backwards") events.reverse();
        const adapter = must(providers.get("revenuecat"), "an adapter");
        const facts = inWordsOfModel(decodedBy(adapter, events));
        const timelines = timelinesOf(facts, "USD", bundledQuotes());
        const worth = (at: number) =>
          timelines.reduce((sum, one) => sum + worthAt(one, day(at)), 0n);
        const read = mrr.split(", ").map((part) => {
          const [at = ""] = part.split(": ");
          return `${at}: ${Number(worth(Number(at))) / 1_000_000}`;
        });
        expect(read.join(", ")).to.equal(mrr);
      });
    }
  }
});

function eventOf([type, at, original, amount, end]: Reported, index: number) {
  const id = `rcevt_${index}`;
  const bytes = purchaseBody(type, {
    id,
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
  const body = JSON.parse(bytes.toString());
  return { id, source: "revenuecat" as const, receivedAt: day(90) + index, body };
}
