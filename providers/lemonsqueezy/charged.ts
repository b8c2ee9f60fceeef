/**
 * What an order charged for one unit of what it sold. A checkout may set an amount of its own,
 * which a subscription keeps for its renewals and no price object shows. Source: Lemon Squeezy's
 * SDK, `NewCheckout.customPrice`.
 */
import { z } from "zod";
import { field } from "./event.js";

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
const orderShape = z.object({
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
  const parsed = orderShape.safeParse(order);
  if (!parsed.success || !isWhole(parsed.data)) return null;
  const { price_id: price, price: unit } = parsed.data.first_order_item;
  return unit > 0 ? { price, unit, currency: parsed.data.currency } : null;
}

function isWhole(order: z.output<typeof totalled>): boolean {
  const { price, quantity } = order.first_order_item;
  return price * (quantity ?? 1) === order.subtotal - (order.setup_fee ?? 0);
}
