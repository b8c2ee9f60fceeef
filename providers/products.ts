/** Names of products, wherever an event or an answer carries a whole product. */
import type { FactBody } from "../schemas/records/records.js";
import { isObject } from "./fields.js";

export type Sku = Extract<FactBody, { Sku: unknown }>["Sku"];

/**
 * However deep it lies: the endpoint bounds depth and size of a body.
 * @param isProduct of an object that has an id
 */
export function productsIn(
  value: unknown,
  isProduct: (object: Readonly<Record<string, unknown>>, id: string) => boolean,
): Sku[] {
  const found: Sku[] = [];
  // Into one list: every event is walked, and lists of lists cost more than the walk.
  const collect = (part: unknown): void => {
    if (!isObject(part)) return;
    const { id, name } = part;
    const isNamed = typeof id === "string" && typeof name === "string" && name.trim() !== "";
    if (isNamed && isProduct(part, id)) found.push({ external_id: id, name: name.trim() });
    else for (const inner of Object.values(part)) collect(inner);
  };
  collect(value);
  return found;
}
