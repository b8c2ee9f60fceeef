/** Answers as flat rows: the columns of each, and how what is nested in JSON becomes rows. */
import { account, timelineItem } from "../accounts/schema.js";
import type { AccountCohort, Cohort } from "../cohorts/schema.js";
import {
  accountCohortExportRow,
  cohortExportRow,
  movementsExportRow,
  mrrExportRow,
  revenueExportRow,
  summaryExportRow,
  versionExportRow,
} from "./schema.js";
import type { MovementGroup, MovementsAnswer } from "../movement-series/schema.js";
import { mrrChange } from "../mrr-changes/schema.js";
import type { MrrAnswer } from "../mrr/schema.js";
import { recordedMovement } from "../recorded-movements/schema.js";
import { product } from "../products/schema.js";
import type { RevenueAnswer } from "../revenue/schema.js";
import type { CellGroup } from "../../schemas/http/series.js";
import type { SummaryAnswer } from "../summary/schema.js";
import type { TransactionAnswer } from "../transaction/schema.js";
import { transaction } from "../../schemas/http/transactions.js";
import { isOfGroup } from "../reading/groups.js";
import { mrrPlaces } from "../reading/amounts.js";
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

export const tables = {
  mrr: { name: "mrr", columns: columnsOf(mrrExportRow) },
  changes: { name: "mrr-changes", columns: columnsOf(mrrChange, special) },
  recordedMovements: {
    name: "mrr-movements-recorded",
    columns: columnsOf(recordedMovement, special),
  },
  products: { name: "products", columns: columnsOf(product) },
  transactions: { name: "transactions", columns: columnsOf(transaction, special) },
  versions: { name: "transaction-versions", columns: columnsOf(versionExportRow, special) },
  accounts: { name: "accounts", columns: columnsOf(account, special) },
  timeline: { name: "account", columns: columnsOf(timelineItem) },
  accountCohorts: { name: "cohorts", columns: columnsOf(accountCohortExportRow) },
} as const satisfies Readonly<Record<string, Table>>;

/** Of each provider that has MRR. */
export function mrrRows(data: MrrAnswer["data"]): ExportRow[] {
  return Object.entries(data.breakdown_by_provider).map(([provider, mrr]) => ({
    provider,
    mrr,
    currency: data.currency,
  }));
}

/** Without the totals: they would be counted twice. */
export function movementsRows(data: MovementsAnswer["data"]): ExportRow[] {
  return data.movements.map((row) => ({ ...row, currency: data.currency }));
}

export function revenueRows(data: RevenueAnswer["data"]): ExportRow[] {
  return data.revenue.map((row) => ({ ...row, currency: data.currency }));
}

/** With the columns of the group that was asked for. */
export function revenueTable(group: CellGroup | undefined): Table {
  return groupTable("revenue", columnsOf(revenueExportRow), group);
}

export function movementsTable(group: MovementGroup | undefined): Table {
  return groupTable("mrr-movements", columnsOf(movementsExportRow), group);
}

/** @param isCompared whether another time was asked for, too */
export function summaryTable(isCompared: boolean): Table {
  const columns = columnsOf(summaryExportRow);
  return {
    name: "summary",
    columns: columns.filter(({ name }) => isCompared || name !== "reading"),
  };
}

/** One row, or one for each interval where they were asked for; then those compared with. */
export function summaryRows({ compare, currency, ...asked }: SummaryAnswer["data"]): ExportRow[] {
  const rowsOf = (reading: string, { series, ...whole }: Omit<typeof asked, "currency">) =>
    (series ?? [whole]).map((row) => ({ reading, currency, ...row }));
  const isCompared = compare !== undefined;
  const rows = rowsOf("asked", asked).map(({ reading, ...row }) =>
    isCompared ? { reading, ...row } : row,
  );
  return compare ? [...rows, ...rowsOf("compared", compare)] : rows;
}

function groupTable(name: string, columns: readonly Column[], group: string | undefined): Table {
  return { name, columns: columns.filter((column) => isOfGroup(column.name, group)) };
}

/** One row for each vintage and interval since. @param isGross whether that was asked for */
export function cohortsTable(isGross: boolean): Table {
  return {
    name: "cohorts",
    columns: columnsOf(cohortExportRow).filter(
      ({ name }) => isGross || name !== "gross_retention_percentage",
    ),
  };
}

export function cohortsRows(cohorts: readonly Cohort[], currency: string): ExportRow[] {
  return cohorts.flatMap(({ vintage, starting_mrr, retention_curve, gross_retention_curve }) =>
    retention_curve.map((retention_percentage, period) => ({
      vintage,
      period,
      retention_percentage,
      gross_retention_percentage: gross_retention_curve?.[period],
      starting_mrr,
      currency,
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
