/** From an event's type to what it reports. The table is the whole of Paddle's meaning here. */
import { z } from "zod";
import { anyObject, isObject, readOnce, textOf } from "../fields.js";
import { ignored, isUnreported, malformed, productsIn, withNames } from "../outcomes.js";
import type { Decoded, KeptObject, Known, NamedCustomer, NeededTypes } from "../provider.js";
import { readAdjustment } from "./adjustments.js";
import { keptDiscount } from "./discounts.js";
import { field, type Reader, reader } from "./event.js";
import { readSubscription } from "./subscriptions.js";
import { readTransaction } from "./transactions.js";

/** Names of products, which are read from every event of this table. */
const readNames: Reader = () => ignored("it names no product");

const addressShape = z.object({
  customer_id: field.id.nullish(),
  country_code: z.string().nullish(),
});

/** Where a customer is. */
const readAddress = reader(addressShape, ({ customer_id: account, country_code: country }) => {
  const isKnown = /^[A-Z]{2}$/.test(country ?? "");
  if (!account || !country || !isKnown) return ignored("it names no customer and country");
  return [{ Customer: { account, country } }];
});

/** Who a customer is, which is read from every event of this table. */
const readName: Reader = () => ignored("who a customer is moves no money and no MRR");

const readers: ReadonlyMap<string, Reader> = new Map([
  ["transaction.completed", readTransaction],
  ["transaction.updated", readTransaction],
  ["transaction.revised", readTransaction],
  ["adjustment.created", readAdjustment],
  ["adjustment.updated", readAdjustment],
  ["subscription.created", readSubscription],
  ["subscription.imported", readSubscription],
  ["subscription.trialing", readSubscription],
  ["subscription.activated", readSubscription],
  ["subscription.updated", readSubscription],
  ["subscription.past_due", readSubscription],
  ["subscription.paused", readSubscription],
  ["subscription.resumed", readSubscription],
  ["subscription.canceled", readSubscription],
  ["address.created", readAddress],
  ["address.updated", readAddress],
  ["address.imported", readAddress],
  ["customer.created", readName],
  ["customer.updated", readName],
  ["customer.imported", readName],
  ["product.created", readNames],
  ["product.updated", readNames],
  ["product.imported", readNames],
]);

const discountTypes = ["discount.created", "discount.updated", "discount.imported"];

/** What a merchant should subscribe the destination to. */
export const knownTypes: readonly string[] = [...readers.keys(), ...discountTypes];

export const neededTypes: readonly NeededTypes[] = [
  // Subscriptions begin with a transaction, which is completed within minutes.
  { for: "payments", types: ["transaction.completed"], proof: { mrrDays: 2 } },
  {
    for: "subscriptions",
    types: ["subscription.created", "subscription.activated", "subscription.updated"],
    proof: { subscriptionsSold: true },
  },
  { for: "ends", types: ["subscription.canceled"] },
  { for: "refunds", types: ["adjustment.created", "adjustment.updated"] },
];

const envelopeShape = readOnce(
  z.object({ event_type: z.string(), occurred_at: field.time, data: anyObject }),
);

export function decode(body: unknown, known?: Known): Decoded {
  const envelope = envelopeShape.safeParse(body);
  if (!envelope.success) return malformed(envelope.error);
  const { event_type: type, occurred_at: at, data } = envelope.data;
  const read = readers.get(type);
  if (read === undefined) return ignored(`events of type ${type} report no money and no MRR`);
  const event = { type, at, data, known: known ?? { kept: new Map(), answers: new Map() } };
  const named = productsIn([...event.known.answers.values(), data], (_, id) =>
    id.startsWith("pro_"),
  );
  // What the event itself calls a product counts.
  const names = new Map(named.map((sku) => [sku.external_id, sku]));
  const reported = withNames(read(event), [...names.values()]);
  if (isUnreported(reported)) return reported;
  return { outcome: "facts", facts: reported.map((fact) => ({ happenedAt: at, body: fact })) };
}

/** Every entity names its customer; who that is only the customer's own events say. */
export function customers(body: unknown): NamedCustomer[] {
  const envelope = envelopeShape.safeParse(body);
  if (!envelope.success || !readers.has(envelope.data.event_type)) return [];
  const { event_type: type, occurred_at: at, data } = envelope.data;
  const whole = type.startsWith("customer.") ? data : data["customer"];
  const customer = isObject(whole) ? whole : {};
  const id = textOf(customer["id"]) ?? textOf(data["customer_id"]);
  if (id === null) return [];
  const { name, email } = customer;
  return [{ account: id, id, name: textOf(name), email: textOf(email), at }];
}

/** Discounts, which subscriptions name by their ids only. */
export function keeps(body: unknown): KeptObject[] {
  const envelope = envelopeShape.safeParse(body);
  if (!envelope.success || !discountTypes.includes(envelope.data.event_type)) return [];
  return keptDiscount(envelope.data.data, envelope.data.occurred_at);
}
