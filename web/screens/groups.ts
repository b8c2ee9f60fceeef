/** Breakdowns of a series by provider, product, currency or country. */
import type { GroupFields } from "../../schemas/http/series.js";
import { countryName, providerName } from "../format/names.js";
import type { FilterName } from "../state/view.js";

export const groupNames = ["provider", "product", "currency", "country"] as const;
export type GroupName = FilterName;

export function groupOf(text: string | null): GroupName | null {
  return groupNames.find((name) => name === text) ?? null;
}

/** @returns what filters by the group, and its name */
export function groupKey(row: GroupFields, group: GroupName): { key: string; label: string } {
  switch (group) {
    case "provider":
      return { key: row.provider ?? "", label: providerName(row.provider ?? "") };
    case "product":
      return { key: row.product_id ?? "", label: row.product_name ?? "" };
    case "currency":
      return { key: row.original_currency ?? "", label: row.original_currency ?? "" };
    case "country":
      return { key: row.country ?? "", label: countryName(row.country ?? "") };
    default:
      return group satisfies never;
  }
}

export interface Group {
  readonly key: string;
  readonly label: string;
}

/** Those with the most first, so that colours go to those that matter. */
export function groupsBySize<Row extends GroupFields>(
  rows: readonly Row[],
  group: GroupName,
  size: (row: Row) => number,
): readonly Group[] {
  const sums = new Map<string, { label: string; sum: number }>();
  for (const row of rows) {
    const { key, label } = groupKey(row, group);
    const before = sums.get(key)?.sum ?? 0;
    sums.set(key, { label, sum: before + Math.abs(size(row)) });
  }
  return [...sums]
    .sort(([, one], [, other]) => other.sum - one.sum)
    .map(([key, { label }]) => ({ key, label }));
}
