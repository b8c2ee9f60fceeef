/** What an event leaves out and Stripe's API has: asked when the integration has an `api_key`. */
import { isObject } from "../fields.js";
import type { Known, Question } from "../provider.js";
import { type Answers, isCut, keptAndAnswered, pagesOf, paths, withAnswers } from "./answers.js";
import {
  type GivenDiscount,
  incompleteCoupons,
  type KnownDiscounts,
  knownDiscounts,
  unknownDiscounts,
} from "./discounts.js";
import { isPaidInPart } from "./invoices.js";
import { periodOf, type Price, priceIn } from "./prices.js";
import { reportsAllLines } from "./purchases.js";
import { discountsOf, isWorth, ofWhole, subscriptionShape } from "./subscriptions.js";

const dayMs = 24 * 60 * 60 * 1000;
/** Pages of 100 lines or items: rounds of questions are bounded, see `limits`. */
const pagesMax = 6;
const productsMax = 100;

/** Of a connected account the platform asks in that account's name. */
export function asks(
  event: { readonly type: string; readonly account: string | null },
  object: Readonly<Record<string, unknown>>,
  known: Pick<Known, "kept" | "answers">,
): Question[] {
  if (typeof object.id !== "string") return [];
  const asked = [
    ...neededBy(event.type, object.id, object, known),
    ...[...namedProducts(object)]
      .slice(0, productsMax)
      .map((product) => optional(paths.product(product))),
    ...feeOf(event.type, object),
    ...linesOfSession(event.type, object.id, object),
  ];
  if (event.account === null) return asked;
  const headers = { "stripe-account": event.account };
  return asked.map((question) => ({ ...question, headers }));
}

function neededBy(
  type: string,
  id: string,
  object: Readonly<Record<string, unknown>>,
  known: Pick<Known, "kept" | "answers">,
): Question[] {
  if (type.startsWith("customer.subscription.")) return neededForMrr(type, id, object, known);
  if (!type.startsWith("invoice.") || object.object !== "invoice") return [];
  const isPaid = object.status === "paid" || object.paid === true || isPaidInPart(object);
  if (!isPaid) return [];
  return nextPage(object.lines, known.answers, (after) => paths.invoiceLines(id, after));
}

/** What the event leaves out of the price of a subscription that counts. */
function neededForMrr(
  type: string,
  id: string,
  object: Readonly<Record<string, unknown>>,
  { kept, answers }: Pick<Known, "kept" | "answers">,
): Question[] {
  const { data: subscription } = subscriptionShape.safeParse(withAnswers(object, answers));
  if (!subscription || type === "customer.subscription.deleted" || !isWorth(subscription)) {
    return [];
  }
  const { currency = null, items } = subscription;
  const counted = items.data.flatMap(({ price }) => (price && periodOf(price) ? [price] : []));
  const known = knownDiscounts(discountsOf(subscription), keptAndAnswered(kept, answers));
  const charged = currency ?? counted[0]?.currency ?? "";
  const ofItems = items.data.flatMap(({ discounts }) => discounts ?? []);
  const whole = discountGaps(ofWhole(subscription), known, charged, answers);
  const own = discountGaps(ofItems, known, charged, answers);
  return [
    ...nextPage(object.items, answers, (after) => paths.subscriptionItems(id, after)),
    ...counted.flatMap((price) => neededOfPrice(price, currency)),
    ...(whole.isOpen ? [required(paths.subscriptionDiscounts(id), 0)] : []),
    ...(own.isOpen ? [required(paths.itemDiscounts(id), 0)] : []),
    // What a coupon takes off changes only where it is deleted and its id given to another.
    ...[...new Set([...whole.coupons, ...own.coupons])].map((coupon) =>
      required(paths.coupon(coupon), dayMs),
    ),
  ];
}

/** Its tiers, or its amount in the subscription's currency, where they are not there. */
function neededOfPrice(price: Price, currency: string | null): Question[] {
  const charged = priceIn(price, currency);
  const isTiered = price.billing_scheme === "tiered";
  const lacksTiers = isTiered && !charged?.tiers;
  if (typeof price.id !== "string" || (charged !== null && !lacksTiers)) return [];
  const path =
    currency === null || price.currency === currency
      ? paths.price(price.id)
      : paths.priceIn(price.id, currency.toLowerCase(), isTiered);
  return [required(path, dayMs)];
}

/** Open: a discount is named that nothing reported, or its coupon was deleted. */
function discountGaps(
  given: readonly GivenDiscount[],
  known: KnownDiscounts,
  currency: string,
  answers: Answers,
): { readonly isOpen: boolean; readonly coupons: readonly string[] } {
  const unknown = unknownDiscounts(given, known);
  const coupons = [...unknown.coupons, ...incompleteCoupons(given, known, currency)];
  // A coupon that was deleted goes on for those who have it, and is reported with their discounts
  // only.
  const isGone = coupons.some((coupon) => answers.get(paths.coupon(coupon)) === null);
  return { isOpen: unknown.discounts.length > 0 || isGone, coupons };
}

function nextPage(
  list: unknown,
  answers: Answers,
  pathOf: (after: string | null) => string,
): Question[] {
  if (!isCut(list)) return [];
  const { data, nextPath } = pagesOf(answers, pathOf);
  return nextPath === null || data.length >= pagesMax * 100 ? [] : [required(nextPath, 0)];
}

/** Ids of products that are named: fields `product`, however deep. */
function namedProducts(value: unknown, found = new Set<string>()): Set<string> {
  if (!isObject(value)) return found;
  if (typeof value.product === "string") found.add(value.product);
  for (const inner of Object.values(value)) namedProducts(inner, found);
  return found;
}

/** A charge names the balance transaction that has its fee. */
function feeOf(type: string, object: Readonly<Record<string, unknown>>): Question[] {
  const id = object.balance_transaction;
  const isCollected = object.object === "charge" && object.paid === true;
  if (!type.startsWith("charge.") || !isCollected || typeof id !== "string") return [];
  return [optional(paths.balanceTransaction(id))];
}

/** What a paid session sold: no event of a webhook shows its lines. */
function linesOfSession(
  type: string,
  id: string,
  object: Readonly<Record<string, unknown>>,
): Question[] {
  if (!type.startsWith("checkout.session.")) return [];
  const isPayment = object.payment_status === "paid" && typeof object.payment_intent === "string";
  return isPayment && !reportsAllLines(object) ? [optional(paths.sessionLines(id))] : [];
}

function required(path: string, freshForMs: number): Question {
  return { path, importance: "required", freshForMs };
}

/**
 * A product's name, a payment's fee or lines: published once and not requested again within a day.
 */
function optional(path: string): Question {
  return { path, importance: "optional", freshForMs: dayMs, sameForAll: true };
}
