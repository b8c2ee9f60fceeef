/** How Stripe's invoices weigh their lines, and when they say what was bought. */
import { expect } from "chai";
import { anyTime } from "../../../providers/backfill.js";
import { stripeBackfill } from "../../../providers/stripe/history/backfill.js";
import { asks, decode } from "../../../providers/stripe/decode.js";
import {
  type ApiVersion,
  apiVersions,
  type Json,
  type JsonObject,
  stripeEvent,
} from "../../../ops/payloads/stripe.js";
import { invoiceObject } from "../../../ops/payloads/stripe-money.js";
import { bodiesOf } from "../../harness/decoded.js";

const at = Date.UTC(2026, 4, 4, 12);
const [oldLayout, newLayout] = apiVersions;
const none = new Map<string, unknown>();

interface OddLine {
  readonly amount: number;
  readonly discount?: number;
  /** As the line has them beside its amount. */
  readonly more?: JsonObject;
}

/** Of one product each: a, b, c … */
function invoice(lines: readonly OddLine[], version: ApiVersion, more: JsonObject = {}) {
  const object = invoiceObject({
    id: "in_1",
    customer: "cus_1",
    currency: "eur",
    createdAt: at,
    paidAt: at,
    version,
    lines: lines.map(({ amount, discount = 0 }, place) => ({
      id: `il_${place}`,
      product: "abcdef".charAt(place),
      price: `price_${place}`,
      amount: BigInt(amount),
      discount: BigInt(discount),
    })),
  });
  const { data } = Object(object.lines);
  const shown: Json[] = data.map((line: JsonObject, place: number) => ({
    ...line,
    ...lines[place]?.more,
  }));
  return { ...object, lines: { data: shown, has_more: false }, ...more };
}

function bodyOf(object: JsonObject, version: ApiVersion, type = "invoice.paid") {
  return stripeEvent({ id: "evt_1", type, at, object, version });
}

/** `product weight` of each line, or what became of the event. */
function weights(body: unknown): string {
  const decoded = decode(body);
  if (decoded.outcome !== "facts") return decoded.outcome;
  return bodiesOf(decoded)
    .flatMap((reported) => ("Purchase" in reported ? reported.Purchase.lines : []))
    .map(({ external_id: product, weight }) => `${product || "-"} ${weight}`)
    .join(", ");
}

const credit = (amount: number, type: string): JsonObject => ({
  pretax_credit_amounts: [{ amount, type, [type]: "some_1" }],
});
const taxNow = (amount: number, behavior: string): JsonObject => ({
  taxes: [{ amount, tax_behavior: behavior }],
});
const taxThen = (amount: number, inclusive: boolean): JsonObject => ({
  tax_amounts: [{ amount, inclusive }],
});

describe("The lines of a Stripe invoice", () => {
  const billed = { amount: 10_000, more: credit(10_000, "credit_balance_transaction") };
  const discounted = { amount: 10_000, discount: 2500, more: credit(2500, "discount") };
  const inside = [
    { amount: 10_700, more: taxNow(700, "inclusive") },
    { amount: 11_900, more: taxNow(1900, "inclusive") },
  ];
  const insideThen = [
    { amount: 10_700, more: taxThen(700, true) },
    { amount: 11_900, more: taxThen(1900, true) },
  ];
  const onTop = [
    { amount: 10_000, more: taxNow(700, "exclusive") },
    { amount: 10_000, more: taxThen(1900, false) },
  ];
  const whole = { amount: 5000 };
  const cases: [title: string, lines: OddLine[], version: ApiVersion, weights: string][] = [
    ["without what billing credits paid", [whole, billed], newLayout, "a 5000, b 0"],
    [
      "with a discount once, though it is among the credits, too",
      [whole, discounted],
      newLayout,
      "a 5000, b 7500",
    ],
    ["without the tax inside", inside, newLayout, "a 10000, b 10000"],
    ["without the tax inside, before 2025-03-31", insideThen, oldLayout, "a 10000, b 10000"],
    ["as they are where tax comes on top", onTop, newLayout, "a 10000, b 10000"],
  ];
  for (const [title, lines, version, expected] of cases) {
    it(`should be weighed ${title}`, () => {
      expect(weights(bodyOf(invoice(lines, version), version))).to.equal(expected);
    });
  }

  it("should leave the tax inside out of what is not listed, too", () => {
    const lines = [{ amount: 10_700, more: taxNow(700, "inclusive") }];
    const object = invoice(lines, newLayout, {
      total: 22_600,
      total_taxes: [{ amount: 2600, tax_behavior: "inclusive" }],
    });
    const cut = { ...object, lines: { ...object.lines, has_more: true } };
    expect(weights(bodyOf(cut, newLayout))).to.equal("a 10000, - 10000");
  });
});

describe("A Stripe invoice that is paid in part", () => {
  const lines = [{ amount: 6000 }, { amount: 4000 }];
  const inPart = { amount_paid: 3000, amount_remaining: 7000, status: "open", paid: false };
  const cases: [title: string, state: JsonObject, reported: string][] = [
    ["say what was bought while it is open", inPart, "a 6000, b 4000"],
    ["report it when it is void", { ...inPart, status: "void" }, "a 6000, b 4000"],
    [
      "report nothing before any of it is paid",
      { ...inPart, amount_paid: 0, amount_remaining: 10_000 },
      "ignored",
    ],
  ];
  for (const [title, state, reported] of cases) {
    it(`should ${title}`, () => {
      for (const version of apiVersions) {
        const body = bodyOf(invoice(lines, version, state), version, "invoice.updated");
        expect(weights(body)).to.equal(reported);
      }
    });
  }

  it("should leave money from outside to its records: they know when it came", () => {
    const object = invoice(lines, newLayout, { ...inPart, amount_paid_off_stripe: 3000 });
    const bodies = bodiesOf(decode(bodyOf(object, newLayout, "invoice.updated")));
    expect(bodies.flatMap((body) => Object.keys(body))).to.deep.equal(["Purchase"]);
  });

  it("should ask for its lines after the tenth", () => {
    const object = invoice(lines, newLayout, inPart);
    const cut = { ...object, lines: { ...object.lines, has_more: true } };
    const body = bodyOf(cut, newLayout, "invoice.updated");
    const [question] = asks(body, { kept: none, answers: none });
    expect(question?.path).to.match(/^\/v1\/invoices\/in_1\/lines/);
  });

  it("should be read in the history", () => {
    const list = stripeBackfill.lists.find(({ name }) => name === "invoices");
    const span = { from: at, to: at };
    expect(list?.path(span, null)).not.to.include("status");
    const data = [inPart, { ...inPart, status: "draft", amount_paid: 0 }, {}].map((state) =>
      invoice(lines, newLayout, { ...state, created: at / 1000 }),
    );
    const read = list?.read({ object: "list", data, has_more: false }, at, anyTime);
    expect(read?.events.map(({ body }) => weights(body))).to.deep.equal([
      "a 6000, b 4000",
      "a 6000, b 4000",
    ]);
  });
});
