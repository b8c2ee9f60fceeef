/** Categories and slugs of unified products (`definitions.md`, Products). */
import type { ProviderToken } from "./provider-tokens.js";

export const categories = ["SaaS", "Mobile App", "Desktop App", "Digital Asset"] as const;
export type Category = (typeof categories)[number];

/** The name of what belongs to no product, because its SKU was not told (yet). */
export const unattributed = "Unattributed";

/**
 * The category when nobody has chosen. Of several providers the first in alphabetical order
 * decides, so that it does not depend on which event came first.
 */
export function defaultCategory(providers: Iterable<string>): Category {
  const [first] = [...providers].sort();
  return categoryByProvider[first ?? ""] ?? "SaaS";
}

const categoryByProvider: Readonly<Record<string, Category>> = {
  apple: "Mobile App",
  google: "Mobile App",
  revenuecat: "Mobile App",
  gumroad: "Digital Asset",
} satisfies Partial<Record<ProviderToken, Category>>;

/** `Pro Plan (2024)` → `pro-plan-2024`. Letters of every script stay, so no name is without one. */
export function slugOf(name: string): string {
  return name
    .normalize("NFKD")
    .replace(/\p{M}/gu, "")
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, "-")
    .replace(/^-|-$/g, "");
}
