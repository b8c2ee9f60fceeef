/**
 * Prints sales and refunds by currency, and MRR, by the HTTP interface. Paths, parameters and
 * answers have the types of the service that is asked: `revenue.d.ts` is made from its OpenAPI
 * document.
 *
 *     npm ci
 *     REVENUE_URL=http://localhost:3000 REVENUE_KEY=svc_live_… npm start
 */
import createClient from "openapi-fetch";
import type { components, paths } from "./revenue.js";

type Transaction = components["schemas"]["Transaction"];

const { REVENUE_URL: baseUrl = "http://localhost:3000", REVENUE_KEY: key } = process.env;
if (key === undefined) throw new Error("REVENUE_KEY must be an API key of the workspace.");

const client = createClient<paths, "application/json">({
  baseUrl,
  headers: { authorization: `Bearer ${key}` },
});

const sums = new Map<string, { sold: number; refunded: number }>();
for await (const transaction of transactions()) {
  const { original_currency: currency, type, gross_amount, refunded_amount } = transaction;
  const sum = sums.get(currency) ?? { sold: 0, refunded: 0 };
  sums.set(currency, sum);
  // A refund that names no sale is a transaction of its own: nothing was sold by it.
  if (type !== "refund") sum.sold += minor(gross_amount, currency);
  sum.refunded += minor(refunded_amount, currency);
}
for (const [currency, { sold, refunded }] of [...sums].sort(([a], [b]) => (a < b ? -1 : 1))) {
  console.log(`${currency} sold ${major(sold, currency)} refunded ${major(refunded, currency)}`);
}
const { data: mrr } = answered(await client.GET("/v1/metrics/mrr"));
console.log(`MRR ${mrr.currency} ${major(minor(mrr.current_mrr, mrr.currency), mrr.currency)}`);

/** Page by page; all of them as they were known when the first was read. */
async function* transactions(): AsyncGenerator<Transaction> {
  let cursor: string | undefined;
  do {
    const query = { limit: 200, ...(cursor === undefined ? {} : { cursor }) };
    const page = answered(await client.GET("/v1/transactions", { params: { query } }));
    yield* page.data;
    cursor = page.pagination.next_cursor ?? undefined;
  } while (cursor !== undefined);
}

/** @throws with what the service says is wrong */
function answered<T>({ data, error }: { data?: T; error?: components["schemas"]["Error"] }): T {
  if (data === undefined) throw new Error(error?.error.message ?? "no answer");
  return data;
}

/** Amounts come in major units; whole minor units add up without an error. */
function minor(amount: number, currency: string): number {
  return Math.round(amount * 10 ** placesOf(currency));
}

function major(amount: number, currency: string): string {
  const places = placesOf(currency);
  return (amount / 10 ** places).toFixed(places);
}

function placesOf(currency: string): number {
  const format = new Intl.NumberFormat("en", { style: "currency", currency });
  return format.resolvedOptions().maximumFractionDigits ?? 2;
}
