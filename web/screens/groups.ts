/** Breakdowns of a series: by provider, product, currency or country; of MRR by interval, too. */
import type { GroupFields } from "../../schemas/http/series.js";
import { type Tone, groupTones } from "../charts/tones.js";
import { countryName, planIntervalName, providerName } from "../format/names.js";
import { count } from "../format/numbers.js";

export const groupNames = ["provider", "product", "currency", "country"] as const;
export const mrrGroupNames = [...groupNames, "plan_interval"] as const;
export type GroupName = (typeof mrrGroupNames)[number];

export function groupOf(text: string | null, names: readonly GroupName[]): GroupName | null {
  return names.find((name) => name === text) ?? null;
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
    case "plan_interval":
      return { key: row.plan_interval ?? "", label: planIntervalName(row.plan_interval ?? "") };
    default:
      return group satisfies never;
  }
}

export interface Group {
  /** What filters by it; empty for the others. */
  readonly key: string;
  readonly label: string;
  readonly tone: Tone;
}

/** A breakdown is asked for so many groups: each has a colour. The service adds up all others. */
export const groupsAsked = String(groupTones.length);

interface Answered<Row> {
  readonly rows: readonly Row[];
  readonly others: { readonly count: number; readonly rows: readonly Row[] } | undefined;
}

/**
 * The groups with the most first, so that colours go to those that matter, then the others; and
 * the rows of all of them, oldest first.
 */
export function breakdownOf<Row extends GroupFields & { readonly from: string }>(
  { rows, others }: Answered<Row>,
  group: GroupName,
  size: (row: Row) => number,
): { readonly groups: readonly Group[]; readonly rows: readonly Row[] } {
  const sums = new Map<string, { label: string; sum: number }>();
  for (const row of rows) {
    const { key, label } = groupKey(row, group);
    const before = sums.get(key)?.sum ?? 0;
    sums.set(key, { label, sum: before + Math.abs(size(row)) });
  }
  const largest = [...sums]
    .sort(([, one], [, other]) => other.sum - one.sum)
    .map(([key, { label }], index): Group => ({ key, label, tone: groupTones[index] ?? "others" }));
  if (others === undefined || others.count === 0) return { groups: largest, rows };
  return {
    groups: [...largest, { key: "", label: `Others (${count(others.count)})`, tone: "others" }],
    rows: [...rows, ...others.rows].sort((one, other) => one.from.localeCompare(other.from)),
  };
}

/** The one with the most; the others together are no group. */
export function largestOf<One extends { readonly key: string; readonly value: number }>(
  groups: readonly One[],
): One | undefined {
  return groups
    .filter(({ key }) => key !== "")
    .toSorted((one, other) => other.value - one.value)[0];
}

/** The filter of a group; none of the others, which are no part that can be asked for. */
export function filterOf(key: string, group: GroupName): Partial<Record<GroupName, string>> {
  return key === "" ? {} : { [group]: key };
}
