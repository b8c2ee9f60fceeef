/**
 * Webhooks of a plausible business, without end, as the demo's customers make them: each payment is
 * reported by three events of Stripe's new layout; some begin a subscription, some follow a change.
 */
import { textOf } from "../../providers/fields.js";
import type { Plan } from "../demo/catalogue.js";
import { Chance } from "../demo/chance.js";
import { Customer } from "../demo/customer.js";
import { Journal } from "../demo/journal.js";
import { Subscription } from "../demo/subscription.js";
import {
  apiVersions,
  eventBody,
  type JsonObject,
  productObject,
  stripeEvent,
} from "../payloads/stripe.js";

export interface SaleEvent {
  readonly body: Buffer;
  /** What it reports. */
  readonly object: JsonObject;
  /** pi_… of a charge. */
  readonly payment: string | null;
}

const plans: readonly Plan[] = Array.from({ length: 20 }, (_, index) => {
  const amount = 900n + 400n * BigInt(index);
  const monthly = { USD: amount, EUR: amount, GBP: amount, JPY: amount };
  return { product: productId(index), name: `Plan ${index}`, monthly, seatsMax: 9 };
});
/** One sale in so many begins a subscription; the others renew one. */
const salesPerStart = 5;
/** One sale in so many follows a change of quantity. */
const salesPerChange = 10;

export class StripeSales {
  readonly #events: SaleEvent[] = [];
  readonly #subscriptions: Subscription[] = [];
  #sales = 0;

  /** @param name keeps the ids of several of them apart */
  constructor(private readonly name: string) {}

  /** The events that name the products. */
  products(at: number): SaleEvent[] {
    return plans.map(({ product, name }) => {
      const object = productObject({ id: product, name, createdAt: at });
      const id = `evt_${this.name}_${product}`;
      const event = stripeEvent({ id, type: "product.created", at, object });
      return { body: eventBody(event), object, payment: null };
    });
  }

  /** The events of one more payment, in the order Stripe usually sends them. */
  next(at: number): SaleEvent[] {
    const sale = this.#sales++;
    const known = this.#subscriptions[(sale * 7) % this.#subscriptions.length];
    if (sale % salesPerStart === 0 || known === undefined) {
      this.#begun(at).pay(at, "subscription_create");
    } else {
      const terms = { ...known.terms, seats: 1 + (sale % 9) };
      if (sale % salesPerChange === 1) known.change(at, { terms });
      known.pay(at, "subscription_cycle");
    }
    return this.#events.splice(0);
  }

  #begun(at: number): Subscription {
    const number = this.#subscriptions.length;
    const plan = plans[number % plans.length];
    if (plan === undefined) throw new Error("there are plans");
    const customer = new Buyer(`${this.name}_${number}`, this.#events);
    const terms = { plan, interval: "month", seats: 1 } as const;
    const begun = new Subscription(customer, at, { status: "active", terms });
    this.#subscriptions.push(begun);
    return begun;
  }
}

class Buyer extends Customer {
  override readonly version = apiVersions[1];

  constructor(
    tag: string,
    readonly events: SaleEvent[],
  ) {
    super(tag, new Journal(Infinity), new Chance(tag));
  }

  override report(type: string, at: number, object: JsonObject): void {
    // Says what `invoice.paid` says.
    if (type === "invoice.payment_succeeded") return;
    const event = stripeEvent({ id: this.newId("evt"), type, at, object, version: this.version });
    const payment = type === "charge.succeeded" ? textOf(object["payment_intent"]) : null;
    this.events.push({ body: eventBody(event), object, payment });
  }
}

export function productId(index: number): string {
  return `prod_bench_${index}`;
}
