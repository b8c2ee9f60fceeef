/** Events whose amounts and states cannot be true together: rejects, never nothing. */
import { expect } from "chai";
import { type ProviderToken, providerTokens } from "../../schemas/provider-tokens.js";
import { parseBody } from "../../schemas/parse.js";
import { cases, fixtureOf, providers } from "../harness/provider-cases.js";
import { must } from "../model/readers/json.js";
import { cell, rowsOf } from "../model/tables/table.js";

type Changes = Readonly<Record<string, unknown>>;

/** Examples that read well as they are, and what makes each a contradiction: JSON by field. */
const rows = rowsOf(`
  provider     | example                             | changed
  stripe       | charge.succeeded.new                | amount_captured=0
  stripe       | charge.succeeded.new                | amount=-2900 amount_captured=null
  stripe       | charge.succeeded.new                | status="failed"
  stripe       | charge.succeeded.new                | paid=false
  stripe       | charge.refunded.whole.new           | amount_refunded=2901
  stripe       | charge.refunded.whole.new           | amount_refunded=0
  stripe       | charge.refunded.whole.new           | amount_refunded=-1
  stripe       | refund.created.new                  | amount=-900
  stripe       | charge.dispute.closed.lost.old      | amount=0
  stripe       | credit_note.created.outside.old     | out_of_band_amount=-1
  stripe       | invoice.paid.first.new              | amount_paid=0 amount_remaining=3927
  stripe       | invoice.paid.first.new              | amount_paid=-3927
  stripe       | invoice_payment.paid.intent.new     | amount_paid=-2900
  # A payment of it was captured; then none was, and no credit paid.
  paddle       | transaction.completed.one-off       | grand_total="0"
  paddle       | transaction.completed.one-off       | grand_total="0" credit="0" /payments=[]
  paddle       | transaction.completed.one-off       | grand_total="-1"
  paddle       | adjustment.updated.approved.partial | total="0"
  paddle       | adjustment.updated.approved.partial | total="-1"
  lemonsqueezy | order_created                       | total=0
  lemonsqueezy | order_refunded.whole                | refunded_amount=2381
  lemonsqueezy | order_refunded.whole                | refunded_amount=0
  lemonsqueezy | order_refunded.partial              | refunded_amount=0
  lemonsqueezy | subscription_payment_refunded.whole | refunded_amount=2381
  polar        | order.refunded.whole                | refunded_amount=2001
  polar        | order.refunded.whole                | refunded_amount=0 refunded_tax_amount=0
  chargebee    | payment_succeeded                   | amount=0
  revenuecat   | initial_purchase.yearly-euro        | price_in_purchased_currency=0
  apple        | REFUND.half                         | revocationPercentage=0
  gumroad      | sale                                | price="0"
`);

/** Where in the body those fields are. */
function placeOf(token: ProviderToken, example: string): string {
  if (token === "paddle") {
    return example.startsWith("transaction") ? "data.details.totals." : "data.totals.";
  }
  const places: Partial<Record<ProviderToken, string>> = {
    stripe: "data.object.",
    lemonsqueezy: "data.attributes.",
    polar: "data.",
    chargebee: "content.transaction.",
    revenuecat: "event.",
    apple: "data.signedTransactionInfo.",
  };
  return places[token] ?? "";
}

/** `paid=false amount=1`; with `/`, a field of `data`. */
function changesOf(place: string, text: string): Changes {
  const changed = text.split(" ").map((change): [path: string, value: unknown] => {
    const [field = "", value = ""] = change.split("=");
    const path = field.startsWith("/") ? `data.${field.slice(1)}` : place + field;
    return [path, JSON.parse(value)];
  });
  return Object.fromEntries(changed);
}

/** The first order among the answers, changed so. */
const orders: [what: string, changes: Changes][] = [
  ["less than nothing", { total: { currencyCode: "USD", units: "-5" } }],
  ["nothing of its lines", { total: { currencyCode: "USD", units: "0" } }],
  ["returned by more", returned({ currencyCode: "USD", units: "5000" })],
  ["returned in another currency", returned({ currencyCode: "JPY", units: "1" })],
];

describe("An event that contradicts itself", () => {
  for (const row of rows) {
    const [example, changed] = [cell(row, "example"), cell(row, "changed")];
    it(`should be a reject: ${row["provider"]}, ${example} with ${changed}`, () => {
      const token = must(
        providerTokens.find((each) => each === row["provider"]),
        "a provider",
      );
      expect(decoded(token, example, {}).outcome, "as it is").to.equal("facts");
      const odd = decoded(token, example, changesOf(placeOf(token, example), changed));
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
  const { body, known } = fixtureOf(token, name);
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
