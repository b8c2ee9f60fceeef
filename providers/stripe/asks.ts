/** What an event leaves out and Stripe's API has: asked when the integration has an `api_key`. */
import type { Known, Question } from "../provider.js";
import { type Answers, pagesOf, paths, withAnswers } from "./answers.js";
import { isPaidInPart } from "./invoices.js";
import { namedProducts } from "./products.js";
import { reportsAllLines } from "./purchases.js";
import { gapsOfSubscription } from "./history/subscription-gaps.js";

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
    ...neededBy(event, object.id, object, known),
    ...namedProducts(object)
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
  { type }: { readonly type: string },
  id: string,
  object: Readonly<Record<string, unknown>>,
  { kept, answers }: Pick<Known, "kept" | "answers">,
): Question[] {
  if (type.startsWith("invoice.") && object.object === "invoice") {
    const isPaid = object.status === "paid" || object.paid === true || isPaidInPart(object);
    return isPaid ? nextPage(object.lines, answers, (after) => paths.invoiceLines(id, after)) : [];
  }
  if (!type.startsWith("customer.subscription.")) return [];
  const gaps = gapsOfSubscription(type, withAnswers(object, answers), kept, answers);
  return [
    ...(gaps.items
      ? nextPage(object.items, answers, (after) => paths.subscriptionItems(id, after))
      : []),
    ...gaps.tiers.map((price) => required(paths.price(price), dayMs)),
    ...gaps.options.map(({ price, currency, isTiered }) =>
      required(paths.priceIn(price, currency, isTiered), dayMs),
    ),
    ...(gaps.discounts ? [required(paths.subscriptionDiscounts(id), 0)] : []),
    ...(gaps.itemDiscounts ? [required(paths.itemDiscounts(id), 0)] : []),
    // What a coupon takes off changes only where it is deleted and its id given to another.
    ...gaps.coupons.map((coupon) => required(paths.coupon(coupon), dayMs)),
  ];
}

function nextPage(
  list: unknown,
  answers: Answers,
  pathOf: (after: string | null) => string,
): Question[] {
  const isCut =
    typeof list === "object" && list !== null && "has_more" in list && list.has_more === true;
  if (!isCut) return [];
  const pages = pagesOf(answers, pathOf);
  if (pages === null) return [required(pathOf(null), 0)];
  const isLast = pages.nextPath === null || pages.data.length >= pagesMax * 100;
  return isLast || pages.nextPath === null ? [] : [required(pages.nextPath, 0)];
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
