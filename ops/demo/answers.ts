/** The four answers of the interface, asked of it and laid out for a person. */
import { cohortsAnswer } from "../../api/cohorts/schema.js";
import { mrrAnswer } from "../../api/mrr/schema.js";
import { productsAnswer } from "../../api/products/schema.js";
import { transactionsAnswer } from "../../schemas/http/transactions.js";
import { aligned } from "../aligned.js";
import { ask, type Merchant } from "./merchant.js";

const paths = {
  mrr: "/v1/metrics/mrr",
  cohorts: "/v1/metrics/cohorts",
  products: "/v1/products?period=12m",
  transactions: "/v1/transactions?limit=8",
} as const;

export async function fourAnswers(merchant: Merchant): Promise<string> {
  const parts = [
    await mrr(merchant),
    await cohorts(merchant),
    await products(merchant),
    await transactions(merchant),
  ];
  return parts.map((part) => `\n${part}\n`).join("");
}

/** `$41,203.77`: JSON's number, in major units. */
export function money(amount: number, currency: string): string {
  return new Intl.NumberFormat("en-US", { style: "currency", currency }).format(amount);
}

async function mrr(merchant: Merchant): Promise<string> {
  const { data } = await ask(merchant, paths.mrr, mrrAnswer);
  const { currency } = data;
  return section("MRR", paths.mrr, [
    ["current_mrr", money(data.current_mrr, currency)],
    ["a month ago", `${money(data.previous_mrr, currency)}  (${signed(data.growth_mom_pct)} %)`],
    ["active_subscribers", count(data.active_subscribers)],
    ...Object.entries(data.breakdown_by_provider).map(([provider, part]) => [
      `of which ${provider}`,
      money(part, currency),
    ]),
  ]);
}

/** Months after the vintage that are shown; the answer has all of them. */
const monthsShown = [0, 1, 2, 3, 6, 9, 12, 18, 23];

async function cohorts(merchant: Merchant): Promise<string> {
  const { data } = await ask(merchant, paths.cohorts, cohortsAnswer);
  const head = ["vintage", "starting", "NRR %", ...monthsShown.map((month) => `+${month}`)];
  const rows = data.cohorts.map((cohort) => [
    cohort.vintage,
    count(Math.round(cohort.starting_mrr)),
    String(cohort.nrr_percentage),
    ...monthsShown.map((month) => String(cohort.retention_curve[month] ?? "")),
  ]);
  return section("Cohorts", paths.cohorts, [head, ...rows]);
}

async function products(merchant: Merchant): Promise<string> {
  const { data } = await ask(merchant, paths.products, productsAnswer);
  const head = ["name", "revenue", "sales", "subscriptions", "MRR"];
  const rows = data.map((product) => [
    product.name,
    money(product.total_revenue, product.currency),
    count(product.total_sales),
    count(product.active_subscriptions),
    money(product.mrr, product.currency),
  ]);
  return section("Products, last 12 months", paths.products, [head, ...rows]);
}

async function transactions(merchant: Merchant): Promise<string> {
  const { data } = await ask(merchant, paths.transactions, transactionsAnswer);
  const head = ["time", "product", "gross", "normalized", "rate", "country", "type", "status"];
  const rows = data.map((row) => [
    row.timestamp.slice(0, 16).replace("T", " "),
    row.product_name,
    money(row.gross_amount, row.original_currency),
    money(row.normalized_amount, row.base_currency),
    String(row.fx_rate),
    row.customer_country,
    row.type,
    row.status,
  ]);
  return section("Newest transactions", paths.transactions, [head, ...rows]);
}

function section(title: string, path: string, rows: readonly (readonly string[])[]): string {
  return `${title}   GET ${path}\n${aligned(rows).replaceAll(/^/gm, "  ")}`;
}

function count(value: number): string {
  return value.toLocaleString("en-US");
}

function signed(value: number): string {
  return value > 0 ? `+${value}` : String(value);
}
