/**
 * Groups of the figures over time: the largest are shown one by one, all others added up. Of
 * products the engine adds them up, so that a series costs the same whether there are ten or ten
 * thousand; of countries, say, there are so few that one statement reads them all.
 */
import assert from "node:assert";
import type { Catalogue } from "../../workspaces/catalogue/view.js";
import { limits } from "../../config.js";
import { planIntervals } from "../../schemas/money/plan-intervals.js";
import type { GroupFields } from "../../schemas/http/series.js";
import { providerToken } from "../../schemas/http/transactions.js";
import { providerTokens } from "../../schemas/provider-tokens.js";
import { type MovementKind, movementKinds } from "../../schemas/records/records.js";
import type { MovementGroup } from "../movement-series/schema.js";
import { mrrOf } from "../../schemas/money/monthly.js";
import { skuSql } from "./metric-filters.js";
import { kindOf } from "./movement-sums.js";
import type { Query } from "./query.js";

/** What distinguishes a group in answers. */
type Fields = GroupFields & { readonly kind?: MovementKind };

export interface Groups {
  readonly by: MovementGroup;
  /** One by one, by their place in queries; in the order of answers. */
  readonly shown: ReadonlyMap<string, Fields>;
  /** How many others there are. */
  readonly others: number;
  /** Of each member of those that are shown. */
  readonly placeOf: ReadonlyMap<string, string>;
}

/** SQL of what groups consist of. A product is grouped by its SKUs, which people may regroup. */
const memberOf: Readonly<Record<MovementGroup, string>> = {
  provider: "provider",
  product: skuSql,
  country: "country",
  currency: "currency",
  plan_interval: "plan_interval",
  kind: "kind",
};

export function memberSql(by: MovementGroup, name: "member" | "place" = "member"): string {
  return `${memberOf[by]} AS ${name}`;
}

/** So many there can be; of products, any number. Countries are those of ISO 3166, and none. */
const membersMax: Readonly<Record<Exclude<MovementGroup, "product">, number>> = {
  provider: providerTokens.length,
  country: 250,
  currency: 200,
  plan_interval: planIntervals.length,
  kind: movementKinds.length,
};

/** Groups that are still to be found, in rows of which each has its member as `place`. */
export interface UnrankedGroups {
  readonly by: Exclude<MovementGroup, "product">;
  readonly groupsMax: number;
}

/**
 * Whether rows of all members are few enough to be read at once, and ranked afterwards. Otherwise
 * one statement finds the largest and another reads them.
 */
export function hasFewMembers(by: MovementGroup, rowsOfOne: number): by is UnrankedGroups["by"] {
  return by !== "product" && membersMax[by] * rowsOfOne <= limits.seriesRowsMax;
}

export interface MemberSize {
  readonly member: string;
  /** decimal text, in whatever unit: sizes are only compared */
  readonly size: string;
}

/** @param sizes one for each member that has any figures */
export function largestGroups(
  by: MovementGroup,
  sizes: readonly MemberSize[],
  groupsMax: number,
  catalogue: Catalogue | null,
): Groups {
  const found = new Map<string, { fields: Fields; size: bigint; members: string[] }>();
  for (const { member, size } of sizes) {
    const fields = memberFields(member, by, catalogue);
    const key = groupKey(fields);
    const group = found.get(key) ?? { fields, size: 0n, members: [] };
    found.set(key, group);
    group.size += mrrOf(size);
    group.members.push(member);
  }
  const shown = [...found]
    .sort(([key, one], [otherKey, other]) => {
      const [size, otherSize] = [sizeOf(one), sizeOf(other)];
      if (size !== otherSize) return size > otherSize ? -1 : 1;
      return key < otherKey ? -1 : 1;
    })
    .slice(0, groupsMax)
    .sort(([key], [otherKey]) => (key < otherKey ? -1 : 1))
    .map(([, group], index) => ({ ...group, place: String(index + 1) }));
  return {
    by,
    shown: new Map(shown.map(({ place, fields }) => [place, fields])),
    others: found.size - shown.length,
    placeOf: new Map(
      shown.flatMap(({ members, place }) => members.map((member) => [member, place] as const)),
    ),
  };
}

function sizeOf({ size }: { readonly size: bigint }): bigint {
  return size < 0n ? -size : size;
}

/** Of all that is not shown one by one. */
export const placeOfOthers = "";

export function groupParams({ placeOf }: Groups): Query["params"] {
  return { group_members: [...placeOf.keys()], group_places: [...placeOf.values()] };
}

/** SQL that names the group of a row, in terms of `groupParams`. */
export function placeSql({ by, shown }: Groups): string {
  if (shown.size === 0) return `'${placeOfOthers}' AS place`;
  const pairs = "{group_members:Array(String)}, {group_places:Array(String)}";
  return `transform(${memberOf[by]}, ${pairs}, '${placeOfOthers}') AS place`;
}

/** @param catalogue there where groups are products */
export function memberFields(
  member: string,
  by: MovementGroup,
  catalogue: Catalogue | null,
): Fields {
  switch (by) {
    case "provider":
      return { provider: providerToken.parse(member) };
    case "product": {
      const end = member.indexOf(":");
      const sku = { provider: member.slice(0, end), externalId: member.slice(end + 1) };
      assert(catalogue !== null, "products are told apart by the catalogue");
      const { id, name } = catalogue.productOf(sku);
      return { product_id: id, product_name: name };
    }
    case "country":
      return { country: member };
    case "currency":
      return { original_currency: member };
    case "plan_interval":
      return { plan_interval: planIntervals.find((each) => each === member) ?? "unknown" };
    case "kind":
      return { kind: kindOf({ kind: member }) };
    default:
      return by satisfies never;
  }
}

export function groupKey(fields: Fields): string {
  return Object.values(fields).join("\n");
}

/** The columns of a table of that group, of all columns any group has. */
export function isOfGroup(name: string, group: string | undefined): boolean {
  const fields = Object.entries(answerFields).find(([, names]) => names.includes(name));
  return fields === undefined || fields[0] === group;
}

const answerFields: Readonly<Record<MovementGroup, readonly string[]>> = {
  provider: ["provider"],
  product: ["product_id", "product_name"],
  country: ["country"],
  currency: ["original_currency"],
  plan_interval: ["plan_interval"],
  kind: ["kind"],
};
