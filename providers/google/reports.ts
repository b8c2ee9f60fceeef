/**
 * Google Play's reports of a month: estimated sales, in UTC, and earnings, in Pacific time. Both
 * list orders; only their sums are read. Sources: docs/providers/google.md.
 */
import { parse } from "csv-parse/sync";
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
  tooMany,
} from "../reports/report.js";

/** In lower case: Google has changed their capitals. */
const salesColumns = [
  "order charged date",
  "financial status",
  "sku id",
  "currency of sale",
  "charged amount",
];
const earningsColumns = [
  "transaction date",
  "transaction type",
  "sku id",
  "buyer currency",
  "amount (buyer currency)",
  "merchant currency",
  "amount (merchant currency)",
];
const months = "JanFebMarAprMayJunJulAugSepOctNovDec";

export const googlePlayReports: StoreReports<{ readonly package_name: string }> = {
  files: "estimated sales or earnings of a month (CSV or zip), as downloaded",
  read(text, { package_name: app }) {
    const rows = rowsIn(text);
    if (typeof rows === "string") return rows;
    const [header = []] = rows;
    const names = header.map((name) => name.toLowerCase());
    const cells = rows.slice(1).map((row) => cellsBy(names, row));
    if (cells.length === 0) return "it has no lines";
    const has = (columns: readonly string[]) => columns.every((name) => names.includes(name));
    if (has(salesColumns)) return readSales(cells, app);
    if (has(earningsColumns)) return readEarnings(cells, app);
    return (
      `it has neither the columns of estimated sales (${salesColumns.join(", ")}) nor of ` +
      `earnings (${earningsColumns.join(", ")})`
    );
  },
};

function rowsIn(text: string): string[][] | string {
  try {
    return parse(text, { trim: true, skip_empty_lines: true });
  } catch (error) {
    // Its words may quote the file; its codes do not.
    const code = error instanceof Error && "code" in error ? String(error.code) : "CSV_UNREADABLE";
    return `it is no whole CSV file (${code})`;
  }
}

function readSales(rows: readonly Cells[], app: string): StoreReport | string {
  const dayOf = (cells: Cells) => Date.parse(`${cells.get("order charged date")}T00:00:00Z`);
  const month = monthOf(rows.map(dayOf));
  if (month === null) return "Order Charged Date is no YYYY-MM-DD";
  const sums = new ReportSums();
  for (const cells of rows) {
    const [status = ""] = [cells.get("financial status")?.toLowerCase()];
    const amount = numberIn(cells.get("charged amount"));
    const currency = currencyIn(cells.get("currency of sale"));
    const isRefund = /refund/.test(status);
    if (appOf(cells) !== app) sums.leaveOut("of another app");
    else if (status !== "charged" && !isRefund) sums.leaveOut("neither charged nor refunded");
    else if (amount === null || currency === null) sums.leaveOut("no number or currency");
    else if (!sums.add(productOf(cells), currency, size(amount), isRefund)) return tooMany;
  }
  const span = { from: month, to: startOfMonth(month, 1) };
  return {
    kind: "estimated_sales",
    month: monthText(monthNumber(month)),
    ...span,
    lines: rows.length,
    ...sums.all,
  };
}

/** What a line does to what customers paid; the others are between Google and the merchant. */
const ofCustomers: ReadonlyMap<string, boolean> = new Map([
  ["charge", false],
  ["tax", false],
  ["charge refund", true],
  ["tax refund", true],
]);

function readEarnings(rows: readonly Cells[], app: string): StoreReport | string {
  const month = monthOf(rows.map((cells) => dayIn(cells.get("transaction date") ?? "")));
  if (month === null) return "Transaction Date is no day like Mar 1, 2026";
  const sums = new ReportSums();
  for (const cells of rows) {
    const isRefund = ofCustomers.get(cells.get("transaction type")?.toLowerCase() ?? "");
    const amount = numberIn(cells.get("amount (buyer currency)"));
    const earned = numberIn(cells.get("amount (merchant currency)"));
    const [currency, paidIn] = [
      currencyIn(cells.get("buyer currency")),
      currencyIn(cells.get("merchant currency")),
    ];
    if (appOf(cells) !== app) {
      sums.leaveOut("of another app, or of the whole account");
    } else if (earned === null || paidIn === null) sums.leaveOut("no number or currency");
    else {
      sums.addProceeds(paidIn, earned);
      if (isRefund === undefined) continue;
      if (amount === null || currency === null) return "a charge has no number or currency";
      if (!sums.add(productOf(cells), currency, size(amount), isRefund)) return tooMany;
    }
  }
  return {
    kind: "earnings",
    month: monthText(monthNumber(month)),
    from: pacificMidnight(month),
    to: pacificMidnight(startOfMonth(month, 1)),
    lines: rows.length,
    ...sums.all,
  };
}

/** Newer reports call it by what it is. */
function appOf(cells: Cells): string | undefined {
  return cells.get("package id") ?? cells.get("product id");
}

/** A paid app has no SKU. */
function productOf(cells: Cells): string {
  return cells.get("sku id") ?? appOf(cells) ?? "";
}

function dayIn(text: string): number {
  const [, name = "", day = "", year = ""] =
    /^([A-Z][a-z]{2}) (\d{1,2}), (\d{4})$/.exec(text) ?? [];
  const month = months.indexOf(name) / 3;
  return name === "" || !Number.isInteger(month)
    ? Number.NaN
    : Date.UTC(Number(year), month, Number(day));
}

/** The one that most lines are in: a refund may keep the day of its order. */
function monthOf(days: readonly number[]): number | null {
  const counts = new Map<number, number>();
  for (const day of days) {
    if (Number.isNaN(day)) return null;
    counts.set(startOfMonth(day), (counts.get(startOfMonth(day)) ?? 0) + 1);
  }
  const [most = null] = [...counts].sort(([, first], [, second]) => second - first);
  return most?.[0] ?? null;
}
