/** Names of products, wherever an event carries a whole product. */
import type { FactBody } from "../../schemas/records.js";

type Sku = Extract<FactBody, { Sku: unknown }>["Sku"];

/**
 * A product is whole in its own events and wherever its field was expanded, however deep. The
 * door bounds depth and size of a body.
 */
export function productsIn(value: unknown): Sku[] {
  const found: Sku[] = [];
  collectProducts(value, found);
  return found;
}

/** Into one list: every event is walked, and lists of lists cost more than the walk. */
function collectProducts(value: unknown, found: Sku[]): void {
  if (typeof value !== "object" || value === null) return;
  const own = productOf(value);
  if (own !== null) found.push(own);
  else for (const inner of Object.values(value)) collectProducts(inner, found);
}

/** Ids of products an object names without telling them: fields `product`, however deep. */
export function namedProducts(value: unknown): string[] {
  return [...new Set(referencesIn(value))];
}

function referencesIn(value: unknown): string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) =>
    key === "product" && typeof inner === "string" ? [inner] : referencesIn(inner),
  );
}

function productOf(value: object): Sku | null {
  if (!("object" in value) || value.object !== "product") return null;
  if (!("id" in value) || typeof value.id !== "string" || value.id === "") return null;
  if (!("name" in value) || typeof value.name !== "string" || value.name.trim() === "") return null;
  return { external_id: value.id, name: value.name.trim() };
}
