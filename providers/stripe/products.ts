/** Names of products, wherever an event carries a whole product. */
import type { FactBody } from "../../schemas/records/records.js";

type Sku = Extract<FactBody, { Sku: unknown }>["Sku"];

/**
 * A product is whole in its own events and wherever its field was expanded, however deep. The
 * endpoint bounds depth and size of a body.
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
  const found = new Set<string>();
  collectReferences(value, found);
  return [...found];
}

function collectReferences(value: unknown, found: Set<string>): void {
  if (typeof value !== "object" || value === null) return;
  if ("product" in value && typeof value.product === "string") found.add(value.product);
  for (const inner of Object.values(value)) collectReferences(inner, found);
}

function productOf(value: object): Sku | null {
  if (!("object" in value) || value.object !== "product") return null;
  if (!("id" in value) || typeof value.id !== "string" || value.id === "") return null;
  if (!("name" in value) || typeof value.name !== "string" || value.name.trim() === "") return null;
  return { external_id: value.id, name: value.name.trim() };
}
