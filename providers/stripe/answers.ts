/** What Stripe's API answered, put in where an event left it out. */
import { z } from "zod";
import { isObject } from "../fields.js";
import { answeredCouponId, couponId } from "./discounts.js";

export type Answers = ReadonlyMap<string, unknown>;

/** Paths of questions; each is the name of its answer. */
export const paths = {
  invoiceLines: (invoice: string, after: string | null) =>
    `/v1/invoices/${encodeURIComponent(invoice)}/lines?limit=100${startingAfter(after)}`,
  /** A session has a hundred lines at most. */
  sessionLines: (session: string) =>
    `/v1/checkout/sessions/${encodeURIComponent(session)}/line_items` +
    "?limit=100&expand[]=data.price.product",
  subscriptionItems: (subscription: string, after: string | null) =>
    `/v1/subscription_items?subscription=${encodeURIComponent(subscription)}&limit=100` +
    startingAfter(after),
  /** Stripe expands four levels at most, so the discounts of items are asked for apart. */
  subscriptionDiscounts: (subscription: string) =>
    `/v1/subscriptions/${encodeURIComponent(subscription)}` +
    "?expand[]=discounts.source.coupon.applies_to" +
    "&expand[]=discounts.source.coupon.currency_options",
  itemDiscounts: (subscription: string) =>
    `/v1/subscription_items?subscription=${encodeURIComponent(subscription)}&limit=100` +
    "&expand[]=data.discounts.source.coupon",
  coupon: (coupon: string) =>
    `/v1/coupons/${encodeURIComponent(coupon)}?expand[]=applies_to&expand[]=currency_options`,
  price: (price: string) => `/v1/prices/${encodeURIComponent(price)}?expand[]=tiers`,
  priceIn: (price: string, currency: string, isTiered: boolean) =>
    `/v1/prices/${encodeURIComponent(price)}?expand[]=currency_options` +
    (isTiered ? `&expand[]=currency_options.${currency}.tiers` : ""),
  product: (product: string) => `/v1/products/${encodeURIComponent(product)}`,
  balanceTransaction: (id: string) => `/v1/balance_transactions/${encodeURIComponent(id)}`,
} as const;

const anyObject = z.looseObject({ id: z.string() });
const page = z.object({ data: z.array(anyObject), has_more: z.boolean() });

/**
 * A list the event shows the beginning of, as far as its pages were answered.
 * @param pathOf the page after an id; the first page holds what the event shows, too
 * @returns the path of the page that was not answered; null when there is none
 */
export function pagesOf(
  answers: Answers,
  pathOf: (after: string | null) => string,
): { readonly data: readonly unknown[]; readonly nextPath: string | null } {
  const data: unknown[] = [];
  let after: string | null = null;
  for (;;) {
    const path = pathOf(after);
    const answer = page.safeParse(answers.get(path));
    if (!answer.success) return { data, nextPath: path };
    data.push(...answer.data.data);
    const last = answer.data.data.at(-1)?.id;
    if (!answer.data.has_more || last === undefined || last === after) {
      return { data, nextPath: null };
    }
    after = last;
  }
}

const discountAnswer = anyObject.extend({
  coupon: z.unknown().optional(),
  source: z.object({ coupon: z.unknown().optional() }).nullish(),
});
/** Of a subscription or an item; ids where they are not expanded. */
const discountsAnswer = z.object({ discounts: z.array(discountAnswer).catch([]) });
const itemsAnswer = z.object({ data: z.array(discountsAnswer) });

/** What was kept from earlier events, and what was answered of the same kind. */
export function keptAndAnswered(
  kept: ReadonlyMap<string, unknown>,
  answers: Answers,
): ReadonlyMap<string, unknown> {
  if (answers.size === 0) return kept;
  const all = new Map<string, unknown>();
  for (const [path, answer] of answers) {
    const coupon = path.startsWith("/v1/coupons/") ? anyObject.safeParse(answer).data : undefined;
    if (coupon === undefined) continue;
    all.set(couponId(coupon.id), coupon);
    all.set(answeredCouponId(coupon.id), coupon);
  }
  for (const discount of answeredDiscounts(answers)) {
    all.set(discount.id, discount);
    // As the customer has it, also where it was deleted, or its id is another coupon's by now.
    const coupon = anyObject.safeParse(discount.coupon ?? discount.source?.coupon).data;
    if (coupon === undefined) continue;
    all.set(couponId(coupon.id), coupon);
    if (coupon.applies_to !== undefined) all.set(answeredCouponId(coupon.id), coupon);
  }
  // What an event reported was reported then, and Stripe's answer is of now.
  for (const [id, object] of kept) all.set(id, object);
  return all;
}

function answeredDiscounts(answers: Answers): z.output<typeof discountAnswer>[] {
  return [...answers].flatMap(([path, answer]) => {
    if (path.startsWith("/v1/subscriptions/")) {
      return discountsAnswer.safeParse(answer).data?.discounts ?? [];
    }
    if (!path.startsWith("/v1/subscription_items?")) return [];
    return (itemsAnswer.safeParse(answer).data?.data ?? []).flatMap(({ discounts }) => discounts);
  });
}

const anyPrice = z.looseObject({ id: z.string(), billing_scheme: z.unknown() });
const tiered = z.object({ tiers: z.array(z.unknown()) });
const optional = z.object({ currency_options: z.record(z.string(), z.unknown()) });

/** The object as the event shows it, its lists and tiers made whole by answers. */
export function withAnswers(object: Readonly<Record<string, unknown>>, answers: Answers) {
  const { id, lines, items } = object;
  if (answers.size === 0 || typeof id !== "string") return object;
  const ofInvoice = wholeList(lines, answers, (after) => paths.invoiceLines(id, after));
  if (ofInvoice !== lines) return { ...object, lines: ofInvoice };
  const list = wholeList(items, answers, (after) => paths.subscriptionItems(id, after));
  if (!isObject(list) || !Array.isArray(list.data)) return object;
  const data = list.data.map((item: unknown) => withPrice(item, object.currency, answers));
  return { ...object, items: { data, has_more: isCut(list) } };
}

/** The list itself where it is not cut, or nothing more was answered. */
function wholeList(
  list: unknown,
  answers: Answers,
  pathOf: (after: string | null) => string,
): unknown {
  if (!isCut(list)) return list;
  const { data, nextPath } = pagesOf(answers, pathOf);
  const isAsShown = data.length === 0 && nextPath !== null;
  return isAsShown ? list : { data, has_more: nextPath !== null };
}

function withPrice(item: unknown, currency: unknown, answers: Answers): unknown {
  if (!isObject(item)) return item;
  const { data: price } = anyPrice.safeParse(item.price);
  if (price === undefined) return item;
  const more = {
    ...tiered.safeParse(answers.get(paths.price(price.id))).data,
    ...(typeof currency === "string" ? optionsOf(price, currency, answers) : undefined),
  };
  return { ...item, price: { ...more, ...price } };
}

function optionsOf(price: z.output<typeof anyPrice>, currency: string, answers: Answers) {
  const path = paths.priceIn(price.id, currency, price.billing_scheme === "tiered");
  return optional.safeParse(answers.get(path)).data;
}

/** Whether an event shows only its beginning. */
export function isCut(list: unknown): boolean {
  return isObject(list) && list.has_more === true;
}

function startingAfter(after: string | null): string {
  return after === null ? "" : `&starting_after=${encodeURIComponent(after)}`;
}
