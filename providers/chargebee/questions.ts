/** What Chargebee's events leave out and its API reports: coupons, and names of item prices. */
import { z } from "zod";
import { compiled } from "../fields.js";
import type { KeptObject, Known, Question } from "../provider.js";
import { type Coupon, couponShape } from "./discounts.js";
import { envelopeShape, field } from "./event.js";

const dayMs = 24 * 60 * 60 * 1000;

const subscriptionShape = compiled(
  z.object({
    status: z.string(),
    subscription_items: z
      .array(z.object({ item_price_id: field.id }))
      .nullish()
      .catch(null),
    coupons: z
      .array(z.object({ coupon_id: field.id }))
      .nullish()
      .catch(null),
  }),
);
const invoiceShape = compiled(
  z.object({
    line_items: z
      .array(z.object({ entity_id: field.id.nullish(), entity_type: z.string() }))
      .nullish()
      .catch(null),
  }),
);

/** One that is cancelled at the end of its term still counts. */
export function isWorth(status: string): boolean {
  return status === "active" || status === "non_renewing";
}

/** A coupon changes MRR and is needed, unless it is kept; names always are optional. */
export function asks(body: unknown, known: Known): Question[] {
  const { subscription, invoice } = objectsOf(body);
  const prices = [
    ...(subscription?.subscription_items ?? []).map(({ item_price_id: id }) => id),
    ...(invoice?.line_items ?? []).flatMap(({ entity_id: id, entity_type: type }) =>
      id && type.endsWith("_item_price") ? [id] : [],
    ),
  ];
  const names = [...new Set(prices)].map((price): Question => ({
    path: pricePath(price),
    importance: "optional",
    freshForMs: dayMs,
    sameForAll: true,
  }));
  const coupons = needs(body)
    .filter((coupon) => !known.kept.has(coupon))
    .map((id): Question => ({ path: couponPath(id), importance: "required", freshForMs: dayMs }));
  return [...names, ...coupons];
}

/** Ids of the coupons of a subscription that is worth something. */
export function needs(body: unknown): string[] {
  const { subscription } = objectsOf(body);
  if (!subscription || !isWorth(subscription.status)) return [];
  return (subscription.coupons ?? []).map(({ coupon_id: id }) => id);
}

/** Which objects of an event are read stands in its type's name. */
function objectsOf(body: unknown) {
  const envelope = envelopeShape.safeParse(body);
  if (!envelope.success) return {};
  const { event_type: type, content } = envelope.data;
  return {
    subscription: type.startsWith("subscription_")
      ? subscriptionShape.safeParse(content["subscription"]).data
      : undefined,
    invoice: /^(invoice|payment|transaction)_/.test(type)
      ? invoiceShape.safeParse(content["invoice"]).data
      : undefined,
  };
}

/** Its id was chosen by the merchant. */
export function keeps(body: unknown): KeptObject[] {
  const envelope = envelopeShape.safeParse(body);
  if (!envelope.success || !envelope.data.event_type.startsWith("coupon_")) return [];
  const { occurred_at: at, content } = envelope.data;
  const coupon = keptShape.safeParse(content["coupon"]);
  if (!coupon.success) return [];
  const { id, resource_version: version } = coupon.data;
  // As it was sent, since it is read by its shape when it is needed.
  const object = content["coupon"];
  const { success } = couponShape.safeParse(object);
  return success
    ? [{ id, reportedAt: version ?? at, refers: [], object: termsOf(object), ownId: true }]
    : [];
}

const keptShape = z.object({ id: field.id, resource_version: field.version });

/** What decoding needs of a coupon; what it is for is the merchant's own business. */
function termsOf(coupon: unknown): Readonly<Record<string, unknown>> {
  const fields = new Set(Object.keys(couponShape.shape));
  return Object.fromEntries(Object.entries(Object(coupon)).filter(([name]) => fields.has(name)));
}

/** A coupon by its id, as an event reported it or the API did; null when neither has. */
export function couponOf({ kept, answers }: Known, id: string): Coupon | null {
  const answer = couponAnswer.safeParse(answers.get(couponPath(id)));
  return couponShape.safeParse(kept.get(id)).data ?? answer.data?.coupon ?? null;
}

const couponAnswer = z.object({ coupon: couponShape });

function pricePath(price: string): string {
  return `/api/v2/item_prices/${encodeURIComponent(price)}`;
}

function couponPath(coupon: string): string {
  return `/api/v2/coupons/${encodeURIComponent(coupon)}`;
}
