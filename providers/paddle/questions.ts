/** What Paddle's webhooks leave out and its API reports: countries, names, what a discount is. */
import { z } from "zod";
import { compiled } from "../fields.js";
import type { Known, Question } from "../provider.js";
import { discountShape } from "./discounts.js";
import { field } from "./event.js";
import { dependsOnCountry } from "./prices.js";

const dayMs = 24 * 60 * 60 * 1000;

const shape = compiled(
  z.object({
    event_type: z.string(),
    data: z.object({
      status: z.string().nullish().catch(null),
      customer_id: field.id.nullish().catch(null),
      address_id: field.id.nullish().catch(null),
      address: z.object({ country_code: z.string() }).nullish().catch(null),
      discount: z.object({ id: field.id }).nullish().catch(null),
      currency_code: z.string().nullish().catch(null),
      items: z
        .array(
          z.object({
            price: z.looseObject({ product_id: field.id }).nullish().catch(null),
            product: z.object({ name: z.string() }).nullish().catch(null),
          }),
        )
        .nullish()
        .catch(null),
    }),
  }),
);

/** Past due still counts; a trial, a pause, an end and every other status do not. */
export function isWorth({ status }: { readonly status?: string | null | undefined }): boolean {
  return status === "active" || status === "past_due";
}

/**
 * A country is optional, unless a price depends on it; names always are. A discount changes MRR and
 * is needed, unless it is kept. An end, or any state that is worth nothing, waits for no answer.
 */
export function asks(body: unknown, known: Known): Question[] {
  const parsed = shape.safeParse(body);
  if (!parsed.success || !/^(subscription|transaction)\./.test(parsed.data.event_type)) return [];
  const { event_type: type, data } = parsed.data;
  const questions: Question[] = [];
  const isSubscription = type.startsWith("subscription.");
  const counts = isSubscription && type !== "subscription.canceled" && isWorth(data);
  if (data.customer_id && data.address_id && !data.address) {
    const path = addressPath(data.customer_id, data.address_id);
    const currency = data.currency_code ?? null;
    const isNeeded =
      counts && (data.items ?? []).some(({ price }) => dependsOnCountry(price, currency));
    questions.push({ path, importance: isNeeded ? "required" : "optional", freshForMs: dayMs });
  }
  if (!isSubscription) return questions;
  for (const { price, product } of data.items ?? []) {
    if (product || !price) continue;
    const path = productPath(price.product_id);
    questions.push({ path, importance: "optional", freshForMs: dayMs, sameForAll: true });
  }
  if (counts && data.discount && !known.kept.has(data.discount.id)) {
    const path = discountPath(data.discount.id);
    questions.push({ path, importance: "required", freshForMs: dayMs });
  }
  return questions;
}

/** Ids of discounts the body names without telling them. */
export function needs(body: unknown): string[] {
  const parsed = shape.safeParse(body);
  if (!parsed.success || !parsed.data.event_type.startsWith("subscription.")) return [];
  const { discount } = parsed.data.data;
  return discount ? [discount.id] : [];
}

/** ISO 3166-1 alpha-2 of an address the event only names; null while nobody reported it. */
export function countryOf(
  { answers }: Known,
  customer: string | null | undefined,
  address: string | null | undefined,
): string | null {
  if (!customer || !address || answers.size === 0) return null;
  const answer = addressAnswer.safeParse(answers.get(addressPath(customer, address)));
  return answer.success ? answer.data.data.country_code : null;
}

/** A discount by its id, as an event reported it or the API did; null when neither has. */
export function discountOf({ kept, answers }: Known, id: string) {
  const answer = discountAnswer.safeParse(answers.get(discountPath(id)));
  return discountShape.safeParse(kept.get(id)).data ?? answer.data?.data ?? null;
}

const addressAnswer = z.object({
  data: z.object({ country_code: z.string().regex(/^[A-Z]{2}$/) }),
});
const discountAnswer = z.object({ data: discountShape });

function addressPath(customer: string, address: string): string {
  return `/customers/${encodeURIComponent(customer)}/addresses/${encodeURIComponent(address)}`;
}

function productPath(product: string): string {
  return `/products/${encodeURIComponent(product)}`;
}

function discountPath(discount: string): string {
  return `/discounts/${encodeURIComponent(discount)}`;
}
