/** What Lemon Squeezy's webhooks leave out and its API (JSON:API) reports. */
import { z } from "zod";
import type { Line } from "../../schemas/records/records.js";
import { anyObject } from "../fields.js";
import type { Known, Question } from "../provider.js";
import { type Charged, chargedBy, chargedShape, isOfOneItem } from "./kept.js";
import { envelopeShape, field } from "./event.js";
import { keptOrderId, keptSubscriptionId } from "./kept.js";
import { priceShape } from "./prices.js";
import { isWorth, subscriptionShape } from "./state.js";

const dayMs = 24 * 60 * 60 * 1000;

/**
 * Countries and an order's further lines are optional; what MRR or an identity rests on is needed.
 */
export function asks(body: unknown, known: Known): Question[] {
  const envelope = envelopeShape.safeParse(body);
  if (!envelope.success || envelope.data.meta.event_name.endsWith("_failed")) return [];
  const { id, attributes } = envelope.data.data;
  const customer = customerShape.safeParse(attributes);
  const country = customer.success ? [optional(customerPath(customer.data.customer_id))] : [];
  switch (envelope.data.data.type) {
    case "orders":
      return [...country, ...(isOfOneItem(attributes) ? [] : [optional(orderItemsPath(id))])];
    case "subscription-invoices":
      return [...country, ...ofInvoice(attributes, known)];
    case "subscriptions":
      return [...country, ...ofSubscription(attributes, known)];
    default:
      return [];
  }
}

/** Ids of objects the body only names and earlier events may have reported. */
export function needs(body: unknown): string[] {
  const envelope = envelopeShape.safeParse(body);
  if (!envelope.success) return [];
  const { type, attributes } = envelope.data.data;
  if (type === "subscription-invoices") {
    const invoice = invoiceShape.safeParse(attributes);
    return invoice.success ? [keptSubscriptionId(invoice.data.subscription_id)] : [];
  }
  if (type !== "subscriptions") return [];
  const subscription = subscriptionShape.safeParse(attributes);
  return subscription.success ? [keptOrderId(subscription.data.order_id)] : [];
}

function ofInvoice(attributes: unknown, known: Known): Question[] {
  const invoice = invoiceShape.safeParse(attributes);
  if (!invoice.success) return [];
  const { subscription_id: subscription } = invoice.data;
  const isKept = known.kept.has(keptSubscriptionId(subscription));
  return isKept ? [] : [required(subscriptionPath(subscription))];
}

function ofSubscription(attributes: unknown, known: Known): Question[] {
  const subscription = subscriptionShape.safeParse(attributes);
  if (!subscription.success || !isWorth(subscription.data)) return [];
  const { order_id: order, store_id: store, first_subscription_item: item } = subscription.data;
  const questions = [required(storePath(store))];
  if (item) questions.push(required(pricePath(item.price_id)));
  if (reportedCharge(known, order) === undefined) questions.push(required(orderPath(order)));
  if (isWithoutDiscount(known, order)) return questions;
  const redemptions = redemptionsOf(known, order) ?? [];
  const discounts = redemptions.map(({ discount_id: id }) => required(discountPath(id)));
  return [...questions, required(redemptionsPath(order)), ...discounts];
}

function required(path: string): Question {
  return { path, importance: "required", freshForMs: dayMs };
}

function optional(path: string): Question {
  return { path, importance: "optional", freshForMs: dayMs };
}

/** Only an initial invoice has to be joined with an order. */
const invoiceShape = z.object({
  billing_reason: z.literal("initial"),
  subscription_id: field.id,
});
const customerShape = z.object({ customer_id: field.id });

/** ISO 3166-1 alpha-2; null while nobody reported it. */
export function countryOf(known: Known, customer: string | null | undefined): string | null {
  if (!customer) return null;
  return answered(known, customerPath(customer), countryShape)?.country ?? null;
}

/** Each line of an order by its product; empty when the API was not asked. */
export function orderItems({ answers }: Known, order: string): Line[] {
  if (answers.size === 0) return [];
  const list = itemList.safeParse(answers.get(orderItemsPath(order)));
  if (!list.success) return [];
  return list.data.data.map(({ attributes: { product_id: product, price, quantity } }) => ({
    external_id: product,
    weight: BigInt(price) * BigInt(quantity ?? 1),
  }));
}

/** The order a subscription began with, from an event of the subscription or the API. */
export function orderOf(known: Known, subscription: string): string | null {
  const kept = ofOrder.safeParse(known.kept.get(keptSubscriptionId(subscription)));
  if (kept.success) return kept.data.order_id;
  return answered(known, subscriptionPath(subscription), ofOrder)?.order_id ?? null;
}

export function priceOf(known: Known, price: string) {
  return answered(known, pricePath(price), priceShape);
}

export function storeCurrency(known: Known, store: string): string | null {
  return answered(known, storePath(store), storeShape)?.currency ?? null;
}

/** Whether an event of the order said that its subscription has no discount. */
export function isWithoutDiscount({ kept }: Known, order: string): boolean {
  return withoutDiscount.safeParse(kept.get(keptOrderId(order))).success;
}

/**
 * What the order charged, as its event reported it, else the API.
 * @returns null when neither reports; undefined while it was not asked
 */
export function chargedOf(known: Known, order: string): Charged | null | undefined {
  const reported = reportedCharge(known, order);
  if (reported !== undefined || !known.answers.has(orderPath(order))) return reported;
  const answer = answerShape.safeParse(known.answers.get(orderPath(order)));
  return answer.success ? chargedBy(answer.data.data.attributes) : null;
}

function reportedCharge({ kept }: Known, order: string): Charged | null | undefined {
  return keptCharged.safeParse(kept.get(keptOrderId(order))).data?.charged;
}

/** @returns null when it is not known; none when the API knows of none */
export function redemptionsOf({ answers }: Known, order: string) {
  const path = redemptionsPath(order);
  if (answers.get(path) === null) return [];
  const list = redemptionList.safeParse(answers.get(path));
  return list.success ? list.data.data.map(({ attributes }) => attributes) : null;
}

export function discountOf(known: Known, discount: string) {
  return answered(known, discountPath(discount), discountShape);
}

function answered<Shape extends z.ZodType>(
  { answers }: Known,
  path: string,
  shape: Shape,
): z.output<Shape> | null {
  if (!answers.has(path)) return null;
  const answer = answerShape.safeParse(answers.get(path));
  return answer.success ? (shape.safeParse(answer.data.data.attributes).data ?? null) : null;
}

function listOf<Fields extends z.ZodRawShape>(fields: Fields) {
  return z.object({ data: z.array(z.object({ attributes: z.object(fields) })) });
}

const answerShape = z.object({ data: z.object({ attributes: anyObject }) });
const keptCharged = z.object({ charged: chargedShape.nullable() });
const withoutDiscount = z.object({ undiscounted: z.literal(true) });
const countryShape = z.object({ country: z.string().regex(/^[A-Z]{2}$/) });
const ofOrder = z.object({ order_id: field.id });
const storeShape = z.object({ currency: field.currency });
const itemList = listOf({
  product_id: field.id,
  price: z.int().nonnegative(),
  quantity: z.int().nonnegative().nullish(),
});
const redemptionList = listOf({
  discount_id: field.id,
  /** A whole percentage, or minor units of the store's currency. */
  discount_amount: z.int().nonnegative(),
  discount_amount_type: z.enum(["percent", "fixed"]),
});
const discountShape = z.object({
  duration: z.enum(["once", "repeating", "forever"]),
  duration_in_months: z.int().positive().nullish(),
});

const customerPath = (id: string) => `/v1/customers/${encodeURIComponent(id)}`;
const subscriptionPath = (id: string) => `/v1/subscriptions/${encodeURIComponent(id)}`;
const orderPath = (id: string) => `/v1/orders/${encodeURIComponent(id)}`;
const pricePath = (id: string) => `/v1/prices/${encodeURIComponent(id)}`;
const storePath = (id: string) => `/v1/stores/${encodeURIComponent(id)}`;
const discountPath = (id: string) => `/v1/discounts/${encodeURIComponent(id)}`;
const orderItemsPath = (order: string) => listPath("order-items", order);
const redemptionsPath = (order: string) => listPath("discount-redemptions", order);
/** A hundred is the most one page holds, and more than an order has. */
const listPath = (list: string, order: string) =>
  `/v1/${list}?filter[order_id]=${encodeURIComponent(order)}&page[size]=100`;
