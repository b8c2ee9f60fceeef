/**
 * Purchases as `purchases.subscriptionsv2.get` and `purchases.productsv2` answer them, and the ids
 * of their orders.
 */
import { z } from "zod";
import { compiled } from "../fields.js";
import { limits } from "../../config.js";
import { rejected, type Unreported } from "../outcomes.js";
import type { KeptObject, Known } from "../provider.js";
import { digestOf } from "./chain.js";
import { apiName, type PurchaseNotification } from "./notification.js";
import { country, time } from "./reading.js";

export const purchaseShape = compiled(
  z.object({
    subscriptionState: z.string(),
    /** Absent while the first payment is pending. */
    startTime: time.nullish(),
    regionCode: country,
    linkedPurchaseToken: apiName.nullish(),
    /** Deprecated; where no item names an order of its own, it is all there is. */
    latestOrderId: apiName.nullish(),
    /** An object of nothing where it is a test purchase. */
    testPurchase: z.unknown().optional(),
    canceledStateContext: z
      .object({
        replacementCancellation: z.unknown().optional(),
        systemInitiatedCancellation: z.unknown().optional(),
        userInitiatedCancellation: z.unknown().optional(),
        developerInitiatedCancellation: z.unknown().optional(),
      })
      .nullish(),
    lineItems: z
      .array(
        z.object({
          productId: apiName,
          expiryTime: time.nullish(),
          latestSuccessfulOrderId: apiName.nullish(),
        }),
      )
      .max(limits.itemsPerSubscriptionMax)
      .default([]),
  }),
);
export type Purchase = z.output<typeof purchaseShape>;

/** A weekly subscription makes so many orders in 19 years. */
const ordersMax = 1_000;

/**
 * From the base order to the latest: `GPA.…`, `GPA.…..0` to `GPA.…..n`. What is missing between
 * was never charged, or never existed.
 */
export function orderIdsOf(
  purchase: Purchase,
  { token, order: voided }: PurchaseNotification,
  known: Known,
): string[] | Unreported {
  const named = [...latestOrdersOf(purchase), voided ?? [], ...ordersNamedBefore(token, known)];
  return ordersUpTo(named.flat());
}

/** Of each of these, all from its base order on. */
export function ordersUpTo(named: readonly string[]): string[] | Unreported {
  const newest = new Map<string, number>();
  for (const order of named) {
    const base = baseOf(order);
    newest.set(base, Math.max(newest.get(base) ?? -1, renewalOf(order)));
  }
  const ids: string[] = [];
  for (const [base, last] of newest) {
    if (ids.length + last > ordersMax) {
      return rejected("too_many_orders", `More than ${ordersMax} orders of one subscription`);
    }
    ids.push(base);
    for (let renewal = 0; renewal <= last; renewal += 1) ids.push(`${base}..${renewal}`);
  }
  return ids;
}

/** One for each item. */
export function latestOrdersOf({ lineItems, latestOrderId }: Purchase): string[] {
  const ofItems = lineItems.flatMap((item) => item.latestSuccessfulOrderId ?? []);
  return ofItems.length > 0 ? ofItems : [latestOrderId ?? []].flat();
}

/** What counts was ordered; one that replaces another may be paid for when that one is over. */
export function lacksOrder({ subscriptionState: state, linkedPurchaseToken }: Purchase): boolean {
  return countingStates.has(state) && !linkedPurchaseToken;
}

const countingStates: ReadonlySet<string> = new Set(
  ["ACTIVE", "IN_GRACE_PERIOD", "CANCELED"].map((name) => `SUBSCRIPTION_STATE_${name}`),
);

const renewedId = /^(.+)\.\.(\d{1,9})$/;

/** That of the first order, which those of its renewals begin with. */
function baseOf(order: string): string {
  return renewedId.exec(order)?.[1] ?? order;
}

/** -1 of a first order. */
function renewalOf(order: string): number {
  return Number.parseInt(renewedId.exec(order)?.[2] ?? "-1", 10);
}

export function ordersId(token: string): string {
  return `orders:${digestOf(token)}`;
}

function ordersNamedBefore(token: string, { kept }: Pick<Known, "kept">): string[] {
  return Object.keys(namedShape.safeParse(kept.get(ordersId(token))).data ?? {});
}

/**
 * Orders a purchase named while its items were paid for apart: what was kept of a plan or an add-on
 * until the next renewal pays for all. From then on Google names that one alone, and what was worth
 * what before could not be read again.
 */
export function keptOrders(
  token: string,
  purchase: Purchase,
  known: Pick<Known, "kept">,
): KeptObject[] {
  const latest = latestOrdersOf(purchase);
  const before = new Set(ordersNamedBefore(token, known));
  const isApart = new Set(latest.map(baseOf)).size > 1;
  if (!isApart || latest.every((id) => before.has(id))) return [];
  const object = Object.fromEntries(latest.map((id) => [id, true]));
  return [{ id: ordersId(token), reportedAt: 0, refers: [], object, merges: true }];
}

const namedShape = z.record(z.string(), z.unknown());

export const productPurchaseShape = compiled(
  z.object({
    /** Absent where nothing was paid: a promotion code, a reward. */
    orderId: apiName.nullish(),
    regionCode: country,
    /** There for a test purchase only. */
    testPurchaseContext: z.unknown().optional(),
  }),
);

/** @param voided the order a notification names; the API no longer answers for some purchases */
export function productOrderIds(
  purchase: z.output<typeof productPurchaseShape> | undefined,
  voided: string | null,
): string[] {
  return [...new Set([voided ?? [], purchase?.orderId ?? []].flat())];
}
