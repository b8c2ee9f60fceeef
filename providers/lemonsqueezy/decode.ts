/** From an event's name to what it reports. The table is the whole of its meaning here. */
import { z } from "zod";
import { compiled, idOf, textOf } from "../fields.js";
import type { FactBody } from "../../schemas/records/records.js";
import { ignored, isUnreported, malformed } from "../outcomes.js";
import {
  type Decoded,
  type Known,
  type NamedCustomer,
  type NeededTypes,
  nothingKnown,
} from "../provider.js";
import { envelopeShape, factsAt, field, type Reader } from "./event.js";
import { readInvoice } from "./invoices.js";
import { readOrder } from "./orders.js";
import { readSubscription } from "./subscriptions.js";

/** `subscription_payment_recovered` repeats the success of the same invoice. */
const readers: ReadonlyMap<string, Reader> = new Map([
  ["order_created", readOrder],
  ["order_refunded", readOrder],
  ["subscription_created", readSubscription],
  ["subscription_updated", readSubscription],
  ["subscription_cancelled", readSubscription],
  ["subscription_resumed", readSubscription],
  ["subscription_expired", readSubscription],
  ["subscription_paused", readSubscription],
  ["subscription_unpaused", readSubscription],
  ["subscription_payment_success", readInvoice],
  ["subscription_payment_recovered", readInvoice],
  ["subscription_payment_refunded", readInvoice],
]);

/** What a merchant should subscribe the webhook to. */
export const knownTypes: readonly string[] = [...readers.keys()];

export const neededTypes: readonly NeededTypes[] = [
  // Each subscription comes with an order.
  { for: "payments", types: ["order_created"], proof: { mrrDays: 2 } },
  { for: "renewals", types: ["subscription_payment_success"] },
  {
    for: "subscriptions",
    types: ["subscription_created", "subscription_updated"],
    proof: { subscriptionsSold: true },
  },
  { for: "ends", types: ["subscription_expired"] },
  { for: "refunds", types: ["order_refunded", "subscription_payment_refunded"] },
];

export function decode(body: unknown, known: Known = nothingKnown): Decoded {
  const envelope = envelopeShape.safeParse(body);
  if (!envelope.success) return malformed(envelope.error);
  const { meta, data } = envelope.data;
  const name = meta.event_name;
  const read = readers.get(name);
  if (read === undefined) return ignored(`events named ${name} report no money and no MRR`);
  const reported = read({ name, id: data.id, attributes: data.attributes, known });
  const names = namesIn(data.attributes);
  if (isUnreported(reported) && (reported.outcome === "rejected" || names.length === 0))
    return reported;
  return { outcome: "facts", facts: [...(isUnreported(reported) ? [] : reported), ...names] };
}

/** Every object that is read has the customer's id, name and e-mail. */
export function customers(body: unknown): NamedCustomer[] {
  const envelope = envelopeShape.safeParse(body);
  if (!envelope.success || !readers.has(envelope.data.meta.event_name)) return [];
  const { attributes } = envelope.data.data;
  const id = idOf(attributes["customer_id"]);
  const time = timeShape.safeParse(attributes);
  if (id === null || !time.success) return [];
  const { user_name: name, user_email: email } = attributes;
  const at = time.data.updated_at;
  return [{ account: id, id, name: textOf(name), email: textOf(email), at }];
}

/** An order names the product of its first item, a subscription its own; an invoice none. */
function namesIn(attributes: Readonly<Record<string, unknown>>) {
  const product = productShape.safeParse(attributes["first_order_item"] ?? attributes);
  const time = product.success ? timeShape.safeParse(attributes) : null;
  if (!product.success || !time?.success) return [];
  const { product_id: external_id, product_name: name } = product.data;
  const sku: FactBody = { Sku: { external_id, name } };
  return factsAt(time.data.updated_at, [sku]);
}

const productShape = compiled(
  z.object({ product_id: field.id, product_name: z.string().trim().min(1) }),
);
const timeShape = compiled(z.object({ updated_at: field.time }));
