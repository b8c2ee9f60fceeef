/** Names of products, wherever an event carries a whole product. */
import type { FactBody } from "../../schemas/records.js";

type Sku = Extract<FactBody, { Sku: unknown }>["Sku"];

/**
 * A product is whole in its own events and wherever its field was expanded, however deep. The
 * door bounds depth and size of a body.
 */
export function productsIn(value: unknown): Sku[] {
  if (typeof value !== "object" || value === null) return [];
  const own = productOf(value);
  return own === null ? Object.values(value).flatMap(productsIn) : [own];
}

function productOf(value: object): Sku | null {
  if (!("object" in value) || value.object !== "product") return null;
  if (!("id" in value) || typeof value.id !== "string" || value.id === "") return null;
  if (!("name" in value) || typeof value.name !== "string" || value.name.trim() === "") return null;
  return { external_id: value.id, name: value.name.trim() };
}
