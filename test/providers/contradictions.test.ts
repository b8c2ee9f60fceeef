/** Events whose amounts and states cannot be true together: rejects, never nothing. */
import { expect } from "chai";
import type { ProviderToken } from "../../providers/provider.js";
import { parseBody } from "../../http/webhook-body.js";
import { cases, fixturesOf, providers } from "../harness/provider-cases.js";
import { must } from "../model/readers/json.js";

type Changes = Readonly<Record<string, unknown>>;

/** An example that reads well as it is, and what makes it a contradiction, by path. */
const rows: [provider: ProviderToken, example: string, what: string, changes: Changes][] = [
  ["stripe", "charge.succeeded.new", "captured, but nothing of it", charge({ amount_captured: 0 })],
  [
    "stripe",
    "charge.succeeded.new",
    "paid, less than nothing",
    charge({ amount: -2900, amount_captured: null }),
  ],
  ["stripe", "charge.succeeded.new", "paid and failed", charge({ status: "failed" })],
  ["stripe", "charge.succeeded.new", "succeeded, not paid", charge({ paid: false })],
  ["stripe", "charge.refunded.whole.new", "refunded by more", charge({ amount_refunded: 2901 })],
  ["stripe", "charge.refunded.whole.new", "refunded by nothing", charge({ amount_refunded: 0 })],
  ["stripe", "charge.refunded.whole.new", "refunded by less", charge({ amount_refunded: -1 })],
  ["stripe", "refund.created.new", "a refund below nothing", charge({ amount: -900 })],
  ["stripe", "charge.dispute.closed.lost.old", "a lost dispute of nothing", charge({ amount: 0 })],
  [
    "stripe",
    "credit_note.created.outside.old",
    "a credit note below nothing",
    charge({ out_of_band_amount: -1 }),
  ],
  [
    "stripe",
    "invoice.paid.first.new",
    "paid, and all is due",
    charge({ amount_paid: 0, amount_remaining: 3927 }),
  ],
  ["stripe", "invoice.paid.first.new", "paid, less than nothing", charge({ amount_paid: -3927 })],
  [
    "stripe",
    "invoice_payment.paid.intent.new",
    "a payment below nothing",
    charge({ amount_paid: -2900 }),
  ],
  [
    "paddle",
    "transaction.completed.one-off",
    "nothing collected, and captured",
    { "data.details.totals.grand_total": "0" },
  ],
  [
    "paddle",
    "transaction.completed.one-off",
    "nothing collected of a total without credit",
    {
      "data.details.totals.grand_total": "0",
      "data.details.totals.credit": "0",
      "data.payments": [],
    },
  ],
  [
    "paddle",
    "transaction.completed.one-off",
    "less than nothing collected",
    { "data.details.totals.grand_total": "-1" },
  ],
  [
    "paddle",
    "adjustment.updated.approved.partial",
    "nothing of its items",
    { "data.totals.total": "0" },
  ],
  [
    "paddle",
    "adjustment.updated.approved.partial",
    "less than nothing",
    { "data.totals.total": "-1" },
  ],
  ["lemonsqueezy", "order_created", "paid, nothing of its items", lemon({ total: 0 })],
  ["lemonsqueezy", "order_refunded.whole", "refunded by more", lemon({ refunded_amount: 2381 })],
  ["lemonsqueezy", "order_refunded.whole", "refunded by nothing", lemon({ refunded_amount: 0 })],
  ["lemonsqueezy", "order_refunded.partial", "a part of nothing", lemon({ refunded_amount: 0 })],
  [
    "lemonsqueezy",
    "subscription_payment_refunded.whole",
    "refunded by more",
    lemon({ refunded_amount: 2381 }),
  ],
  [
    "revenuecat",
    "initial_purchase.yearly-euro",
    "free in its currency, not in USD",
    { "event.price_in_purchased_currency": 0 },
  ],
  [
    "apple",
    "REFUND.half",
    "a refund of no part",
    { "data.signedTransactionInfo.revocationPercentage": 0 },
  ],
  ["gumroad", "sale", "a fee of a sale of nothing", { price: "0" }],
];

/** The first order among the answers, changed so. */
const orders: [what: string, changes: Changes][] = [
  ["less than nothing", { total: { currencyCode: "USD", units: "-5" } }],
  ["nothing of its lines", { total: { currencyCode: "USD", units: "0" } }],
  ["returned by more", returned({ currencyCode: "USD", units: "5000" })],
  ["returned in another currency", returned({ currencyCode: "JPY", units: "1" })],
];

describe("An event that contradicts itself", () => {
  for (const [token, example, what, changes] of rows) {
    it(`should be a reject: ${token}, ${what} (${example})`, () => {
      expect(decoded(token, example, {}).outcome, "as it is").to.equal("facts");
      const odd = decoded(token, example, changes);
      expect(odd).to.include({ outcome: "rejected", reason: "contradictory" });
    });
  }

  for (const [what, changes] of orders) {
    it(`should be a reject: google, an order of ${what}`, () => {
      expect(decoded("google", "product.purchased", {}).outcome, "as it is").to.equal("facts");
      const odd = decoded("google", "product.purchased", {}, changes);
      expect(odd).to.include({ outcome: "rejected", reason: "contradictory" });
    });
  }
});

/** @param ofOrder of each order among the answers */
function decoded(token: ProviderToken, name: string, changes: Changes, ofOrder: Changes = {}) {
  const provider = must(providers.get(token), "an adapter");
  const found = fixturesOf(token).find((fixture) => fixture.name === name);
  const { body, known } = must(found, `an example ${name}`);
  const parsed = parseBody(provider, body);
  if (!parsed.ok) throw new Error(parsed.message);
  for (const [path, value] of Object.entries(changes)) set(parsed.value, path, value);
  const answers = new Map(
    Array.from(known.answers, ([path, answer]) => {
      return [path, path.includes("/orders/") ? { ...Object(answer), ...ofOrder } : answer];
    }),
  );
  return provider.decode(asSent(token, parsed.value), { ...known, answers });
}

/** Apple's body is signed inside. */
function asSent(token: ProviderToken, body: unknown): unknown {
  if (token !== "apple") return body;
  const { signers } = must(cases.apple, "a signer");
  const apple = must(providers.get(token), "an adapter");
  const sent = apple.sign(Buffer.from(JSON.stringify(body)), signers?.[0], Date.now());
  return JSON.parse(sent.body.toString());
}

function charge(fields: Changes): Changes {
  return under("data.object", fields);
}

function lemon(fields: Changes): Changes {
  return under("data.attributes", fields);
}

function under(path: string, fields: Changes): Changes {
  const entries = Object.entries(fields);
  return Object.fromEntries(entries.map(([name, value]) => [`${path}.${name}`, value]));
}

function returned(total: Changes): Changes {
  const at = "2026-01-02T00:00:00Z";
  const event = { createTime: at, processTime: at, refundDetails: { total } };
  return { orderHistory: { partialRefundEvents: [event] } };
}

function set(body: unknown, path: string, value: unknown): void {
  const names = path.split(".");
  const last = names.pop() ?? "";
  const parent = names.reduce<unknown>((object, name) => Object(object)[name], body);
  Object(parent)[last] = value;
}
