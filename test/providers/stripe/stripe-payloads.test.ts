import { expect } from "chai";
import { createStripe } from "../../../providers/stripe/index.js";
import {
  type ApiVersion,
  apiVersions,
  eventBody,
  type JsonObject,
  productObject,
  stripeEvent,
} from "../../../ops/payloads/stripe.js";
import {
  chargeObject,
  disputeObject,
  invoiceObject,
  invoicePaymentObject,
  refundObject,
  sessionObject,
} from "../../../ops/payloads/stripe-money.js";

const stripe = createStripe({ toleranceSeconds: 300 });
const at = Date.UTC(2026, 4, 4, 12);
const currency = "USD";
const amount = 2900n;
const charge = "ch_1";
const paymentIntent = "pi_1";
const refund = { id: "re_1", charge, paymentIntent, amount: 900n, currency, createdAt: at };
const dispute = { id: "du_1", charge, paymentIntent, amount, currency, createdAt: at };
const session = { id: "cs_1", amount, currency, createdAt: at, paymentIntent };

function reported(type: string, object: JsonObject, version: ApiVersion): string[] {
  const body = eventBody(stripeEvent({ id: "evt_1", type, at, object, version }));
  const decoded = stripe.decode(JSON.parse(body.toString()));
  if (decoded.outcome !== "facts") return [decoded.outcome];
  return decoded.facts.flatMap(({ body: fact }) => Object.keys(fact));
}

function invoice(version: ApiVersion, more: object = {}): JsonObject {
  return invoiceObject({
    id: "in_1",
    customer: "cus_1",
    currency,
    createdAt: at,
    paidAt: at,
    version,
    subscription: "sub_1",
    lines: [{ id: "il_1", product: "prod_1", price: "price_1", amount, subscription: "sub_1" }],
    ...more,
  });
}

function chargeOf(version: ApiVersion, more: object = {}): JsonObject {
  const customer = "cus_1";
  const base = { id: charge, paymentIntent, customer, amount, currency, createdAt: at, version };
  return chargeObject({ ...base, ...more });
}

/** As old versions and thin copies have it: nothing is said of the balance. */
function withoutBalance({ balance_transaction: _left, ...rest }: JsonObject): JsonObject {
  return rest;
}

/** The makers are believed by other tests: what they make must mean what their names say. */
describe("Made Stripe events", () => {
  const cases: readonly [string, (version: ApiVersion) => JsonObject, old: string, now: string][] =
    [
      ["charge.succeeded", (v) => chargeOf(v), "Payment", "Payment"],
      ["charge.succeeded", (v) => chargeOf(v, { invoice: "in_1" }), "Payment Link", "Payment"],
      ["charge.succeeded", (v) => chargeOf(v, { captured: false }), "ignored", "ignored"],
      ["charge.updated", (v) => chargeOf(v, { status: "failed" }), "ignored", "ignored"],
      [
        "charge.refunded",
        (v) => chargeOf(v, { amountRefunded: 900n, refunds: [refundObject(refund)] }),
        "Payment Refund RefundTotal",
        "Payment RefundTotal",
      ],
      ["refund.created", () => refundObject(refund), "Refund", "Refund"],
      ["refund.failed", () => refundObject({ ...refund, status: "failed" }), "Refund", "Refund"],
      ["refund.created", () => refundObject({ ...refund, isRelease: true }), "ignored", "ignored"],
      [
        "refund.created",
        () => refundObject({ ...refund, isRelease: true, status: "pending" }),
        "Refund",
        "Refund",
      ],
      ["refund.updated", () => withoutBalance(refundObject(refund)), "Refund", "Refund"],
      ["invoice.paid", (v) => invoice(v), "Purchase", "Purchase"],
      ["invoice.paid", (v) => invoice(v, { paymentIntent }), "Purchase Link", "Purchase"],
      ["invoice.paid", (v) => invoice(v, { lines: [] }), "ignored", "ignored"],
      [
        "invoice.paid",
        (v) => invoice(v, { outOfBand: true }),
        "Purchase Payment Link",
        "Purchase Payment Link",
      ],
      [
        "invoice_payment.paid",
        () =>
          invoicePaymentObject({
            id: "inpay_1",
            invoice: "in_1",
            payment: paymentIntent,
            amount,
            currency,
            paidAt: at,
          }),
        "Link",
        "Link",
      ],
      [
        "checkout.session.completed",
        () => sessionObject({ ...session, mode: "payment", paymentStatus: "paid" }),
        "Purchase Link",
        "Purchase Link",
      ],
      [
        "checkout.session.completed",
        () => sessionObject({ ...session, mode: "payment", paymentStatus: "unpaid" }),
        "ignored",
        "ignored",
      ],
      [
        "charge.dispute.created",
        () => disputeObject({ ...dispute, status: "warning_needs_response" }),
        "ignored",
        "ignored",
      ],
      [
        "charge.dispute.created",
        () => disputeObject({ ...dispute, status: "needs_response", withdrawnAt: at }),
        "Dispute",
        "Dispute",
      ],
      [
        "charge.dispute.closed",
        () => disputeObject({ ...dispute, status: "won", withdrawnAt: at, returnedAt: at }),
        "Dispute",
        "Dispute",
      ],
      [
        "product.created",
        () => productObject({ id: "prod_1", name: "Pro", createdAt: at }),
        "Sku",
        "Sku",
      ],
    ];
  const [oldLayout, newLayout] = apiVersions;
  for (const [type, object, old, now] of cases) {
    it(`should report ${type}: ${old}; since 2025-03-31: ${now}`, () => {
      expect(reported(type, object(oldLayout), oldLayout).join(" ")).to.equal(old);
      expect(reported(type, object(newLayout), newLayout).join(" ")).to.equal(now);
    });
  }

  it("should carry the sandbox flag inside and out, and refuse amounts beyond JSON's", () => {
    const [version] = apiVersions;
    const object = chargeOf(version);
    const event = { id: "evt_1", type: "charge.succeeded", at, object, version };
    const made = stripeEvent({ ...event, livemode: false });
    expect(made).to.have.property("livemode", false);
    expect(made).to.have.nested.property("data.object.livemode", false);
    expect(() => chargeOf(version, { amount: 2n ** 60n })).to.throw(RangeError);
  });
});
