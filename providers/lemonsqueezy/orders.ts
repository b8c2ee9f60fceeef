/** Orders: one-off sales and the first payment of a subscription. */
import { z } from "zod";
import { limits } from "../../config.js";
import type { FactBody, Line } from "../../schemas/records/records.js";
import { ignored, rejected } from "../outcomes.js";
import { factsAt, field, type LemonEvent, reader } from "./event.js";
import { isPaid, moneyFields, refundedOf, unclearUnit } from "./money.js";
import { countryOf, orderItems } from "./questions.js";

const orderShape = z.object({
  ...moneyFields,
  customer_id: field.id.nullish(),
  first_order_item: z
    .object({ product_id: field.id, product_name: z.string().nullish() })
    .nullish(),
});
type Order = z.output<typeof orderShape>;

/**
 * `order_created` is sent for a subscription's first payment, too. Its type is left open: the
 * subscription says that it is one, and its first invoice reports the same payment again.
 */
export const readOrder = reader(orderShape, (order, event) => {
  if (!isPaid(order)) return ignored("no money was collected");
  const unclear = unclearUnit(order);
  if (unclear !== null) return unclear;
  const lines = linesOf(order, event);
  if (lines.length > limits.linesPerPurchaseMax) {
    return rejected("too_many_lines", `More than ${limits.linesPerPurchaseMax} lines`);
  }
  const { currency, updated_at: at } = order;
  const payment = orderPayment(event.id);
  const facts: FactBody[] = [
    {
      Payment: {
        payment,
        at: order.created_at,
        amount: order.total,
        currency,
        account: order.customer_id ?? null,
        country: countryOf(event.known, order.customer_id),
        type: null,
        tax: order.tax ?? null,
        fee: null,
        lines,
      },
    },
  ];
  const amount = refundedOf(order);
  if (amount > 0n) {
    facts.push({ RefundTotal: { payment, at, amount, currency, witness: "order" } });
  }
  return factsAt(at, facts);
});

/** Orders and invoices count their ids apart. */
export function orderPayment(order: string): string {
  return `order:${order}`;
}

function linesOf({ first_order_item: first, total }: Order, { id, known }: LemonEvent): Line[] {
  const items = orderItems(known, id);
  if (items.length > 0) return items;
  return first ? [{ external_id: first.product_id, weight: total }] : [];
}
