/** What later events only name: a subscription's order, and that an order had no discount. */
import { z } from "zod";
import type { KeptObject } from "../provider.js";
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

/**
 * What an order charged for one unit of what it sold. A checkout may set an amount of its own,
 * which a subscription keeps for its renewals and no price object shows. Source: Lemon Squeezy's
 * SDK, `NewCheckout.customPrice`.
 */

/** As it is kept of an order's event. */
export const chargedShape = z.object({
  /** The price object it names. */
  price: z.string(),
  /** Minor units of `currency`, before discounts. */
  unit: z.int().positive(),
  currency: field.currency,
});
export type Charged = z.output<typeof chargedShape>;

const item = { price: z.int(), quantity: z.int().nullish() };
const totals = { subtotal: z.int(), setup_fee: z.int().nullish() };
const totalled = z.object({ ...totals, first_order_item: z.object(item) });
const chargedOrderShape = z.object({
  ...totals,
  currency: field.currency,
  first_order_item: z.object({ ...item, price_id: field.id }),
});

/** An order reports its first item only; it is the only one when it makes up the subtotal. */
export function isOfOneItem(order: unknown): boolean {
  const parsed = totalled.safeParse(order);
  return parsed.success && isWhole(parsed.data);
}

/**
 * @param order attributes, of an event or an answer
 * @returns null where they do not report, as of a trial, which charges nothing
 */
export function chargedBy(order: unknown): Charged | null {
  const parsed = chargedOrderShape.safeParse(order);
  if (!parsed.success || !isWhole(parsed.data)) return null;
  const { price_id: price, price: unit } = parsed.data.first_order_item;
  return unit > 0 ? { price, unit, currency: parsed.data.currency } : null;
}

function isWhole(order: z.output<typeof totalled>): boolean {
  const { price, quantity } = order.first_order_item;
  return price * (quantity ?? 1) === order.subtotal - (order.setup_fee ?? 0);
}
