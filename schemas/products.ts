/** Categories and slugs of unified products (`definitions.md`, Products). */
import { hash } from "node:crypto";
import type { ProviderToken } from "./provider-tokens.js";

export const categories = ["SaaS", "Mobile App", "Desktop App", "Digital Asset"] as const;
export type Category = (typeof categories)[number];

/** The name of what belongs to no product, because its SKU was not reported (yet). */
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

/**
 * `Pro Plan (2024)` → `pro-plan-2024`; empty where a name has neither letter nor digit. Letters of
 * every script stay, and keep their marks but in Latin, where one word is written with and without
 * (`Café`): in other scripts they make other words, ハグ no バグ and मसिक no मासिक.
 */
export function slugOf(name: string): string {
  const slug = name
    .normalize("NFKD")
    .replace(/(\p{Script=Latin})\p{M}+|[\p{Me}\p{Variation_Selector}]/gu, "$1")
    .normalize("NFC")
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}]+/gu, "-")
    .replace(/^-|-$/g, "");
  return slug.length <= slugLengthMax ? slug : shortened(slug);
}

/** An index of Postgres holds no text of thousands of bytes, and a name may have any length. */
const slugLengthMax = 200;
const slugStart = /^.{1,80}/u;

/** What is cut off is replaced by its hash, so that long names that begin alike stay apart. */
function shortened(slug: string): string {
  const [start] = slugStart.exec(slug) ?? [""];
  return `${start}-${hash("sha256", slug)}`;
}
