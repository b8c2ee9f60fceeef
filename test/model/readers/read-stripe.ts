/**
 * The model's own minimal reading of Stripe's webhook bodies, from docs/providers: both API
 * layouts, only what moves money or MRR. It is asked about well-formed bodies only.
 */
import type { BareFact, Line, PaymentType } from "../facts.js";
import { fraction, rounded, times } from "../fraction.js";
import { at, idOf, list, must, number, text } from "./json.js";
import { readSubscription } from "./read-subscription.js";
import { currencyOf, minorOf, seconds } from "./stripe-values.js";

export function readStripe(event: unknown): readonly BareFact[] {
  const connected = text(event, "account");
  const facts = readObject(event).map((fact) => ofCustomer(fact, event));
  return connected === null ? facts : facts.map((fact) => withOwnSkus(fact, connected));
}

/** What says where its customer is. */
function ofCustomer(fact: BareFact, event: unknown): BareFact {
  const customer = idOf(event, "data", "object", "customer");
  if ((fact.kind !== "sale" && fact.kind !== "purchase") || customer === null) return fact;
  return { ...fact, account: accountOf(event, customer) };
}

/** Customers of connected accounts are others than those of the same id. */
function accountOf(event: unknown, customer: string): string {
  const connected = text(event, "account");
  return connected === null ? customer : `${connected}:${customer}`;
}

function placed(event: unknown, customer: string | null, country: string | null): BareFact[] {
  if (customer === null || country === null) return [];
  return [{ kind: "customer", account: accountOf(event, customer), country }];
}

/** Each connected account has products of its own, which may have the same ids. */
function withOwnSkus(fact: BareFact, connected: string): BareFact {
  const own = <T extends { readonly sku: string }>(named: T): T => ({
    ...named,
    sku: named.sku === "" ? "" : `${connected}:${named.sku}`,
  });
  if (fact.kind === "naming") return own(fact);
  if (fact.kind === "sale" || fact.kind === "purchase") {
    return { ...fact, lines: fact.lines.map(own) };
  }
  if (fact.kind !== "change") return fact;
  const steps = fact.steps.map((step) => ({ ...step, items: step.items.map(own) }));
  return { ...fact, steps };
}

function readObject(event: unknown): readonly BareFact[] {
  const type = must(text(event, "type"), "a type");
  const object = at(event, "data", "object");
  switch (text(object, "object")) {
    case "charge":
      return readCharge(event, object);
    case "refund":
      return readRefund(event, object);
    case "dispute":
      return readDispute(event, object);
    case "credit_note":
      return readCreditNote(object);
    case "invoice":
      return readInvoice(object);
    case "invoice_payment":
      return type === "invoice_payment.paid" ? readInvoicePayment(object) : [];
    case "checkout.session":
      return readSession(event, object);
    case "customer":
      return placed(event, text(object, "id"), text(object, "address", "country"));
    case "subscription":
      return readSubscription(event, object);
    case "product":
      return type === "product.deleted" ? [] : readProduct(object);
    case null:
    default:
      return [];
  }
}

function amountOf(object: unknown, name: string): bigint {
  return minorOf(must(number(object, name), name), currencyOf(object));
}

function readCharge(event: unknown, charge: unknown): BareFact[] {
  const isPaid = at(charge, "paid") === true && text(charge, "status") === "succeeded";
  if (!isPaid || at(charge, "captured") !== true) return [];
  const payment = paymentOf(charge);
  const currency = currencyOf(charge);
  const facts: BareFact[] = [
    {
      kind: "sale",
      payment,
      at: seconds(charge, "created"),
      amount: amountOf(
        charge,
        number(charge, "amount_captured") === null ? "amount" : "amount_captured",
      ),
      currency,
      country: text(charge, "billing_details", "address", "country"),
      type: null,
      lines: [],
    },
  ];
  const invoice = idOf(charge, "invoice");
  if (invoice !== null) {
    const part = { amount: amountOf(charge, "amount_captured"), at: seconds(charge, "created") };
    facts.push({ kind: "link", payment, purchase: invoice, part });
  }
  // What was authorized and not captured is given back without being a refund, and until
  // 2025-03-31 it was in the total; a total of just that much is taken for it.
  const released = amountOf(charge, "amount") - amountOf(charge, "amount_captured");
  const total = amountOf(charge, "amount_refunded");
  const hasReleased = (text(event, "api_version") ?? "") < "2025-03-31" || total === released;
  const amount = hasReleased ? total - released : total;
  const reportedAt = seconds(event, "created");
  // Nothing is news where something may have been refunded before, and failed.
  const isBack =
    number(charge, "amount_refunded") === 0 && reportedAt - seconds(charge, "created") >= 3_600_000;
  if (amount > 0n || isBack) {
    const counted = isBack ? 0n : amount;
    facts.push({ kind: "refund_total", payment, at: reportedAt, amount: counted, currency });
  }
  for (const refund of list(charge, "refunds", "data")) facts.push(...readRefund(event, refund));
  return facts;
}

function paymentOf(object: unknown): string {
  const charge = text(object, "object") === "charge" ? text(object, "id") : idOf(object, "charge");
  return must(idOf(object, "payment_intent") ?? charge, "a payment");
}

function readRefund(event: unknown, refund: unknown): BareFact[] {
  const hasMoved = idOf(refund, "balance_transaction") !== null;
  if (text(refund, "status") === "succeeded" && !hasMoved) return [];
  const isFailed = ["failed", "canceled"].includes(text(refund, "status") ?? "");
  return [
    {
      kind: "refund",
      refund: must(text(refund, "id"), "a refund id"),
      payment: paymentOf(refund),
      at: seconds(refund, "created"),
      amount: amountOf(refund, "amount"),
      currency: currencyOf(refund),
      failedAt: isFailed ? seconds(event, "created") : null,
      sku: null,
      country: null,
    },
  ];
}

/** Only what went back outside Stripe; what went back inside is reported by refunds. */
function readCreditNote(note: unknown): BareFact[] {
  const invoice = must(idOf(note, "invoice"), "an invoice");
  const amount = amountOf(note, "out_of_band_amount");
  if (amount <= 0n) return [];
  const currency = currencyOf(note);
  const taxes = list(note, "total_taxes").map((tax) => number(tax, "amount") ?? 0);
  const total = must(number(note, "total"), "a total");
  const tax = fraction(BigInt(taxes.reduce((sum, one) => sum + one, 0)), BigInt(total));
  return [
    {
      kind: "refund",
      refund: must(text(note, "id"), "a credit note's id"),
      payment: invoice,
      purchase: invoice,
      at: seconds(note, "created"),
      amount,
      currency,
      failedAt: number(note, "voided_at") === null ? null : seconds(note, "voided_at"),
      sku: null,
      country: null,
      tax: rounded(times(tax, fraction(amount))),
    },
  ];
}

function readDispute(event: unknown, dispute: unknown): BareFact[] {
  const reported = seconds(event, "created");
  const type = text(event, "type");
  const status = text(dispute, "status");
  const moved = list(dispute, "balance_transactions");
  const exact = moved.length > 0;
  const timeOf = (isOut: boolean) => {
    const found = moved.find((entry) => (number(entry, "amount") ?? 0) < 0 === isOut);
    return found === undefined ? null : seconds(found, "created");
  };
  const isClosed = type === "charge.dispute.closed";
  const isOut = type === "charge.dispute.funds_withdrawn" || (isClosed && status === "lost");
  const isBack = type === "charge.dispute.funds_reinstated" || (isClosed && status === "won");
  return [
    {
      kind: "dispute",
      dispute: must(text(dispute, "id"), "a dispute id"),
      payment: paymentOf(dispute),
      amount: amountOf(dispute, "amount"),
      currency: currencyOf(dispute),
      withdrawnAt: exact ? timeOf(true) : isOut ? reported : null,
      returnedAt: exact ? timeOf(false) : isBack ? reported : null,
      ...(exact && status !== "won" ? { returned: partBack(dispute, moved) } : {}),
      certainty: exact ? 2 : isClosed ? 0 : 1,
    },
  ];
}

/** As much of the amount as of the money that was withdrawn. */
function partBack(dispute: unknown, moved: readonly unknown[]): bigint {
  const amounts = moved.map((entry) => BigInt(number(entry, "amount") ?? 0));
  const sumOf = (some: readonly bigint[]) => some.reduce((sum, amount) => sum + amount, 0n);
  const out = -sumOf(amounts.filter((amount) => amount < 0n));
  const back = sumOf(amounts.filter((amount) => amount > 0n));
  return rounded(times(fraction(amountOf(dispute, "amount")), fraction(back, out)));
}

function readInvoice(invoice: unknown): BareFact[] {
  const id = must(text(invoice, "id"), "an invoice id");
  const paid = number(invoice, "amount_paid") ?? 0;
  const isWhole = text(invoice, "status") === "paid";
  const isOutOfBand = isWhole && at(invoice, "paid_out_of_band") === true;
  const total = isOutOfBand ? (number(invoice, "total") ?? 0) : 0;
  const outOfBand = isWhole ? (number(invoice, "amount_paid_off_stripe") ?? total) : 0;
  if (paid === 0 && outOfBand === 0) return [];
  const isSubscription =
    idOf(invoice, "subscription") !== null ||
    idOf(invoice, "parent", "subscription_details", "subscription") !== null;
  const type: PaymentType = isSubscription ? "subscription" : "one_time";
  const country = text(invoice, "customer_address", "country");
  const lines = list(invoice, "lines", "data").map((line): Line =>
    netLine(line, currencyOf(invoice)),
  );
  const taxes = [...list(invoice, "total_taxes"), ...list(invoice, "total_tax_amounts")];
  const tax = taxes.reduce((sum: bigint, one) => sum + BigInt(number(one, "amount") ?? 0), 0n);
  const facts: BareFact[] = [
    {
      kind: "purchase",
      purchase: id,
      country,
      type,
      lines,
      tax: minorOf(Number(tax), currencyOf(invoice)),
      total: amountOf(invoice, "total"),
    },
  ];
  const payment = idOf(invoice, "payment_intent") ?? idOf(invoice, "charge");
  if (payment !== null) facts.push({ kind: "link", payment, purchase: id });
  if (outOfBand > 0) {
    const currency = currencyOf(invoice);
    const amount = minorOf(outOfBand, currency);
    const paidAt = seconds(at(invoice, "status_transitions"), "paid_at");
    facts.push(
      { kind: "sale", payment: id, at: paidAt, amount, currency, country, type, lines },
      { kind: "link", payment: id, purchase: id, part: { amount, at: paidAt } },
    );
  }
  return facts;
}

/** What a line brings in: without discounts, credits that were bought before, and tax. */
function netLine(line: unknown, currency: string): Line {
  const taken = [
    ...list(line, "discount_amounts"),
    ...list(line, "pretax_credit_amounts").filter((one) => text(one, "type") !== "discount"),
    ...list(line, "taxes").filter((one) => text(one, "tax_behavior") === "inclusive"),
    ...list(line, "tax_amounts").filter((one) => at(one, "inclusive") === true),
  ].map((entry) => number(entry, "amount") ?? 0);
  const net = (number(line, "amount") ?? 0) - taken.reduce((sum, amount) => sum + amount, 0);
  const product =
    idOf(line, "pricing", "price_details", "product") ??
    idOf(line, "price", "product") ??
    idOf(line, "plan", "product");
  return { sku: product ?? "", weight: minorOf(net, currency) };
}

function readInvoicePayment(object: unknown): BareFact[] {
  const payment = idOf(object, "payment", "payment_intent") ?? idOf(object, "payment", "charge");
  const purchase = idOf(object, "invoice");
  if (purchase === null) return [];
  const paidAt = seconds(at(object, "status_transitions"), "paid_at");
  const part = { amount: amountOf(object, "amount_paid"), at: paidAt };
  if (payment !== null) return [{ kind: "link", payment, purchase, part }];
  // Money from outside Stripe: the invoice is its payment, paid record by record.
  const record = must(text(object, "id"), "an id");
  const currency = currencyOf(object);
  const own = { payment: purchase, ...part, currency, country: null, type: null, lines: [] };
  return [
    { kind: "sale", ...own, record },
    { kind: "link", payment: purchase, purchase, part: { ...part, record } },
  ];
}

function readSession(event: unknown, session: unknown): BareFact[] {
  if (text(session, "payment_status") !== "paid") return [];
  const purchase = must(text(session, "id"), "a session id");
  const type = text(session, "mode") === "subscription" ? "subscription" : "one_time";
  const country = text(session, "customer_details", "address", "country");
  const payment = idOf(session, "payment_intent");
  if (payment === null) return placed(event, idOf(session, "customer"), country);
  const reported = number(session, "total_details", "amount_tax");
  const currency = text(session, "currency");
  const tax =
    reported === null || currency === null ? null : minorOf(reported, currency.toUpperCase());
  const facts: BareFact[] = [{ kind: "purchase", purchase, country, type, lines: [], tax }];
  facts.push({ kind: "link", payment, purchase });
  return facts;
}

function readProduct(product: unknown): BareFact[] {
  const sku = must(text(product, "id"), "a product id");
  return [{ kind: "naming", sku, name: must(text(product, "name"), "a name") }];
}
