/** Revenue over time (`docs/metrics.md`), from sums in minor units: what is shown adds up. */
import type { Catalogue } from "../../catalogue/view.js";
import type { CellGroup, GroupFields } from "../../schemas/http/series.js";
import { knownExponentOf } from "../../schemas/money/currencies.js";
import { toJsonNumber } from "../../schemas/money/money.js";
import { utcDay } from "../../schemas/money/rates.js";
import { groupFields, groupKey } from "../reading/groups.js";
import type { Series, SeriesPart } from "../reading/series.js";
import type { ReportedRow, RevenueCell, RevenueSumsRow } from "./query.js";
import type { RevenueAnswer, RevenueRow } from "./schema.js";

export function presentRevenue(
  sums: readonly RevenueSumsRow[],
  reported: readonly ReportedRow[],
  series: Series,
  group: CellGroup | undefined,
  catalogue: Catalogue,
  currency: string,
): RevenueAnswer["data"] {
  const cells = cellsOf(sums, reported, group, catalogue);
  const exponent = knownExponentOf(currency);
  const present = (days: Pick<SeriesPart, "from" | "to">, some: readonly Cell[]) => ({
    from: utcDay(days.from),
    to: utcDay(days.to),
    ...presentFigures(some.map(({ figures }) => figures).reduce(plus, nothing), exponent),
  });
  const cellsIn = (part: SeriesPart) => [...(cells.get(utcDay(part.start)) ?? [])];
  const ofCells = ([, cell]: readonly [string, Cell]) => cell;
  const whole: RevenueRow[] = series.parts.map((part) => present(part, cellsIn(part).map(ofCells)));
  const ofGroups = (): RevenueRow[] =>
    series.parts.flatMap((part) =>
      cellsIn(part)
        .sort(([one], [other]) => (one < other ? -1 : 1))
        .map(([, cell]) => ({ ...present(part, [cell]), ...cell.fields })),
    );
  return {
    currency,
    interval: series.interval,
    ...(group === undefined ? { revenue: whole } : { revenue: ofGroups(), ungrouped: whole }),
    totals: present(
      series,
      [...cells.values()].flatMap((some) => [...some.values()]),
    ),
  };
}

type Cells = ReadonlyMap<string, ReadonlyMap<string, Cell>>;

interface Cell {
  readonly fields: GroupFields;
  readonly figures: Figures;
}

/** By the start of their interval, then by what distinguishes groups. */
function cellsOf(
  sums: readonly RevenueSumsRow[],
  reported: readonly ReportedRow[],
  group: CellGroup | undefined,
  catalogue: Catalogue,
): Cells {
  const cells = new Map<string, Map<string, Cell>>();
  for (const row of sums) {
    const fields = groupFields(row, group, catalogue);
    const key = groupKey(fields);
    const cellsOfStart = cells.get(row.start) ?? new Map<string, Cell>();
    cells.set(row.start, cellsOfStart);
    const { gross, refunds, disputes, tax, fees, sales } = row;
    const all = { gross, refunds, disputes, tax, fees, sales, with_tax: 0, with_fee: 0 };
    const known = cellsOfStart.get(key)?.figures ?? nothing;
    const figures = figuresBy((name) => known[name] + BigInt(all[name]));
    cellsOfStart.set(key, { fields, figures });
  }
  for (const row of reported) {
    const cellsOfStart = cells.get(row.start);
    const key = groupKey(groupFields(row, group, catalogue));
    const cell = cellsOfStart?.get(key);
    if (cell === undefined) continue;
    const { figures } = cell;
    const with_tax = amongSales(figures, figures.with_tax + BigInt(row.tax));
    const with_fee = amongSales(figures, figures.with_fee + BigInt(row.fee));
    cellsOfStart?.set(key, { ...cell, figures: { ...figures, with_tax, with_fee } });
  }
  return cells;
}

/** Transactions are seen a moment before the ledger has their sales. */
function amongSales({ sales }: Figures, count: bigint): bigint {
  if (sales < 0n) return 0n;
  return count < sales ? count : sales;
}

/** Minor units of base currency; of `sales` those whose tax is reported, and those whose fee is. */
type Figures = Readonly<Record<FigureName, bigint>>;
type FigureName = keyof Omit<RevenueSumsRow, keyof RevenueCell> | "with_tax" | "with_fee";

function figuresBy(valueOf: (name: FigureName) => bigint): Figures {
  return {
    gross: valueOf("gross"),
    refunds: valueOf("refunds"),
    disputes: valueOf("disputes"),
    tax: valueOf("tax"),
    fees: valueOf("fees"),
    sales: valueOf("sales"),
    with_tax: valueOf("with_tax"),
    with_fee: valueOf("with_fee"),
  };
}

const nothing = figuresBy(() => 0n);

function plus(one: Figures, other: Figures): Figures {
  return figuresBy((name) => one[name] + other[name]);
}

function presentFigures(figures: Figures, exponent: number) {
  const money = (amount: bigint) => toJsonNumber(amount, exponent);
  const { gross, refunds, disputes, tax, fees, sales, with_tax, with_fee } = figures;
  const revenue = gross + refunds + disputes;
  return {
    gross: money(gross),
    refunds: money(refunds),
    disputes: money(disputes),
    revenue: money(revenue),
    tax: money(tax),
    fees: sales > 0n && with_fee === 0n && fees === 0n ? null : money(fees),
    net: money(revenue - tax - fees),
    sales: Number(sales),
    sales_without_tax: Number(sales - with_tax),
    sales_without_fee: Number(sales - with_fee),
  };
}
