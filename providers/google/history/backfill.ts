/**
 * Google Play's history. Google lists what was voided in the last 30 days, and nothing else: it is
 * asked about each subscription that is booked, and about purchase tokens a person uploads. What
 * is read of a purchase, its whole life, is what any notification about it makes be read.
 * Sources: developers.google.com/android-publisher, Voided Purchases API and the reference of
 * purchases.subscriptionsv2 and orders; docs/providers/google.md, History.
 */
import { z } from "zod";
import {
  type Backfill,
  type HistoryList,
  type HistoryPage,
  type ListedPayment,
  nothingListed,
  placeOf,
} from "../../backfill.js";
import { isObject } from "../../fields.js";
import { paymentsIn } from "../../history-events.js";
import { apiName } from "../notification.js";
import { ordersPerQuestion, ordersQuestion } from "../order-answers.js";
import { orderShape, readOrder } from "../orders.js";
import { productPath, subscriptionPath, voidedPath } from "../paths.js";
import {
  latestOrdersOf,
  ordersUpTo,
  type Purchase,
  productOrderIds,
  productPurchaseShape,
  purchaseShape,
} from "../purchase.js";
import { productNotice, subscriptionNotice, subscriptionType, voidedNotices } from "./notices.js";

interface OfApp {
  readonly package_name: string;
}

const voidedShape = z.object({
  voidedPurchases: z
    .array(
      z.object({
        purchaseToken: apiName,
        orderId: apiName,
        voidedTimeMillis: z
          .string()
          .regex(/^\d{1,15}$/)
          .transform(Number),
      }),
    )
    .default([]),
  tokenPagination: z.object({ nextPageToken: z.string().nullish() }).nullish(),
});

const voided: HistoryList<OfApp> = {
  name: "voided_purchases",
  reportsPayments: false,
  path: ({ from, to }, after, of) =>
    voidedPath(appOf(of), {
      // Google shows the last 30 days, whatever is asked for.
      startTime: `${from}`,
      endTime: `${to}`,
      ...(after !== null && { token: after }),
    }),
  read(answer, _asOf, _span, _after, of) {
    const parsed = voidedShape.safeParse(answer);
    if (!parsed.success) return null;
    const { voidedPurchases: all, tokenPagination: pages } = parsed.data;
    return {
      objects: all.length,
      events: all.flatMap(({ purchaseToken: token, orderId, voidedTimeMillis: at }) =>
        voidedNotices({ packageName: appOf(of), token }, orderId, at),
      ),
      payments: [],
      next: pages?.nextPageToken ?? null,
    };
  },
};

const subscriptions: HistoryList<OfApp> = {
  name: "subscriptions",
  reportsPayments: true,
  ofEach: ["subscription"],
  path: (_span, after, of) => pathOf(appOf(of), after, subscriptionPath),
  read: (answer, asOf, _span, after = null, of) =>
    readPurchase(answer, after, (token) => {
      const purchase = purchaseShape.safeParse(answer).data;
      if (purchase === undefined || !isObject(answer)) return null;
      const { type, at } = stateOf(purchase, asOf);
      const named = { packageName: appOf(of), token };
      return {
        event: subscriptionNotice(named, type, { at, answer, asOf }),
        orders: latestOrdersOf(purchase),
        isTest: purchase.testPurchase !== undefined,
      };
    }),
};

/** Of one-time purchases our books do not have the token. */
const products: HistoryList<OfApp> = {
  name: "one_time_purchases",
  reportsPayments: true,
  ofEach: [],
  path: (_span, after, of) => pathOf(appOf(of), after, productPath),
  read: (answer, asOf, _span, after = null, of) =>
    readPurchase(answer, after, (token) => {
      const purchase = productPurchaseShape.safeParse(answer).data;
      if (purchase === undefined || !isObject(answer)) return null;
      return {
        event: productNotice({ packageName: appOf(of), token }, { answer, asOf }),
        orders: productOrderIds(purchase, null),
        isTest: purchase.testPurchaseContext !== undefined,
      };
    }),
};

function appOf(credentials: OfApp | undefined): string {
  if (credentials === undefined) throw new Error("Google is asked without credentials");
  return credentials.package_name;
}

/** A pause begins when the period before it is over; when it was asked for is not listed. */
function stateOf({ subscriptionState: state, lineItems }: Purchase, asOf: number) {
  const ends = lineItems.flatMap(({ expiryTime }) => expiryTime ?? []);
  if (state === "SUBSCRIPTION_STATE_PAUSED" && ends.length > 0) {
    return { type: subscriptionType.paused, at: Math.min(asOf, Math.max(...ends)) };
  }
  const isOver = state === "SUBSCRIPTION_STATE_EXPIRED";
  return { type: isOver ? subscriptionType.expired : subscriptionType.renewed, at: asOf };
}

interface Read {
  readonly event: HistoryPage["events"][number];
  /** The latest of each kind. */
  readonly orders: readonly string[];
  /** Booked in the test environment, where nothing is compared. */
  readonly isTest: boolean;
}

/**
 * The first page of a purchase is the purchase; then come its orders, for the comparison. An order
 * that does not exist (it was never charged) fails its whole batch: each is then asked for alone.
 */
function readPurchase(
  answer: unknown,
  after: string | null,
  read: (token: string) => Read | null,
): HistoryPage | null {
  const { id: token, next } = placeOf(after);
  if (next === null) {
    if (answer === null) return nothingListed;
    const found = read(token);
    if (found === null) return null;
    const { event, orders, isTest } = found;
    const place = isTest ? null : { start: 0, atOnce: ordersPerQuestion, orders };
    return { objects: 1, events: [event], payments: [], next: textOf(token, place) };
  }
  const place = ordersPlace(next);
  if (answer === null && place.atOnce > 1) {
    return { ...nothingListed, next: textOf(token, { ...place, atOnce: 1 }) };
  }
  const all = isObject(answer) && Array.isArray(answer["orders"]) ? answer["orders"] : [answer];
  const payments = all.flatMap(listedPayment);
  const following = { ...place, start: place.start + place.atOnce };
  return { ...nothingListed, payments, next: textOf(token, following) };
}

interface OrdersPlace {
  readonly start: number;
  readonly atOnce: number;
  readonly orders: readonly string[];
}

function ordersPlace(next: string): OrdersPlace {
  const [start, atOnce, orders = ""] = next.split(" ");
  const named = orders.split(",").map(decodeURIComponent);
  return { start: Number(start), atOnce: Number(atOnce), orders: named };
}

/** @returns null where there are no more */
function textOf(token: string, place: OrdersPlace | null): string | null {
  if (place === null || someOf(place).length === 0) return null;
  const { start, atOnce, orders } = place;
  return `${token} ${start} ${atOnce} ${orders.map(encodeURIComponent).join(",")}`;
}

/** Of more than are read of one purchase, none: its event is a reject. */
function someOf({ start, atOnce, orders }: OrdersPlace): string[] {
  const all = ordersUpTo(orders);
  return "outcome" in all ? [] : all.slice(start, start + atOnce);
}

function pathOf(
  packageName: string,
  after: string | null,
  purchasePath: (packageName: string, token: string) => string,
): string {
  const { id: token, next } = placeOf(after);
  if (next === null) return purchasePath(packageName, token);
  return ordersQuestion(packageName, someOf(ordersPlace(next)));
}

function listedPayment(answer: unknown): ListedPayment[] {
  const order = orderShape.safeParse(answer).data;
  if (order === undefined) return [];
  const facts = readOrder(order, { account: null, country: null });
  const refunded = facts.reduce(
    (sum, fact) => ("Refund" in fact ? sum + fact.Refund.amount : sum),
    0n,
  );
  return paymentsIn(facts, refunded);
}

export const googleBackfill: Backfill<OfApp> = {
  lists: [voided, subscriptions, products],
  byIds: { ids: "purchase tokens from your own records", listedMs: 0 },
  missing: [
    "Google lists no customers: only purchases are read that are booked already or whose tokens " +
      "you upload.",
    "Subscriptions that ended more than 60 days ago are no longer answered for.",
    "Refunds of one-time purchases are read only of uploaded tokens, and of the last 30 days.",
    "When a subscription was paused before is listed nowhere, only that it is paused now.",
    "Each purchase is read whole, with what was paid before the first day.",
  ],
};
