/** Names of products, wherever an event or an answer carries a whole product. */
import type { FactBody } from "../schemas/records/records.js";

export type Sku = Extract<FactBody, { Sku: unknown }>["Sku"];

/**
 * However deep it lies: the endpoint bounds depth and size of a body.
 * @param isProduct of an object that has an id
 */
export function productsIn(
  value: unknown,
  isProduct: (object: object, id: string) => boolean,
): Sku[] {
  const found: Sku[] = [];
  // Into one list: every event is walked, and lists of lists cost more than the walk.
  const collect = (part: unknown): void => {
    if (typeof part !== "object" || part === null) return;
    const own = productOf(part, isProduct);
    if (own !== null) found.push(own);
    else for (const inner of Object.values(part)) collect(inner);
  };
  collect(value);
  return found;
}

function productOf(value: object, isProduct: (object: object, id: string) => boolean): Sku | null {
  if (!("id" in value) || typeof value.id !== "string" || !isProduct(value, value.id)) return null;
  if (!("name" in value) || typeof value.name !== "string" || value.name.trim() === "") return null;
  return { external_id: value.id, name: value.name.trim() };
}
