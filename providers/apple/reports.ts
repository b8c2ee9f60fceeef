/**
 * The App Store's reports of a month: Sales and Trends (summary), and the financial report of all
 * countries in one file. Sources: docs/providers/apple.md.
 */
import { monthNumber, monthText, startOfMonth } from "../../schemas/months.js";
import {
  type Cells,
  cellsBy,
  currencyIn,
  numberIn,
  pacificMidnight,
  ReportSums,
  size,
  type StoreReport,
  type StoreReports,
  times,
  tooMany,
} from "../reports/report.js";
import { readTsv, type TsvTable } from "../reports/tsv.js";
import type { AppleCredentials } from "./credentials.js";

const salesColumns = [
  "SKU",
  "Product Type Identifier",
  "Units",
  "Developer Proceeds",
  "Begin Date",
  "End Date",
  "Customer Currency",
  "Currency of Proceeds",
  "Apple Identifier",
  "Customer Price",
  "Parent Identifier",
];
const financeColumns = [
  "Start Date",
  "End Date",
  "Vendor Identifier",
  "Quantity",
  "Extended Partner Share",
  "Partner Share Currency",
  "Customer Price",
  "Customer Currency",
];
const dayMs = 24 * 60 * 60 * 1000;
/** Of Apple's fiscal calendar: four or five weeks. */
const fiscalMonthDays = [28, 35];

export const appStoreReports: StoreReports<AppleCredentials> = {
  files:
    "a monthly Sales and Trends report (summary), or the financial report of all countries in " +
    "one file; as downloaded",
  read(text, credentials) {
    const sales = readTsv(text, salesColumns);
    if (typeof sales !== "string") return readSales(sales, credentials);
    const finance = readTsv(text, financeColumns);
    if (typeof finance !== "string") return readFinance(finance);
    // A report that is one and damaged says so itself.
    return sales.startsWith("line ")
      ? sales
      : `as a sales report: ${sales}; as a financial report: ${finance}`;
  },
};

function readSales(
  table: TsvTable,
  { app_apple_id: app }: AppleCredentials,
): ReturnType<typeof appStoreReports.read> {
  const rows = table.rows.map((row) => cellsBy(table.header, row));
  const span = spanOf(rows, "Begin Date");
  if (typeof span === "string") return span;
  const { from, to } = span;
  if (from !== startOfMonth(from) || to !== startOfMonth(from, 1)) {
    return "it is not of one calendar month: download the monthly report";
  }
  if (app === undefined) return "the integration needs its app_apple_id: a report is of all apps";
  const sku = rows.find((cells) => cells.get("Apple Identifier") === String(app))?.get("SKU");
  if (sku === undefined) {
    return { nothing: `it has no line of the app ${app} itself, which says its SKU` };
  }
  const sums = new ReportSums();
  for (const cells of rows) {
    const isOwn = (cells.get("Parent Identifier") ?? cells.get("SKU")) === sku;
    const [units, price] = [numberIn(cells.get("Units")), numberIn(cells.get("Customer Price"))];
    const proceeds = numberIn(cells.get("Developer Proceeds"));
    const currency = currencyIn(cells.get("Customer Currency"));
    const paidIn = currencyIn(cells.get("Currency of Proceeds"));
    const isRead = units !== null && price !== null && proceeds !== null;
    if (!isOwn) sums.leaveOut("of another app");
    else if (!isRead || currency === null || paidIn === null)
      sums.leaveOut("no number or currency");
    else if (price === 0n) sums.leaveOut("free");
    else {
      // Of a refund the units are negative, and the price may be, too.
      const amount = times(size(units), size(price));
      if (!sums.add(cells.get("SKU") ?? "", currency, amount, units < 0n)) return tooMany;
      sums.addProceeds(paidIn, times(units, size(proceeds)));
    }
  }
  return { kind: "sales", ...covered(span), lines: rows.length, ...sums.all };
}

function readFinance(table: TsvTable): StoreReport | string {
  const rows = table.rows.map((row) => cellsBy(table.header, row));
  const span = spanOf(rows, "Start Date");
  if (typeof span === "string") return span;
  if (!fiscalMonthDays.includes((span.to - span.from) / dayMs)) {
    return "it is not of one fiscal month, of four or five weeks";
  }
  const contradiction = contradictionIn(table.totals, rows);
  if (contradiction !== null) return contradiction;
  const sums = new ReportSums();
  for (const cells of rows) {
    const units = numberIn(cells.get("Quantity"));
    const [price, share] = [numberIn(cells.get("Customer Price")), shareIn(cells)];
    const currency = currencyIn(cells.get("Customer Currency"));
    const paidIn = currencyIn(cells.get("Partner Share Currency"));
    const isRead = units !== null && price !== null && share !== null;
    if (!isRead || currency === null || paidIn === null) {
      sums.leaveOut("no number or currency");
      continue;
    }
    const product = cells.get("Vendor Identifier") ?? "";
    const sign = cells.get("Sale or Return") ?? cells.get("Sales or Return");
    const isReturn = sign === "R" || units < 0n;
    const amount = times(size(units), size(price));
    if (!sums.add(product, currency, amount, isReturn)) return tooMany;
    sums.addProceeds(paidIn, share);
  }
  return { kind: "finance", ...covered(span), lines: rows.length, ...sums.all };
}

/** What the last lines say of those above. */
function contradictionIn(totals: TsvTable["totals"], rows: readonly Cells[]): string | null {
  const sums = {
    total_rows: numberIn(String(rows.length)),
    total_amount: sumOf(rows.map(shareIn)),
    total_units: sumOf(rows.map((cells) => numberIn(cells.get("Quantity")))),
  };
  for (const [name, sum] of Object.entries(sums)) {
    const said = totals.get(name);
    if (said !== undefined && numberIn(said) !== sum) {
      return `its ${name} is not what its lines come to: it is cut off, or was changed`;
    }
  }
  return null;
}

function shareIn(cells: Cells): bigint | null {
  return numberIn(cells.get("Extended Partner Share"));
}

function sumOf(all: readonly (bigint | null)[]): bigint {
  return all.reduce<bigint>((sum, one) => sum + (one ?? 0n), 0n);
}

/** In days of UTC, the end exclusive. @returns a text where it cannot be told: why */
function spanOf(
  rows: readonly Cells[],
  begin: string,
): { readonly from: number; readonly to: number } | string {
  if (rows.length === 0) return "it has no lines";
  const spans = new Set(rows.map((cells) => `${cells.get(begin)} ${cells.get("End Date")}`));
  const [span = "", ...others] = spans;
  if (others.length > 0) return "its lines are of several periods";
  const [from = Number.NaN, last = Number.NaN] = span.split(" ").map(dayIn);
  if (Number.isNaN(from) || Number.isNaN(last)) return `${begin} and End Date are no MM/DD/YYYY`;
  return { from, to: last + dayMs };
}

function dayIn(text: string): number {
  const [, month, day, year] = /^(\d\d)\/(\d\d)\/(\d{4})$/.exec(text) ?? [];
  return Date.parse(`${year}-${month}-${day}T00:00:00Z`);
}

function covered({ from, to }: { readonly from: number; readonly to: number }) {
  const month = monthText(monthNumber((from + to) / 2));
  return { month, from: pacificMidnight(from), to: pacificMidnight(to) };
}
