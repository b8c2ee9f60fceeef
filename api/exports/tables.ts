/** Answers as flat rows: the columns of each, and how what is nested in JSON becomes rows. */
import { z } from "zod";
import { account, timelineItem } from "../accounts/schema.js";
import { type AccountCohort, type Cohort, accountCohort, cohort } from "../cohorts/schema.js";
import { countryRow } from "../countries/schema.js";
import {
  type MovementGroup,
  type MovementsAnswer,
  movementsRow,
} from "../movement-series/schema.js";
import { mrrChange } from "../mrr-changes/schema.js";
import type { MrrAnswer } from "../mrr/schema.js";
import { recordedMovement } from "../recorded-movements/schema.js";
import { product } from "../products/schema.js";
import { type MonthRates, type RatesAnswer, monthRates } from "../rates/schema.js";
import { type RevenueAnswer, revenueRow } from "../revenue/schema.js";
import type { CellGroup } from "../../schemas/http/series.js";
import { type SummaryAnswer, summaryFigures } from "../summary/schema.js";
import { type TransactionAnswer, transactionVersion } from "../transaction/schema.js";
import { whatChangedRow } from "../what-changed/schema.js";
import { providerToken, transaction } from "../../schemas/http/transactions.js";
import { isOfGroup } from "../reading/groups.js";
import { mrrPlaces } from "../../schemas/money/monthly.js";
import { type Column, type ExportRow, columnsOf } from "./columns.js";
import type { Table } from "./send.js";

/** Rates have ten significant digits; 11 zeros stand before those of the smallest, of VEB. */
const ratePlaces = 30;

const special: Readonly<Record<string, Partial<Column>>> = {
  fx_rate: { kind: "decimal", scale: ratePlaces },
  // Empty where both currencies are one.
  fx_date: { kind: "date", isNullable: true },
  mrr_exact: { kind: "decimal", scale: mrrPlaces },
};

/** Of the workspace. */
const currency = z.string();

const accountCohortRow = z.object({
  vintage: accountCohort.shape.vintage,
  /** Intervals since the vintage. */
  period: z.int(),
  retention_percentage: z.number(),
  starting_accounts: accountCohort.shape.starting_accounts,
});

export const tables = {
  mrr: {
    name: "mrr",
    columns: columnsOf(z.object({ provider: providerToken, mrr: z.number(), currency })),
  },
  whatChanged: {
    name: "mrr-what-changed",
    columns: columnsOf(
      whatChangedRow.omit({ kinds: true }).extend(whatChangedRow.shape.kinds.shape),
    ),
  },
  changes: { name: "mrr-changes", columns: columnsOf(mrrChange, special) },
  recordedMovements: {
    name: "mrr-movements-recorded",
    columns: columnsOf(recordedMovement, special),
  },
  products: { name: "products", columns: columnsOf(product) },
  transactions: { name: "transactions", columns: columnsOf(transaction, special) },
  versions: {
    name: "transaction-versions",
    columns: columnsOf(transactionVersion.omit({ events: true }), special),
  },
  accounts: { name: "accounts", columns: columnsOf(account, special) },
  countries: { name: "countries", columns: columnsOf(countryRow) },
  timeline: { name: "account", columns: columnsOf(timelineItem) },
  accountCohorts: { name: "cohorts", columns: columnsOf(accountCohortRow) },
} as const satisfies Readonly<Record<string, Table>>;

/** Of each provider that has MRR. */
export function mrrRows(data: MrrAnswer["data"]): ExportRow[] {
  const { breakdown_by_provider: parts, currency: of } = data;
  return Object.entries(parts).map(([provider, mrr]) => ({ provider, mrr, currency: of }));
}

/** Without the totals: they would be counted twice. Last the rows of the other groups. */
export function movementsRows({ currency: of, movements, others }: MovementsAnswer["data"]) {
  return [...movements, ...(others?.rows ?? [])].map((row) => ({ ...row, currency: of }));
}

export function revenueRows({ currency: of, revenue, others }: RevenueAnswer["data"]) {
  return [...revenue, ...(others?.rows ?? [])].map((row) => ({ ...row, currency: of }));
}

/** With the columns of the group that was asked for. */
export function revenueTable(group: CellGroup | undefined): Table {
  return groupTable("revenue", columnsOf(revenueRow.extend({ currency })), group);
}

export function movementsTable(group: MovementGroup | undefined): Table {
  return groupTable("mrr-movements", columnsOf(movementsRow.extend({ currency })), group);
}

/** @param isCompared whether another time was asked for, too */
export function summaryTable(isCompared: boolean): Table {
  const reading = isCompared ? { reading: z.enum(["asked", "compared"]) } : {};
  return {
    name: "summary",
    columns: columnsOf(z.object({ ...reading, ...summaryFigures.shape, currency })),
  };
}

/** One row, or one for each interval where they were asked for; then those compared with. */
export function summaryRows(data: SummaryAnswer["data"]): ExportRow[] {
  const { compare, currency: of, ...asked } = data;
  const rowsOf = ({ series, ...whole }: Omit<typeof asked, "currency">, more: ExportRow = {}) =>
    (series ?? [whole]).map((row) => ({ ...more, currency: of, ...row }));
  if (compare === undefined) return rowsOf(asked);
  const compared = compare === null ? [] : rowsOf(compare, { reading: "compared" });
  return [...rowsOf(asked, { reading: "asked" }), ...compared];
}

/** @param isCompared whether other months were asked for, too */
export function ratesTable(isCompared: boolean): Table {
  const reading = isCompared ? { reading: z.enum(["asked", "compared"]) } : {};
  return {
    name: "rates",
    columns: columnsOf(z.object({ ...reading, ...monthRates.shape, currency })),
  };
}

/** One for each month; then those of the months compared with. */
export function ratesRows({ series, compare, currency: of }: RatesAnswer["data"]): ExportRow[] {
  const rowsOf = (rows: readonly MonthRates[], more: ExportRow = {}) =>
    rows.map((row) => ({ ...more, currency: of, ...row }));
  if (compare === undefined) return rowsOf(series);
  return [
    ...rowsOf(series, { reading: "asked" }),
    ...rowsOf(compare?.series ?? [], { reading: "compared" }),
  ];
}

function groupTable(name: string, columns: readonly Column[], group: string | undefined): Table {
  return { name, columns: columns.filter((column) => isOfGroup(column.name, group)) };
}

/** One row for each vintage and interval since. @param isGross whether that was asked for */
export function cohortsTable(isGross: boolean): Table {
  const row = z.object({
    vintage: cohort.shape.vintage,
    period: z.int(),
    retention_percentage: z.number(),
    ...(isGross ? { gross_retention_percentage: z.number().optional() } : {}),
    starting_mrr: cohort.shape.starting_mrr,
    currency,
  });
  return { name: "cohorts", columns: columnsOf(row) };
}

export function cohortsRows(cohorts: readonly Cohort[], of: string): ExportRow[] {
  return cohorts.flatMap(({ vintage, starting_mrr, retention_curve, gross_retention_curve }) =>
    retention_curve.map((retention_percentage, period) => ({
      vintage,
      period,
      retention_percentage,
      gross_retention_percentage: gross_retention_curve?.[period],
      starting_mrr,
      currency: of,
    })),
  );
}

export function accountCohortsRows(cohorts: readonly AccountCohort[]): ExportRow[] {
  return cohorts.flatMap(({ vintage, starting_accounts, retention_curve }) =>
    retention_curve.map((retention_percentage, period) => ({
      vintage,
      period,
      retention_percentage,
      starting_accounts,
    })),
  );
}

export function versionsRows(data: TransactionAnswer["data"]): ExportRow[] {
  return data.versions.map(({ events: _events, ...version }) => version);
}
