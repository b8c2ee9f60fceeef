/** Products by brute force: what each sold in a period and is worth a month (`definitions.md`). */
import { type Period, periodStart } from "./calendar.js";
import { sumOf } from "./fraction.js";
import type { Money } from "./money.js";
import { stateAt, type Timeline } from "./mrr.js";
import { grouped, shownMicros, shownMinor } from "./compare/showing.js";

/** `providers` in the order of provider and external id; `name` null when nobody named the SKU. */
export interface ProductFigures {
  readonly name: string | null;
  readonly total_revenue: number;
  readonly total_sales: number;
  readonly active_subscriptions: number;
  readonly mrr: number;
  readonly providers: readonly {
    readonly provider: string;
    readonly external_id: string;
    readonly revenue: number;
    readonly sales_count: number;
  }[];
}

export function productsAt(
  { entries }: Money,
  timelines: readonly Timeline[],
  names: ReadonlyMap<string, string>,
  base: string,
  period: Period,
  at: number,
): ProductFigures[] {
  const from = periodStart(period, at);
  const booked = (key: string) =>
    entries.filter(
      (entry) => `${entry.provider}/${entry.sku}` === key && entry.at >= from && entry.at <= at,
    );
  const skuKeys = new Set([
    ...entries.filter((entry) => entry.at <= at).map(({ provider, sku }) => `${provider}/${sku}`),
    ...timelines.flatMap((timeline) =>
      stateAt(timeline, at).map(({ sku }) => `${timeline.provider}/${sku}`),
    ),
  ]);
  const products = grouped([...skuKeys].sort(), (key) => {
    return skuOf(key) === "" ? "unattributed" : (names.get(key)?.toLowerCase() ?? key);
  });
  return [...products.values()].map((keys) => {
    const revenue = (some: readonly string[]) =>
      sumOf(some.flatMap(booked).map(({ amount }) => amount));
    const sales = (some: readonly string[]) =>
      some.flatMap(booked).reduce((sum, entry) => sum + entry.sales, 0);
    const worth = timelines.map((timeline) =>
      stateAt(timeline, at)
        .filter(({ sku }) => keys.includes(`${timeline.provider}/${sku}`))
        .reduce((sum, { micros }) => sum + micros, 0n),
    );
    const name = keys.flatMap((key) => names.get(key) ?? [])[0] ?? null;
    return {
      name,
      total_revenue: shownMinor(revenue(keys), base),
      total_sales: sales(keys),
      active_subscriptions: worth.filter((micros) => micros > 0n).length,
      mrr: shownMicros(sumOf(worth), base),
      providers: keys.map((key) => ({
        provider: key.slice(0, key.indexOf("/")),
        external_id: skuOf(key),
        revenue: shownMinor(revenue([key]), base),
        sales_count: sales([key]),
      })),
    };
  });
}

function skuOf(key: string): string {
  return key.slice(key.indexOf("/") + 1);
}
