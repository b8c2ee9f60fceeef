import { expect } from "chai";
import {
  type ApiVersion,
  apiVersions,
  discountObject,
  type JsonObject,
  type PriceInput,
  stripeEvent,
  type SubscriptionInput,
} from "../../../ops/payloads/stripe.js";
import { decode } from "../../../providers/stripe/decode.js";
import { statesOf, stripeSubscription } from "../../harness/decoded.js";

const createdAt = Date.UTC(2026, 0, 15, 10);
const day = 86_400_000;

type Discount = Omit<Parameters<typeof discountObject>[0], "id" | "startAt" | "version">;

interface Item extends Partial<PriceInput> {
  readonly quantity?: number;
  readonly off?: readonly Discount[];
}

interface Reported {
  readonly type?: string;
  readonly at?: number;
  readonly previous?: JsonObject;
  readonly state?: Partial<SubscriptionInput>;
  readonly items?: readonly Item[];
  readonly off?: readonly Discount[];
  readonly more?: JsonObject;
}

/** `phase day: item=monthly …; day: …`, days since creation; or the reason of a reject. */
function worth(reported: Reported, version: ApiVersion): string {
  const discounts = (given: readonly Discount[], owner: string): JsonObject[] =>
    given.map((off, place) =>
      discountObject({ ...off, id: `di_${owner}_${place}`, startAt: createdAt, version }),
    );
  const prices = (reported.items ?? [{}]).map(({ off = [], ...price }, place) => ({
    ...price,
    discounts: discounts(off, `item${place}`),
  }));
  const whole = discounts(reported.off ?? [], "sub");
  const made = stripeSubscription(createdAt, prices, {
    version,
    discounts: whole,
    ...reported.state,
  });
  const object = { ...made, ...reported.more };
  const { type = "customer.subscription.created", at = createdAt, previous } = reported;
  const decoded = decode(
    stripeEvent({ id: "evt_1", type, at, object, version, ...(previous ? { previous } : {}) }),
  );
  if (decoded.outcome !== "facts") {
    return decoded.outcome === "rejected" ? decoded.reason : decoded.outcome;
  }
  return statesOf(decoded)
    .map(({ phase, steps }) => `${phase} ${steps.map(stepText).join("; ")}`)
    .join(" | ");
}

function stepText(step: {
  at: number;
  items: { item: string; monthly_numerator: bigint; monthly_denominator: bigint }[];
}): string {
  const items = step.items.map(({ item, monthly_numerator: above, monthly_denominator: below }) =>
    below === 1n ? `${item}=${above}` : `${item}=${above}/${below}`,
  );
  return `${(step.at - createdAt) / day}: ${items.join(" ") || "nothing"}`;
}

function table(cases: readonly [title: string, reported: Reported, expected: string][]): void {
  for (const [title, reported, expected] of cases) {
    for (const version of apiVersions) {
      it(`should read ${title} (${version})`, () => {
        expect(worth(reported, version)).to.equal(expected);
      });
    }
  }
}

const updated = "customer.subscription.updated";
const forever = { duration: "forever" } as const;

describe("Stripe prices", () => {
  const tiers: JsonObject[] = [
    { up_to: 5, unit_amount: 1000, unit_amount_decimal: "1000", flat_amount: null },
    { up_to: 10, unit_amount: 800, flat_amount: 50, flat_amount_decimal: "50" },
    { up_to: null, unit_amount: null, unit_amount_decimal: "0.5", flat_amount: 2000 },
  ];
  const graduated: Item = { unitAmount: null, tiersMode: "graduated", tiers };
  const volume: Item = { ...graduated, tiersMode: "volume" };
  const packs = (round: "up" | "down"): Item => ({
    quantity: 25,
    transformQuantity: { divideBy: 10, round },
  });

  table([
    ["a month", { items: [{ quantity: 3 }] }, "started 0: si_1=3000"],
    ["three months", { items: [{ intervalCount: 3 }] }, "started 0: si_1=1000/3"],
    ["a year", { items: [{ interval: "year" }] }, "started 0: si_1=250/3"],
    ["a week", { items: [{ interval: "week" }] }, "started 0: si_1=13000/3"],
    ["two weeks", { items: [{ interval: "week", intervalCount: 2 }] }, "started 0: si_1=6500/3"],
    ["a day", { items: [{ interval: "day" }] }, "started 0: si_1=91250/3"],
    [
      "fractions of a cent",
      { items: [{ unitAmountDecimal: "0.125", quantity: 3 }] },
      "started 0: si_1=3/8",
    ],
    ["packages begun", { items: [packs("up")] }, "started 0: si_1=3000"],
    ["whole packages", { items: [packs("down")] }, "started 0: si_1=2000"],
    ["no quantity of a price", { items: [{ quantity: 0 }] }, "started 0: nothing"],
    ["a free price", { items: [{ unitAmount: 0n }, {}] }, "started 0: si_2=1000"],
    ["metered usage apart", { items: [{}, { usageType: "metered" }] }, "started 0: si_1=1000"],
    ["graduated, first tier", { items: [{ ...graduated, quantity: 5 }] }, "started 0: si_1=5000"],
    ["graduated, 7 of 10", { items: [{ ...graduated, quantity: 7 }] }, "started 0: si_1=6650"],
    ["graduated, all tiers", { items: [{ ...graduated, quantity: 12 }] }, "started 0: si_1=11051"],
    ["volume, first tier", { items: [{ ...volume, quantity: 5 }] }, "started 0: si_1=5000"],
    ["volume, second tier", { items: [{ ...volume, quantity: 6 }] }, "started 0: si_1=4850"],
    ["volume, last tier", { items: [{ ...volume, quantity: 11 }] }, "started 0: si_1=4011/2"],
    [
      "tiers that are not reported",
      { items: [{ unitAmount: null, tiersMode: "volume" }] },
      "enrichment_unavailable",
    ],
    ["two currencies in one", { items: [{}, { currency: "usd" }] }, "enrichment_unavailable"],
    ["a currency nobody knows", { items: [{ currency: "zzq" }] }, "currency_unknown"],
    [
      "a price beyond the record",
      { items: [{ unitAmountDecimal: "0.00000000000000000001" }] },
      "price_too_precise",
    ],
  ]);
});

describe("Stripe discounts", () => {
  const half = { percentOff: 50, ...forever };
  const euros = (amount: bigint) => ({ amountOff: amount, currency: "eur", ...forever });
  const wholeHalf = discountObject({ ...half, id: "di_1", startAt: createdAt });
  const three: Item[] = [{}, {}, {}];
  const ending = (days: number, percentOff = 50): Discount => ({
    percentOff,
    duration: "repeating",
    endAt: createdAt + days * day,
  });

  table([
    ["a percentage", { off: [half] }, "started 0: si_1=500"],
    ["a broken percentage", { off: [{ ...half, percentOff: 12.5 }] }, "started 0: si_1=875"],
    ["a finer percentage", { off: [{ ...half, percentOff: 33.33 }] }, "started 0: si_1=6667/10"],
    ["all of it", { off: [{ ...half, percentOff: 100 }] }, "started 0: nothing"],
    ["an amount", { off: [euros(300n)] }, "started 0: si_1=700"],
    ["an amount above the price", { off: [euros(3000n)] }, "started 0: nothing"],
    [
      "an amount off a year",
      { items: [{ interval: "year" }], off: [euros(400n)] },
      "started 0: si_1=50",
    ],
    [
      "an amount over equal items, the rest on the first",
      { items: three, off: [euros(100n)] },
      "started 0: si_1=966 si_2=967 si_3=967",
    ],
    [
      "an amount over items, the rest on the largest",
      { items: [{}, { quantity: 2 }], off: [euros(100n)] },
      "started 0: si_1=967 si_2=1933",
    ],
    [
      "an item's own before the subscription's",
      { items: [{ off: [half] }, {}], off: [euros(300n)] },
      "started 0: si_1=400 si_2=800",
    ],
    ["one after the other", { off: [euros(200n), half] }, "started 0: si_1=400"],
    ["one after the other, turned round", { off: [half, euros(200n)] }, "started 0: si_1=300"],
    ["a one-time coupon", { off: [{ percentOff: 50, duration: "once" }] }, "started 0: si_1=1000"],
    ["an announced end", { off: [ending(90)] }, "started 0: si_1=500; 90: si_1=1000"],
    [
      "two announced ends",
      { off: [ending(90), ending(30, 20)] },
      "started 0: si_1=400; 30: si_1=500; 90: si_1=1000",
    ],
    [
      "an end that has passed",
      { type: updated, at: createdAt + 91 * day, off: [ending(90)] },
      "changed 91: si_1=1000",
    ],
    [
      "an end in the moment of the change",
      { type: updated, at: createdAt + 90 * day, off: [ending(90)] },
      "changed 90: si_1=1000",
    ],
    ["an item's end", { items: [{ off: [ending(60)] }] }, "started 0: si_1=500; 60: si_1=1000"],
    [
      "a coupon of another currency",
      { off: [{ amountOff: 100n, currency: "usd", ...forever }] },
      "enrichment_unavailable",
    ],
    ["only an id", { state: { discounts: ["di_1"] } }, "enrichment_unavailable"],
    [
      "only an id beside the whole",
      { state: { discounts: ["di_1"] }, more: { discount: wholeHalf } },
      "started 0: si_1=500",
    ],
    [
      "only an id where nothing is paid",
      { state: { discounts: ["di_1"], status: "trialing", trialEndAt: createdAt + day } },
      "started 0: nothing",
    ],
  ]);
});

describe("Stripe subscription states", () => {
  const trial = { trialEndAt: createdAt + 14 * day };
  const change = (days: number, reported: Reported): Reported => ({
    type: updated,
    at: createdAt + days * day,
    ...reported,
  });
  const was = (status: string): { previous: JsonObject } => ({ previous: { status } });

  table([
    ["a start reported late", { at: createdAt + day }, "started 0: si_1=1000"],
    ["a start unpaid", { state: { status: "incomplete" } }, "started 0: nothing"],
    ["a start still unpaid", change(1, { state: { status: "incomplete" } }), "started 0: nothing"],
    ["the first payment", change(1, was("incomplete")), "changed 0: si_1=1000"],
    ["a trial", { state: { status: "trialing", ...trial } }, "started 0: nothing"],
    [
      "a trial given to a customer",
      change(5, { state: { status: "trialing", ...trial }, ...was("active") }),
      "changed 5: nothing",
    ],
    [
      "a trial that converts, reported a day late",
      change(15, { state: trial, ...was("trialing") }),
      "changed 14: si_1=1000",
    ],
    [
      "a trial that converts unpaid",
      change(14, { state: { ...trial, status: "past_due" }, ...was("trialing") }),
      "changed 14: si_1=1000",
    ],
    [
      "a trial cut short",
      change(3, { state: { trialEndAt: createdAt + 20 * day }, ...was("trialing") }),
      "changed 3: si_1=1000",
    ],
    ["past due", change(40, { state: { status: "past_due" } }), "changed 40: si_1=1000"],
    ["unpaid", change(60, { state: { status: "unpaid" } }), "changed 60: nothing"],
    ["paid again", change(61, was("unpaid")), "changed 61: si_1=1000"],
    ["paused", change(50, { state: { status: "paused" } }), "changed 50: nothing"],
    ["collection paused", change(50, { state: { collectionPaused: true } }), "changed 50: nothing"],
    [
      "a scheduled end",
      change(50, { state: { cancelAtPeriodEnd: true } }),
      "changed 50: si_1=1000",
    ],
    [
      "an end",
      {
        type: "customer.subscription.deleted",
        at: createdAt + 62 * day,
        state: { status: "canceled", endedAt: createdAt + 61 * day },
      },
      "ended 61: nothing",
    ],
    [
      "an end without its date",
      { type: "customer.subscription.deleted", at: createdAt + 62 * day },
      "ended 62: nothing",
    ],
    [
      "an update of an ended one",
      change(70, { state: { status: "canceled", endedAt: createdAt + 61 * day } }),
      "ended 61: nothing",
    ],
    ["no customer", { state: { customer: "" } }, "malformed"],
    [
      "a list of only some items",
      { more: { items: { object: "list", data: [], has_more: true } } },
      "enrichment_unavailable",
    ],
  ]);

  it("should date a trial's late reading before the conversion it must not undo", () => {
    const late = change(15, { state: { status: "trialing", ...trial } });
    expect(worth(late, "2025-09-30.clover")).to.equal(`changed ${14 - 1 / day}: nothing`);
  });

  it("should date what is reported after a scheduled end before the end it must not undo", () => {
    const cancelAt = createdAt + 31 * day;
    const late = { at: cancelAt + 20_000, type: updated, state: { cancelAt } };
    expect(worth(late, "2025-09-30.clover")).to.equal(`changed ${31 - 1 / day}: si_1=1000`);
    const early = { ...late, at: createdAt + 30 * day };
    expect(worth(early, "2025-09-30.clover")).to.equal("changed 30: si_1=1000");
    const kept = { ...late, at: createdAt + 32 * day, state: {} };
    expect(worth(kept, "2025-09-30.clover"), "taken back").to.equal("changed 32: si_1=1000");
  });
});
