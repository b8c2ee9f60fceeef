/** Answers as flat rows: the columns of each, and how nested JSON becomes rows. */
import { z } from "zod";
import { account, timelineItem } from "../accounts/schema.js";
import { type AccountCohort, type Cohort, accountCohort, cohort } from "../cohorts/schema.js";
import { countryRow } from "../countries/schema.js";
import {
  type MovementGroup,
  type MovementsAnswer,
  movementsRow,
} from "../movement-series/schema.js";
import { monthFailedPayments } from "../failed-payments/schema.js";
import { mrrChange } from "../mrr-changes/schema.js";
import { comparedAccount } from "../mrr-compare/schema.js";
import type { MrrAnswer } from "../mrr/schema.js";
import { recordedMovement } from "../recorded-movements/schema.js";
import { product } from "../products/schema.js";
import { monthRates } from "../rates/schema.js";
import { type RevenueAnswer, revenueRow } from "../revenue/schema.js";
import { type SummaryAnswer, summaryFigures } from "../summary/schema.js";
import { type TransactionAnswer, transactionVersion } from "../transaction/schema.js";
import { monthTrials } from "../trials/schema.js";
import { whatChangedRow } from "../what-changed/schema.js";
import { segment } from "../../schemas/http/segments.js";
import { providerToken, transaction } from "../../schemas/http/transactions.js";
import { isOfGroup } from "../reading/groups.js";
import { mrrPlaces } from "../../schemas/money/monthly.js";
import { type Column, type ExportRow, columnsOf } from "./columns.js";
import type { Table } from "./send.js";

/** Rates have ten significant digits; the smallest, of VEB, begins with 11 zeros. */
const ratePlaces = 30;

const special: Readonly<Record<string, Partial<Column>>> = {
  fx_rate: { kind: "decimal", scale: ratePlaces },
  // Empty where both currencies are one.
  fx_date: { kind: "date", isNullable: true },
  mrr_exact: { kind: "decimal", scale: mrrPlaces },
  difference_exact: { kind: "decimal", scale: mrrPlaces },
};

const currency = z.string();

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
  compared: { name: "mrr-compared", columns: columnsOf(comparedAccount, special) },
  changes: { name: "mrr-changes", columns: columnsOf(mrrChange, special) },
  recordedMovements: {
    name: "mrr-movements-recorded",
    columns: columnsOf(recordedMovement, special),
  },
  transactions: { name: "transactions", columns: columnsOf(transaction, special) },
  versions: {
    name: "transaction-versions",
    columns: columnsOf(transactionVersion.omit({ events: true }), special),
  },
  accounts: { name: "accounts", columns: columnsOf(account, special) },
  countries: { name: "countries", columns: columnsOf(countryRow) },
  segments: { name: "segments", columns: columnsOf(segment) },
  timeline: { name: "account", columns: columnsOf(timelineItem) },
} as const satisfies Readonly<Record<string, Table>>;

export function mrrRows(data: MrrAnswer["data"]): ExportRow[] {
  const { breakdown_by_provider: parts, currency: of } = data;
  return Object.entries(parts).map(([provider, mrr]) => ({ provider, mrr, currency: of }));
}

/** Rows of the time compared with. Null: there is no such time. Undefined: not asked for. */
type Compared<Row> = readonly Row[] | null | undefined;

const reading = { reading: z.enum(["asked", "compared"]) };

/** With `compare` the first column says which time a row is of. */
function columnsWith(isCompared: boolean, shape: z.ZodRawShape): readonly Column[] {
  return columnsOf(z.object({ ...(isCompared ? reading : {}), ...shape }));
}

export function withCompared(asked: readonly ExportRow[], compared: Compared<ExportRow>) {
  if (compared === undefined) return [...asked];
  return [
    ...asked.map((row) => ({ reading: "asked", ...row })),
    ...(compared ?? []).map((row) => ({ reading: "compared", ...row })),
  ];
}

/** Without the totals, which would count twice. The rows of `others` come last. */
export function movementsRows({ currency: of, movements, others }: MovementsAnswer["data"]) {
  return [...movements, ...(others?.rows ?? [])].map((row) => ({ ...row, currency: of }));
}

export function revenueRows({ currency: of, revenue, others }: RevenueAnswer["data"]) {
  return [...revenue, ...(others?.rows ?? [])].map((row) => ({ ...row, currency: of }));
}

const comparable = {
  products: product.shape,
  summary: { ...summaryFigures.shape, currency },
  rates: { ...monthRates.shape, currency },
  trials: monthTrials.shape,
  "failed-payments": { ...monthFailedPayments.shape, currency },
};

export function comparedTable(name: keyof typeof comparable, isCompared: boolean): Table {
  return { name, columns: columnsWith(isCompared, comparable[name]) };
}

const groupable = {
  revenue: { ...revenueRow.shape, currency },
  "mrr-movements": { ...movementsRow.shape, currency },
};

/** The table, with the columns of the group that was asked for. */
export function groupedTable(
  name: keyof typeof groupable,
  group: MovementGroup | undefined,
  isCompared: boolean,
): Table {
  const columns = columnsWith(isCompared, groupable[name]);
  return { name, columns: columns.filter((column) => isOfGroup(column.name, group)) };
}

export function summaryRows({ compare, currency: of, ...asked }: SummaryAnswer["data"]) {
  const rowsOf = ({ series, ...whole }: Omit<typeof asked, "currency">) =>
    (series ?? [whole]).map((row) => ({ currency: of, ...row }));
  return withCompared(rowsOf(asked), compare && rowsOf(compare));
}

export interface Months {
  readonly series: readonly ExportRow[];
}

/** One for each month; of what is money, with its currency. */
export function monthRows({
  series,
  compare,
  currency: of,
}: Months & {
  readonly compare?: Months | null | undefined;
  readonly currency?: string;
}): ExportRow[] {
  const rowsOf = (rows: Months["series"]) =>
    of === undefined ? [...rows] : rows.map((row) => ({ currency: of, ...row }));
  return withCompared(rowsOf(series), compare && rowsOf(compare.series));
}

/**
 * One row for each vintage and interval since.
 * @param isGross whether that was asked for
 */
export function cohortsTable(isGross: boolean, isCompared: boolean): Table {
  const columns = columnsWith(isCompared, {
    vintage: cohort.shape.vintage,
    period: z.int(),
    retention_percentage: z.number(),
    ...(isGross ? { gross_retention_percentage: z.number().optional() } : {}),
    starting_mrr: cohort.shape.starting_mrr,
    currency,
  });
  return { name: "cohorts", columns };
}

export function accountCohortsTable(isCompared: boolean): Table {
  const columns = columnsWith(isCompared, {
    vintage: accountCohort.shape.vintage,
    period: z.int(),
    retention_percentage: z.number(),
    starting_accounts: accountCohort.shape.starting_accounts,
  });
  return { name: "cohorts", columns };
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
