/** One-time sales, each of an amount of its own, so that a test sees which are lost or doubled. */
import { must, number } from "../model/readers/json.js";
import { type Merchant, readPages } from "../model/merchant.js";

/** @param amount whole units of the base currency, by which it is known again */
export function sell({ endpoint, key, baseCurrency }: Merchant, amount: number): Promise<Response> {
  return fetch(`${endpoint.base}/v1/events/ingest`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${key}` },
    body: JSON.stringify({
      event_id: `sale-${amount}`,
      provider: "custom",
      event_type: "transaction.sale",
      amount,
      currency: baseCurrency,
      product_id: "workshop",
    }),
  });
}

/** The amounts of the sales that the service lists, in order; of one counted twice, twice. */
export async function soldAmounts(merchant: Merchant): Promise<number[]> {
  const rows = await readPages(merchant, "/v1/transactions", {});
  return rows.map((row) => must(number(row, "gross_amount"), "amount")).sort((a, b) => a - b);
}
