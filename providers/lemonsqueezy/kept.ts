/** What later events only name: a subscription's order, and that an order had no discount. */
import { z } from "zod";
import type { KeptObject } from "../provider.js";
import { chargedBy } from "./charged.js";
import { envelopeShape, field } from "./event.js";

export function keeps(body: unknown): KeptObject[] {
  const envelope = envelopeShape.safeParse(body);
  if (!envelope.success) return [];
  const { type, id, attributes } = envelope.data.data;
  if (type === "orders") return keptOrder(id, attributes);
  return type === "subscriptions" ? keptSubscription(id, attributes) : [];
}

/** Orders and subscriptions count their ids apart. */
export function keptOrderId(order: string): string {
  return `order:${order}`;
}

export function keptSubscriptionId(subscription: string): string {
  return `subscription:${subscription}`;
}

/**
 * That it had no discount spares its subscription a question. Where nothing was charged for the
 * subscription itself, as when a trial begins, it had none to take off: that says nothing.
 */
function keptOrder(id: string, attributes: unknown): KeptObject[] {
  const order = orderShape.safeParse(attributes);
  if (!order.success) return [];
  const {
    updated_at: reportedAt,
    discount_total: discount,
    subtotal,
    setup_fee: setupFee,
  } = order.data;
  const undiscounted = discount === 0 && subtotal - (setupFee ?? 0) > 0;
  const charged = chargedBy(attributes);
  return [{ id: keptOrderId(id), reportedAt, refers: [], object: { undiscounted, charged } }];
}

/** Which order began it is what its initial invoice does not say. It never changes. */
function keptSubscription(id: string, attributes: unknown): KeptObject[] {
  const subscription = subscriptionShape.safeParse(attributes);
  if (!subscription.success) return [];
  const { order_id: order, created_at: reportedAt } = subscription.data;
  return [{ id: keptSubscriptionId(id), reportedAt, refers: [], object: { order_id: order } }];
}

const orderShape = z.object({
  updated_at: field.time,
  subtotal: z.number(),
  setup_fee: z.number().nullish(),
  discount_total: z.number(),
});
const subscriptionShape = z.object({ order_id: field.id, created_at: field.time });
