/** What a backfill of Stripe knows of what its payments bought. */
import { expect } from "chai";
import { eventBody, type JsonObject, stripeEvent } from "../../ops/payloads/stripe.js";
import {
  chargeObject,
  invoiceObject,
  invoicePaymentObject,
} from "../../ops/payloads/stripe-money.js";
import { sessionObject } from "../payloads/stripe-sales.js";
import { dayMs } from "../harness/days.js";
import { signingSecret, suiteEndpoints } from "../harness/endpoints.js";
import { apiKey, listOnly } from "../apis/stripe-api.js";
import { backfilled } from "../harness/histories.js";
import { until } from "../harness/promises.js";

const from = Date.UTC(2026, 0, 1);
const shared = { currency: "eur" } as const;

/** Sent with thirty days to pay, and paid when twenty-nine had passed. */
const [sentAt, paidAt] = [from - 20 * dayMs, from + 9 * dayMs];
const invoice = invoiceObject({
  ...shared,
  id: "in_terms",
  customer: "cus_terms",
  createdAt: sentAt,
  paidAt,
  subscription: "sub_terms",
  country: "DE",
  lines: [{ id: "il_terms", product: "prod_terms", price: "price_terms", amount: 700n }],
});
const paid = invoicePaymentObject({
  id: "inpay_terms",
  invoice: "in_terms",
  payment: "pi_terms",
  amount: 700n,
  currency: "eur",
  createdAt: sentAt,
  paidAt,
});
/** A page that was opened before midnight and left by paying after it. */
const session = sessionObject({
  id: "cs_sold",
  mode: "payment",
  paymentStatus: "paid",
  amount: 500n,
  tax: 80n,
  currency: "eur",
  createdAt: from - 60_000,
  country: "FR",
  paymentIntent: "pi_sold",
});
/** More was sold than the list shows. */
const long = { ...session, id: "cs_long", payment_intent: "pi_long", amount_total: 300 };
const unpaid = { ...session, id: "cs_unpaid", payment_status: "unpaid", payment_intent: "pi_none" };
function linesOf(product: string): JsonObject {
  const line = { amount_total: 500, amount_tax: 80, price: { product } };
  return { object: "list", data: [line], has_more: false };
}
const listed = [
  { ...session, line_items: linesOf("prod_sold") },
  { ...long, line_items: { ...linesOf("prod_first"), has_more: true } },
  unpaid,
];
const charges = [
  { id: "ch_terms", customer: "cus_terms", paymentIntent: "pi_terms", amount: 700n },
  { id: "ch_sold", customer: null, paymentIntent: "pi_sold", amount: 500n },
  { id: "ch_long", customer: null, paymentIntent: "pi_long", amount: 300n },
].map((charge) => chargeObject({ ...shared, ...charge, createdAt: paidAt }));

describe("A backfill of Stripe, of what was bought", function suite() {
  this.timeout(60_000);
  const endpoints = suiteEndpoints();

  before(async () => {
    listOnly(endpoints.stripeApi, {
      charges,
      invoices: [invoice],
      invoice_payments: [paid],
      "checkout/sessions": listed,
    });
    const ofLong = "/v1/checkout/sessions/cs_long/line_items";
    endpoints.stripeApi.objects.set(ofLong, linesOf("prod_long"));
    // Reported by a webhook before, without a key: nobody could say what it sold.
    const reported = {
      type: "checkout.session.completed",
      object: session,
      at: paidAt,
    } as const;
    await endpoints.deliver(eventBody(stripeEvent({ ...reported, id: "evt_sold" })));
    const credentials = { signing_secret: signingSecret, api_key: apiKey };
    const { id } = await endpoints.integrate("stripe", credentials);
    const done = await backfilled(endpoints, id, "2026-01-01");
    expect(done, done.problem ?? "").to.include({ state: "done" });
  });

  it("should know it where the invoice was made before the asked date", async () => {
    expect(await transactionOf(7)).to.deep.equal({
      type: "subscription",
      customer_country: "DE",
      tax_amount: 0,
      sold: ["prod_terms"],
    });
  });

  const sold = [
    ["is no invoice, but a checkout session", 5, "prod_sold"],
    ["are more lines than the list of sessions shows", 3, "prod_long"],
  ] as const;
  for (const [what, amount, product] of sold) {
    it(`should know it where there ${what}`, async () => {
      // Lines that are asked for come when the rest is booked.
      await until(async () => (await skusOf(amount)).length > 0);
      expect(await transactionOf(amount)).to.deep.equal({
        type: "one_time",
        customer_country: "FR",
        tax_amount: 0.8,
        sold: [product],
      });
    });
  }

  async function transactionOf(amount: number) {
    const { data } = await read("/v1/transactions");
    const found = data.find((row: { gross_amount: number }) => row.gross_amount === amount);
    const { type, customer_country, tax_amount } = found;
    return { type, customer_country, tax_amount, sold: await skusOf(amount) };
  }

  async function skusOf(revenue: number): Promise<string[]> {
    const { data } = await read("/v1/products?period=lifetime");
    const skus: { external_id: string; revenue: number }[] = data.flatMap(
      (product: { providers: unknown[] }) => product.providers,
    );
    return skus
      .filter((sku) => sku.revenue === revenue && sku.external_id !== "")
      .map(({ external_id: id }) => id);
  }

  const read = async (path: string) => (await endpoints.get(path)).json;
});
