/** How orders are asked for and found among the answers: many at a time where there are many. */
import { malformed, type Unreported } from "../outcomes.js";
import type { Known } from "../provider.js";
import { contradictionIn, type Order, orderShape } from "./orders.js";
import { orderPath, ordersPath } from "./paths.js";
import { unavailable } from "./reading.js";

/** An order id has about 30 characters, and a URL should stay below 4,000. */
export const ordersPerQuestion = 100;

/** @returns paths; where an order of a batch does not exist, those of its orders one by one */
export function ordersToAsk(packageName: string, ids: readonly string[], known: Known): string[] {
  return batchesOf(ids).flatMap((batch) => {
    const path = ordersQuestion(packageName, batch);
    return isSplit(batch, known.answers.get(path))
      ? [path, ...batch.map((id) => orderPath(packageName, id))]
      : [path];
  });
}

/** The orders that exist, in the order of their ids. */
export function ordersIn(
  packageName: string,
  ids: readonly string[],
  known: Known,
): Order[] | Unreported {
  const orders: Order[] = [];
  for (const batch of batchesOf(ids)) {
    for (const each of answersTo(packageName, batch, known)) {
      if (each === undefined) return unavailable("the orders of the purchase");
      if (each === null) continue;
      const order = orderShape.safeParse(each);
      if (!order.success) return malformed(order.error, "order");
      const odd = contradictionIn(order.data);
      if (odd !== null) return odd;
      orders.push(order.data);
    }
  }
  return orders;
}

/** One for each order; undefined for what is not answered. */
function answersTo(packageName: string, batch: readonly string[], known: Known): unknown[] {
  const answer = known.answers.get(ordersQuestion(packageName, batch));
  if (isSplit(batch, answer)) {
    return batch.map((id) => known.answers.get(orderPath(packageName, id)));
  }
  if (batch.length === 1) return [answer];
  const isList = typeof answer === "object" && answer !== null && "orders" in answer;
  return isList && Array.isArray(answer.orders) ? answer.orders : [undefined];
}

function isSplit(batch: readonly string[], answer: unknown): boolean {
  return batch.length > 1 && answer === null;
}

function batchesOf(ids: readonly string[]): string[][] {
  const batches: string[][] = [];
  for (let at = 0; at < ids.length; at += ordersPerQuestion) {
    batches.push(ids.slice(at, at + ordersPerQuestion));
  }
  return batches;
}

/** One by its own path: a batch of one is asked the same. */
export function ordersQuestion(packageName: string, batch: readonly string[]): string {
  const [only = ""] = batch;
  return batch.length > 1 ? ordersPath(packageName, batch) : orderPath(packageName, only);
}
