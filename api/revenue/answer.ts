/** Turns rows into the answer, in any thread (`answers/answers.ts`). */
import { parsedRows } from "../../stores/clickhouse/rows.js";
import { limits } from "../../config.js";
import type { CellGroup, GroupFields } from "../../schemas/http/series.js";
import type { Presented } from "../exports/send.js";
import { groupedTable, revenueRows, withCompared } from "../exports/tables.js";
import { type Groups, placeOfOthers } from "../reading/groups.js";
import { type Series, type SeriesPart, tooLong } from "../reading/series.js";
import type { ReportedRow, RevenueCell, RevenueSumsRow } from "./query.js";
import { knownExponentOf, toJsonNumber } from "../../schemas/money/money.js";
import { utcDay } from "../../schemas/money/rates.js";
import type { RevenueAnswer, RevenueRow } from "./schema.js";

export interface RevenueTexts {
  readonly series: Series;
  readonly groups: Groups | undefined;
  readonly sums: string;
  readonly reported: string;
}

export function revenueAnswer(given: {
  readonly asked: RevenueTexts;
  /** Null: it would be before 1970. Undefined: not asked for. */
  readonly compared: RevenueTexts | null | undefined;
  readonly group: CellGroup | undefined;
  readonly currency: string;
}): Presented {
  const { asked, compared, group, currency } = given;
  const present = ({ series, groups, ...texts }: RevenueTexts) => {
    const sums = parsedRows<RevenueSumsRow>(texts.sums);
    if (sums.length > limits.seriesRowsMax) throw tooLong(series.interval, "rows");
    const reported = parsedRows<ReportedRow>(texts.reported);
    return presentRevenue(sums, reported, series, groups, currency);
  };
  const data = present(asked);
  const then = compared && present(compared);
  return {
    data: { ...data, ...(then === undefined ? {} : { compare: then && then.totals }) },
    table: () => [
      groupedTable("revenue", group, then !== undefined),
      withCompared(revenueRows(data), then && revenueRows(then)),
    ],
  };
}

function presentRevenue(
  sums: readonly RevenueSumsRow[],
  reported: readonly ReportedRow[],
  series: Series,
  groups: Groups | undefined,
  currency: string,
): RevenueAnswer["data"] {
  const cells = cellsOf(sums, reported);
  const exponent = knownExponentOf(currency);
  const present = (days: Pick<SeriesPart, "from" | "to">, figures: Figures) => ({
    from: utcDay(days.from),
    to: utcDay(days.to),
    ...presentFigures(figures, exponent),
  });
  const cellsIn = (part: SeriesPart) => cells.get(utcDay(part.start)) ?? nowhere;
  const whole = series.parts.map((part) => sumOf(cellsIn(part).values()));
  const shown: RevenueRow[] = series.parts.map((part, index) =>
    present(part, whole[index] ?? nothing),
  );
  const rowsOf = (place: string, fields: GroupFields = {}) =>
    series.parts.map((part) => {
      const figures = cellsIn(part).get(place);
      return figures === undefined ? [] : [{ ...present(part, figures), ...fields }];
    });
  const wholeOf = (place: string) =>
    sumOf(series.parts.map((part) => cellsIn(part).get(place) ?? nothing));
  const ofGroups = ({ shown: places, others: count }: Groups) => {
    const rows = Array.from(places, ([place, fields]) => rowsOf(place, fields));
    return {
      group_totals: Array.from(places, ([place, fields]) => ({
        ...present(series, wholeOf(place)),
        ...fields,
      })),
      // Oldest first, then in the order of the groups.
      revenue: series.parts.flatMap((_part, index) => rows.flatMap((of) => of[index] ?? [])),
      others: { count, rows: rowsOf(placeOfOthers).flat() },
    };
  };
  return {
    currency,
    interval: series.interval,
    ...(groups === undefined ? { revenue: shown } : { ...ofGroups(groups), ungrouped: shown }),
    totals: present(series, sumOf(whole)),
  };
}

type Cells = ReadonlyMap<string, ReadonlyMap<string, Figures>>;

const nowhere: ReadonlyMap<string, Figures> = new Map();

/** By the start of their interval, then by the place of their group. */
function cellsOf(sums: readonly RevenueSumsRow[], reported: readonly ReportedRow[]): Cells {
  const cells = new Map<string, Map<string, Figures>>();
  for (const { start, place = placeOfOthers, ...row } of sums) {
    const cellsOfStart = cells.get(start) ?? new Map<string, Figures>();
    cells.set(start, cellsOfStart);
    const all = { ...row, with_tax: 0, with_fee: 0 };
    cellsOfStart.set(
      place,
      figuresBy((name) => BigInt(all[name])),
    );
  }
  for (const { start, place = placeOfOthers, tax, fee } of reported) {
    const figures = cells.get(start)?.get(place);
    if (figures === undefined) continue;
    const with_tax = amongSales(figures, BigInt(tax));
    const with_fee = amongSales(figures, BigInt(fee));
    cells.get(start)?.set(place, { ...figures, with_tax, with_fee });
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

function sumOf(all: Iterable<Figures>): Figures {
  let sum = nothing;
  for (const one of all) {
    const before = sum;
    sum = figuresBy((name) => before[name] + one[name]);
  }
  return sum;
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
