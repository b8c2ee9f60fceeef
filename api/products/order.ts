/** The order of products, and a place in it. Pure. */
import { z } from "zod";
import type { ProductFigures } from "./figures.js";
import type { ProductSort } from "./schema.js";

/** Where a page ended; of equal keys products follow by their id. */
export const productPosition = z.object({
  /** Digits of an amount or a count, or a name. */
  key: z.string(),
  id: z.string(),
});
export type ProductPosition = z.output<typeof productPosition>;

export function productPositionOf(figures: ProductFigures, sort: ProductSort): ProductPosition {
  return { key: keyOf(figures, sort), id: figures.product.id };
}

/**
 * People may merge and rename between two pages; what moved up in the list is not shown again.
 * @returns those after `last`, in order
 */
export function productsAfter(
  last: ProductPosition | null,
  figures: readonly ProductFigures[],
  sort: ProductSort,
): ProductFigures[] {
  return figures
    .map((each) => ({ each, place: productPositionOf(each, sort) }))
    .filter(({ place }) => last === null || compare(last, place, sort) < 0)
    .sort((one, other) => compare(one.place, other.place, sort))
    .map(({ each }) => each);
}

function keyOf(figures: ProductFigures, sort: ProductSort): string {
  const keys = {
    total_revenue: () => figures.revenue.toString(),
    mrr: () => figures.mrr.toString(),
    active_subscriptions: () => String(figures.subscriptions),
    name: () => figures.product.name,
  };
  return keys[columnOf(sort)]();
}

function compare(one: ProductPosition, other: ProductPosition, sort: ProductSort): number {
  const order = columnOf(sort) === "name" ? byName(one.key, other.key) : bySize(one.key, other.key);
  if (order !== 0) return sort.startsWith("-") ? -order : order;
  return one.id === other.id ? 0 : one.id < other.id ? -1 : 1;
}

function columnOf(sort: ProductSort) {
  switch (sort) {
    case "-total_revenue":
    case "total_revenue":
      return "total_revenue";
    case "-mrr":
    case "mrr":
      return "mrr";
    case "-active_subscriptions":
    case "active_subscriptions":
      return "active_subscriptions";
    case "-name":
    case "name":
      return "name";
    default:
      return sort satisfies never;
  }
}

const { compare: byName } = new Intl.Collator("en", { numeric: true });

function bySize(one: string, other: string): number {
  const difference = BigInt(one) - BigInt(other);
  return difference === 0n ? 0 : difference < 0n ? -1 : 1;
}
