/**
 * A made-up business: the events of its years, in the order in which providers deliver them, and
 * its own books. A function of its arguments: the same at every run, ids included.
 */
import { apiVersions, eventBody, productObject, stripeEvent } from "../payloads/stripe.js";
import { dayMs, hourMs, secondMs, wholeSecond } from "./calendar.js";
import { products } from "./catalogue.js";
import { Chance } from "./chance.js";
import { Customer } from "./customer.js";
import { emitOtherSale } from "./other-providers.js";
import { emitHistory } from "./history.js";
import { Journal, type Reported } from "./journal.js";

export interface BusinessPlan {
  readonly seed: string;
  readonly days: number;
  /** Who ever bought something, at Stripe. */
  readonly customers: number;
  /** Of those, who were there on the first day. */
  readonly customersAtFirst: number;
  /** Who ever bought something at other providers. */
  readonly customersOfOtherProviders: number;
  /** ms since 1970: nothing is dated later. */
  readonly end: number;
}

export interface Business {
  readonly journal: Journal;
  /** In order of delivery; some come again. */
  readonly deliveries: readonly Reported[];
  /** When each of them came, ms since 1970. */
  readonly receipts: readonly number[];
}

export function makeBusiness(plan: BusinessPlan): Business {
  const end = wholeSecond(plan.end);
  const journal = new Journal(end);
  const start = end - plan.days * dayMs;
  for (const product of products) emitProduct(journal, start, product);
  for (let index = 0; index < plan.customers; index += 1) {
    const tag = `demo${String(index + 1).padStart(4, "0")}`;
    const chance = new Chance(`${plan.seed} customer ${index}`);
    const customer = new Customer(tag, journal, chance);
    emitHistory(customer, wholeSecond(start + joinedAfterMs(plan, index, chance)));
  }
  for (let index = 0; index < plan.customersOfOtherProviders; index += 1) {
    const chance = new Chance(`${plan.seed} elsewhere ${index}`);
    const joinedAt = start + hourMs + chance.unit() * (plan.days * dayMs - 2 * hourMs);
    emitOtherSale(journal, index, wholeSecond(joinedAt), chance);
  }
  const calls = delivered(journal.reported, new Chance(`${plan.seed} deliveries`));
  return {
    journal,
    deliveries: calls.map(({ one }) => one),
    // What would come after the end has just come.
    receipts: calls.map(({ at }) => Math.min(Math.floor(at), end)),
  };
}

/** Customers grow with time to this power: a little faster every month. */
const growthPower = 1.5;

function joinedAfterMs(plan: BusinessPlan, index: number, chance: Chance): number {
  const { customers, customersAtFirst: first, days } = plan;
  if (index < first) return hourMs + chance.unit() * 28 * dayMs;
  const rank = (index - first + chance.unit()) / (customers - first);
  return hourMs + rank ** (1 / growthPower) * (days * dayMs - 2 * hourMs);
}

function emitProduct(
  journal: Journal,
  at: number,
  { product, name }: { readonly product: string; readonly name: string },
): void {
  const object = productObject({ id: product, name, createdAt: at });
  const id = `evt_${product}`;
  const version = apiVersions[1];
  const event = stripeEvent({ id, type: "product.created", at, object, version });
  journal.report({ at, provider: "stripe", body: eventBody(event) });
}

interface Delivery {
  readonly one: Reported;
  /** ms since 1970 */
  readonly at: number;
}

const latenessMsMax = 20 * secondMs;
/** A receiver that was down, in percent of the deliveries. */
const muchLaterPercent = 1;
const muchLaterMsMax = 2 * dayMs;
const againPercent = 1.5;

/** Nearly as it happened: a little shuffled, a few much later, a few twice. */
function delivered(reported: readonly Reported[], chance: Chance): Delivery[] {
  const lateness = () =>
    chance.unit() * (chance.happens(muchLaterPercent) ? muchLaterMsMax : latenessMsMax);
  const calls = reported.flatMap((one) => {
    const first = { one, at: one.at + lateness() };
    const again = chance.happens(againPercent);
    return again ? [first, { one, at: first.at + chance.unit() * dayMs }] : [first];
  });
  return calls.sort((a, b) => a.at - b.at);
}
