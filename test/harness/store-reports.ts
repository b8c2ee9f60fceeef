/** Stores' reports as they are downloaded, with the columns they have. */
import { monthNumber, monthText, startOfMonth } from "../../schemas/months.js";
import { dayMs } from "./days.js";

const salesColumns = [
  "Provider",
  "Provider Country",
  "SKU",
  "Developer",
  "Title",
  "Version",
  "Product Type Identifier",
  "Units",
  "Developer Proceeds",
  "Begin Date",
  "End Date",
  "Customer Currency",
  "Country Code",
  "Currency of Proceeds",
  "Apple Identifier",
  "Customer Price",
  "Promo Code",
  "Parent Identifier",
  "Subscription",
  "Period",
  "Category",
  "CMB",
  "Device",
  "Supported Platforms",
  "Proceeds Reason",
  "Preserved Pricing",
  "Client",
  "Order Type",
];
const financeColumns = [
  "Start Date",
  "End Date",
  "UPC",
  "ISRC/ISBN",
  "Vendor Identifier",
  "Quantity",
  "Partner Share",
  "Extended Partner Share",
  "Partner Share Currency",
  "Sale or Return",
  "Apple Identifier",
  "Artist/Show/Developer/Author",
  "Title",
  "Label/Studio/Network/Developer/Publisher",
  "Grid",
  "Product Type Identifier",
  "ISAN/Other Identifier",
  "Country Of Sale",
  "Pre-order Flag",
  "Promo Code",
  "Customer Price",
  "Customer Currency",
];
const playSalesColumns = [
  "Order Number",
  "Order Charged Date",
  "Order Charged Timestamp",
  "Financial Status",
  "Device Model",
  "Product Title",
  "Product ID",
  "Product Type",
  "SKU ID",
  "Currency of Sale",
  "Item Price",
  "Taxes Collected",
  "Charged Amount",
  "City of Buyer",
  "State of Buyer",
  "Postal Code of Buyer",
  "Country of Buyer",
];
const playEarningsColumns = [
  "Description",
  "Transaction Date",
  "Transaction Time",
  "Tax Type",
  "Transaction Type",
  "Refund Type",
  "Product Title",
  "Product id",
  "Product Type",
  "Sku Id",
  "Hardware",
  "Buyer Country",
  "Buyer State",
  "Buyer Postal Code",
  "Buyer Currency",
  "Amount (Buyer Currency)",
  "Currency Conversion Rate",
  "Merchant Currency",
  "Amount (Merchant Currency)",
];

type Row = Readonly<Record<string, string>>;

export function appStoreSales(rows: readonly Row[], span = ["03/01/2026", "03/31/2026"]): string {
  const [begin = "", end = ""] = span;
  const days = { Provider: "APPLE", "Begin Date": begin, "End Date": end };
  return tableOf(salesColumns, rows, "\t", days);
}

/** A line of a financial report: three sales of the product `gold`. */
export const soldGold = {
  "Vendor Identifier": "gold",
  "Partner Share Currency": "USD",
  "Customer Currency": "EUR",
  Quantity: "3",
  "Extended Partner Share": "21.39",
  "Customer Price": "9.99",
};

/** @param totals of its last lines */
export function appStoreFinance(
  rows: readonly Row[],
  totals: Row,
  span = ["03/01/2026", "03/28/2026"],
): string {
  const [start = "", end = ""] = span;
  const days = { "Start Date": start, "End Date": end };
  const last = Object.entries(totals).map((total) => `${total.join("\t")}\n`);
  return tableOf(financeColumns, rows, "\t", days) + last.join("");
}

export function playSales(rows: readonly Row[], day = "2026-03-10"): string {
  return tableOf(playSalesColumns, rows, ",", { "Order Charged Date": day });
}

export function playEarnings(rows: readonly Row[], day = "Mar 10, 2026"): string {
  const days = { "Transaction Date": day, "Transaction Time": "1:02:03 AM PDT" };
  return tableOf(playEarningsColumns, rows, ",", days);
}

function tableOf(columns: readonly string[], rows: readonly Row[], between: string, all: Row) {
  const cell = (text: string) => (text.includes(between) ? `"${text}"` : text);
  const lines = rows.map((row) => columns.map((name) => cell(row[name] ?? all[name] ?? "")));
  return [columns.map(cell), ...lines].map((cells) => `${cells.join(between)}\n`).join("");
}

const american = (at: number): string =>
  new Date(at).toLocaleDateString("en-US", {
    timeZone: "UTC",
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
  });

const settledAt = startOfMonth(Date.now(), -3);
/** So long ago that a store adds nothing to it any more, and its fetched report is not replaced. */
export const settledMonth = {
  at: settledAt,
  month: monthText(monthNumber(settledAt)),
  /** As Apple's fiscal year counts it. */
  fiscal: monthText(monthNumber(settledAt) + 3),
  days: [american(settledAt), american(startOfMonth(settledAt, 1) - dayMs)],
  fourWeeks: [american(settledAt), american(settledAt + 27 * dayMs)],
};
