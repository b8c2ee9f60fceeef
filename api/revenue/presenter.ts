/** Revenue over time (`docs/metrics.md`), from sums in minor units: what is shown adds up. */
import type { Catalogue } from "../../catalogue/view.js";
import { knownExponentOf } from "../../schemas/money/currencies.js";
import type { RevenueAnswer, RevenueRow } from "./schema.js";
import type { CellGroup, GroupFields } from "../../schemas/http/series.js";
import { toJsonNumber } from "../../schemas/money/money.js";
import { utcDay } from "../../schemas/money/rates.js";
import { groupFields, groupKey } from "../reading/groups.js";
import type { RevenueSumsRow, ReportedRow } from "./query.js";
import type { Series, SeriesPart } from "../reading/series.js";

/** Minor units of base currency. */
interface Figures {
  readonly gross: bigint;
  readonly refunds: bigint;
  readonly disputes: bigint;
  readonly tax: bigint;
  readonly fees: bigint;
  readonly sales: number;
  /** Of `sales`: those whose tax is reported, and those whose fee is. */
  readonly taxReported: number;
  readonly feeReported: number;
}

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
  const revenue = series.parts.flatMap((part): RevenueRow[] => {
    const found = [...(cells.get(utcDay(part.start)) ?? [])]
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([, cell]) => cell);
    const shown =
      found.length > 0 || group !== undefined ? found : [{ fields: {}, figures: nothing }];
    return shown.map(({ fields, figures }) => ({
      ...daysOf(part),
      ...fields,
      ...presentFigures(figures, exponent),
    }));
  });
  const sumOf = (some: ReadonlyMap<string, Cell> | undefined): Figures =>
    [...(some?.values() ?? [])].reduce((sum, { figures }) => plus(sum, figures), nothing);
  const whole = [...cells.values()].map(sumOf).reduce(plus, nothing);
  const ungrouped = (part: SeriesPart): RevenueRow => ({
    ...daysOf(part),
    ...presentFigures(sumOf(cells.get(utcDay(part.start))), exponent),
  });
  return {
    currency,
    interval: series.interval,
    revenue,
    ...(group === undefined ? {} : { ungrouped: series.parts.map(ungrouped) }),
    totals: { ...daysOf(series), ...presentFigures(whole, exponent) },
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
  const placeOf = (row: RevenueSumsRow | ReportedRow) => {
    const fields = groupFields(row, group, catalogue);
    return { fields, key: groupKey(fields) };
  };
  for (const row of sums) {
    const { fields, key } = placeOf(row);
    const cellsOfStart = cells.get(row.start) ?? new Map<string, Cell>();
    cells.set(row.start, cellsOfStart);
    const figures = plus(cellsOfStart.get(key)?.figures ?? nothing, figuresOf(row));
    cellsOfStart.set(key, { fields, figures });
  }
  for (const row of reported) {
    const { key } = placeOf(row);
    const cell = cells.get(row.start)?.get(key);
    if (cell === undefined) continue;
    const { figures } = cell;
    // Transactions are seen a moment before the ledger has their sales.
    const among = (count: number) => Math.min(count, Math.max(0, figures.sales));
    const taxReported = among(figures.taxReported + Number(row.tax));
    const feeReported = among(figures.feeReported + Number(row.fee));
    cells.get(row.start)?.set(key, { ...cell, figures: { ...figures, taxReported, feeReported } });
  }
  return cells;
}

const nothing: Figures = {
  gross: 0n,
  refunds: 0n,
  disputes: 0n,
  tax: 0n,
  fees: 0n,
  sales: 0,
  taxReported: 0,
  feeReported: 0,
};

function figuresOf(row: RevenueSumsRow): Figures {
  return {
    gross: BigInt(row.gross),
    refunds: BigInt(row.refunds),
    disputes: BigInt(row.disputes),
    tax: BigInt(row.tax),
    fees: BigInt(row.fees),
    sales: Number(row.sales),
    taxReported: 0,
    feeReported: 0,
  };
}

function plus(one: Figures, other: Figures): Figures {
  return {
    gross: one.gross + other.gross,
    refunds: one.refunds + other.refunds,
    disputes: one.disputes + other.disputes,
    tax: one.tax + other.tax,
    fees: one.fees + other.fees,
    sales: one.sales + other.sales,
    taxReported: one.taxReported + other.taxReported,
    feeReported: one.feeReported + other.feeReported,
  };
}

function presentFigures(figures: Figures, exponent: number) {
  const money = (amount: bigint) => toJsonNumber(amount, exponent);
  const { gross, refunds, disputes, tax, fees, sales, taxReported, feeReported } = figures;
  const revenue = gross + refunds + disputes;
  return {
    gross: money(gross),
    refunds: money(refunds),
    disputes: money(disputes),
    revenue: money(revenue),
    tax: money(tax),
    fees: sales > 0 && feeReported === 0 && fees === 0n ? null : money(fees),
    net: money(revenue - tax - fees),
    sales,
    sales_without_tax: sales - taxReported,
    sales_without_fee: sales - feeReported,
  };
}

function daysOf(part: Pick<SeriesPart, "from" | "to">) {
  return { from: utcDay(part.from), to: utcDay(part.to) };
}
