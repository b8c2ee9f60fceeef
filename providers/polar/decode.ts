/** From an event's type to what it reports. The table is the whole of Polar's meaning here. */
import { z } from "zod";
import type { FactBody } from "../../schemas/records/records.js";
import { compiled, isObject, textOf } from "../fields.js";
import { ignored, isUnreported, malformed, withNames } from "../outcomes.js";
import type { Decoded, NamedCustomer, NeededTypes } from "../provider.js";
import { disputeType, readDispute } from "./disputes.js";
import { envelopeShape, field, type Reader } from "./event.js";
import { readOrder } from "./orders.js";
import { readRefund } from "./orders.js";
import { readSubscription } from "./subscriptions.js";

/** Names of products are read from every event of this table. */
const readProduct: Reader = () => ignored("it names no product");

/** Who a customer is, which is read from every event of this table. */
const readCustomer: Reader = ({ data }) => {
  const country = countryOf(data);
  return country ?? ignored("who a customer is moves no money and no MRR");
};

const readers: ReadonlyMap<string, Reader> = new Map([
  ["order.created", readOrder],
  ["order.updated", readOrder],
  ["order.paid", readOrder],
  ["order.refunded", readOrder],
  ["refund.created", readRefund],
  ["refund.updated", readRefund],
  ["subscription.created", readSubscription],
  ["subscription.active", readSubscription],
  ["subscription.updated", readSubscription],
  ["subscription.cycled", readSubscription],
  ["subscription.canceled", readSubscription],
  ["subscription.uncanceled", readSubscription],
  ["subscription.past_due", readSubscription],
  ["subscription.paused", readSubscription],
  ["subscription.resumed", readSubscription],
  ["subscription.revoked", readSubscription],
  ["customer.created", readCustomer],
  ["customer.updated", readCustomer],
  ["product.created", readProduct],
  ["product.updated", readProduct],
]);

/** What a merchant should subscribe the endpoint to. */
export const knownTypes: readonly string[] = [...readers.keys()];

export const neededTypes: readonly NeededTypes[] = [
  // A subscription begins with an order, or with a trial, which has no MRR.
  { for: "payments", types: ["order.paid", "order.updated"], proof: { mrrDays: 2 } },
  {
    for: "subscriptions",
    types: ["subscription.created", "subscription.updated"],
    proof: { subscriptionsSold: true },
  },
  { for: "ends", types: ["subscription.revoked"] },
  { for: "refunds", types: ["refund.created", "refund.updated", "order.refunded"] },
];

export function decode(body: unknown): Decoded {
  const envelope = envelopeShape.safeParse(body);
  if (!envelope.success) return malformed(envelope.error);
  const { type, timestamp: at, data } = envelope.data;
  const read = type === disputeType ? readDispute : readers.get(type);
  if (read === undefined) return ignored(`events of type ${type} report no money and no MRR`);
  const product = productShape.safeParse(type.startsWith("product.") ? data : data["product"]);
  const names = product.success ? [{ external_id: product.data.id, name: product.data.name }] : [];
  const reported = withNames(read({ type, at, data }), names);
  if (isUnreported(reported)) return reported;
  return { outcome: "facts", facts: reported.map((fact) => ({ happenedAt: at, body: fact })) };
}

const productShape = compiled(z.object({ id: field.id, name: z.string().trim().min(1) }));

/** Orders and subscriptions carry their whole customer. */
export function customers(body: unknown): NamedCustomer[] {
  const envelope = envelopeShape.safeParse(body);
  if (!envelope.success || !readers.has(envelope.data.type)) return [];
  const { type, timestamp: at, data } = envelope.data;
  const customer = type.startsWith("customer.") ? data : data["customer"];
  if (!isObject(customer)) return [];
  const id = textOf(customer["id"]);
  if (id === null) return [];
  const { name, billing_name: billingName, email } = customer;
  return [{ account: id, id, name: textOf(name) ?? textOf(billingName), email: textOf(email), at }];
}

const located = compiled(
  z.object({
    id: field.id,
    billing_address: z.object({ country: z.string().regex(/^[A-Z]{2}$/) }),
  }),
);

function countryOf(customer: unknown): FactBody[] | null {
  const { success, data } = located.safeParse(customer);
  if (!success) return null;
  return [{ Customer: { account: data.id, country: data.billing_address.country } }];
}
