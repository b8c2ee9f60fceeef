/**
 * Webhooks of a plausible business, without end: each payment is reported by three events, as
 * Stripe does since 2025-03-31; some begin a subscription, some follow a change of one.
 */
import {
  eventBody,
  type JsonObject,
  priceObject,
  productObject,
  stripeEvent,
  subscriptionObject,
} from "../payloads/stripe.js";
import { chargeObject, invoiceObject, invoicePaymentObject } from "../payloads/stripe-money.js";

export interface SaleEvent {
  readonly body: Buffer;
  /** What it reports. */
  readonly object: JsonObject;
  /** pi_…; null for events that report nothing of a payment. */
  readonly payment: string | null;
  readonly type: string;
}

const products = 20;
const currencies = ["usd", "eur", "gbp"] as const;
const countries = ["US", "DE", "GB", "FR", "IN"] as const;
/** One sale in so many begins a subscription; the others renew one. */
const salesPerStart = 5;
/** One sale in so many follows a change of quantity. */
const salesPerChange = 10;

export class StripeSales {
  #events = 0;
  #sales = 0;
  #customers = 0;

  /** @param name keeps the ids of several of them apart */
  constructor(private readonly name: string) {}

  /** The events that name the products. */
  products(atMs: number): SaleEvent[] {
    return Array.from({ length: products }, (_, index) => {
      const name = `Plan ${index}`;
      const object = productObject({ id: productId(index), name, createdAt: atMs });
      return this.#event("product.created", atMs, object, null);
    });
  }

  /** The events of one more payment, in the order Stripe usually sends them. */
  next(atMs: number): SaleEvent[] {
    const sale = this.#sales++;
    const isStart = sale % salesPerStart === 0;
    if (isStart) this.#customers += 1;
    const customer = (sale * 7) % this.#customers;
    return [
      ...(isStart ? [this.#subscription("created", this.#customers - 1, 1, atMs)] : []),
      ...(sale % salesPerChange === 1
        ? [this.#subscription("updated", customer, 1 + (sale % 9), atMs)]
        : []),
      ...this.#payment(sale, isStart ? this.#customers - 1 : customer, isStart, atMs),
    ];
  }

  #subscription(change: string, customer: number, quantity: number, atMs: number): SaleEvent {
    const price = priceObject({
      id: `price_${customer % products}`,
      product: productId(customer % products),
      currency: currencyOf(customer),
      unitAmount: unitAmountOf(customer),
    });
    const object = subscriptionObject({
      id: `sub_${this.name}_${customer}`,
      customer: `cus_${this.name}_${customer}`,
      currency: currencyOf(customer),
      status: "active",
      createdAt: atMs,
      items: [{ id: `si_${this.name}_${customer}`, price, quantity }],
    });
    return this.#event(`customer.subscription.${change}`, atMs, object, null);
  }

  #payment(sale: number, customer: number, isStart: boolean, atMs: number): SaleEvent[] {
    const id = `${this.name}_${sale}`;
    const payment = `pi_${id}`;
    const who = { customer: `cus_${this.name}_${customer}`, currency: currencyOf(customer) };
    const amount = unitAmountOf(customer);
    const charge = chargeObject({
      ...who,
      id: `ch_${id}`,
      paymentIntent: payment,
      amount,
      country: countries[customer % countries.length] ?? null,
      createdAt: atMs,
    });
    const subscription = `sub_${this.name}_${customer}`;
    const invoice = invoiceObject({
      ...who,
      id: `in_${id}`,
      createdAt: atMs,
      paidAt: atMs,
      subscription,
      billingReason: isStart ? "subscription_create" : "subscription_cycle",
      lines: [
        {
          id: `il_${id}`,
          product: productId(customer % products),
          price: `price_${customer % products}`,
          amount,
          subscription,
        },
      ],
    });
    const link = invoicePaymentObject({
      id: `inpay_${id}`,
      invoice: `in_${id}`,
      payment,
      amount,
      currency: who.currency,
      paidAt: atMs,
    });
    return [
      this.#event("charge.succeeded", atMs, charge, payment),
      this.#event("invoice.paid", atMs, invoice, payment),
      this.#event("invoice_payment.paid", atMs, link, payment),
    ];
  }

  #event(type: string, atMs: number, object: JsonObject, payment: string | null): SaleEvent {
    const id = `evt_${this.name}_${this.#events++}`;
    const event = stripeEvent({ id, type, at: atMs, object });
    return { body: eventBody(event), object, payment, type };
  }
}

export function productId(index: number): string {
  return `prod_bench_${index}`;
}

function currencyOf(customer: number): string {
  return currencies[customer % currencies.length] ?? "usd";
}

function unitAmountOf(customer: number): bigint {
  return 900n + 100n * BigInt(customer % 90);
}
