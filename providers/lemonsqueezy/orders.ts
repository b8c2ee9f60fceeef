/** Orders: one-off sales and the first payment of a subscription. */
import { z } from "zod";
import { limits } from "../../config.js";
import type { FactBody, Line } from "../../schemas/records/records.js";
import { contradictory, ignored, rejected } from "../outcomes.js";
import { factsAt, field, type LemonEvent, reader } from "./event.js";
import { contradictionIn, isPaid, moneyFields, refundedOf, unclearUnit } from "./money.js";
import { countryOf, orderItems } from "./questions.js";

const orderShape = z.object({
  ...moneyFields,
  subtotal: field.amount.nullish().catch(null),
  discount_total: field.amount.nullish().catch(null),
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
  if (isFreeWithPrice(order)) {
    return contradictory("An order is paid, but nothing of what its items cost");
  }
  if (!isPaid(order)) return ignored("no money was collected");
  const unclear = contradictionIn(order) ?? unclearUnit(order);
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

/** Credit may pay for an invoice; an order is paid by its total. */
function isFreeWithPrice({ status, total, subtotal, discount_total: discount }: Order): boolean {
  return status === "paid" && total <= 0n && (subtotal ?? 0n) > (discount ?? 0n);
}

/** Orders and invoices count their ids apart. */
export function orderPayment(order: string): string {
  return `order:${order}`;
}

function linesOf({ first_order_item: first, total }: Order, { id, known }: LemonEvent): Line[] {
  const items = orderItems(known, id);
  if (items.length > 0) return items;
  return first ? [{ external_id: first.product_id, weight: total }] : [];
}
