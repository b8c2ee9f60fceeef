/** Names of products, wherever an event carries a whole product or the API was asked for one. */
import type { FactBody } from "../../schemas/records/records.js";
import type { PaddleEvent } from "./event.js";
import { answeredNames } from "./questions.js";

type Sku = Extract<FactBody, { Sku: unknown }>["Sku"];

export function namesIn({ data, known }: PaddleEvent): Sku[] {
  const reported = answeredNames(known);
  collectProducts(data, reported);
  const names = new Map(reported.map(({ external_id, name }) => [external_id, name]));
  return [...names].map(([external_id, name]) => ({ external_id, name }));
}

/**
 * A product is whole in its own events, in line items and in subscription items. The endpoint
 * bounds depth and size of a body.
 */
function collectProducts(value: unknown, found: Sku[]): void {
  if (typeof value !== "object" || value === null) return;
  const own = productOf(value);
  if (own !== null) found.push(own);
  else for (const inner of Object.values(value)) collectProducts(inner, found);
}

function productOf(value: object): Sku | null {
  if (!("id" in value) || typeof value.id !== "string" || !value.id.startsWith("pro_")) return null;
  if (!("name" in value) || typeof value.name !== "string" || value.name.trim() === "") return null;
  return { external_id: value.id, name: value.name.trim() };
}
