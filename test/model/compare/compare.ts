/** Holds every figure of the real interface against the reference model, to the cent. */
import { AssertionError } from "chai";
import { type Period, periods } from "../calendar.js";
import { expectFilters } from "./compare-explanations.js";
import { expectSeries } from "./compare-series.js";
import type { Figures } from "../figures.js";
import { at as field, list, number, text } from "../readers/json.js";
import { comparable, expectLines } from "./lines.js";
import { type Merchant, read, readPages } from "../merchant.js";
import type { ProductFigures } from "../products.js";

/**
 * @param at ms since 1970: what happened up to then
 * @param knownAt what was recorded up to then; null: everything
 */
export async function expectFigures(
  merchant: Merchant,
  figures: Figures,
  at: number,
  knownAt: string | null = null,
  asked: readonly Period[] = periods,
): Promise<void> {
  const clocks = {
    at: new Date(at).toISOString(),
    ...(knownAt === null ? {} : { known_at: knownAt }),
  };
  const [mrr, cohorts, transactions, ...products] = await Promise.all([
    read(merchant, "/v1/metrics/mrr", clocks),
    read(merchant, "/v1/metrics/cohorts", clocks),
    readPages(merchant, "/v1/transactions", clocks),
    ...asked.map((period) => readPages(merchant, "/v1/products", { ...clocks, period })),
  ]);
  const expectedMrr = { ...figures.mrr(at), currency: merchant.baseCurrency };
  const moment = JSON.stringify(clocks);
  expectLines(`MRR ${moment}`, [field(mrr, "data")], [expectedMrr]);
  expectLines(
    `cohorts ${moment}`,
    [...list(cohorts, "data", "cohorts").entries()],
    [...figures.cohorts(at).entries()],
  );
  for (const [index, period] of asked.entries()) {
    const shown = (products[index] ?? []).map(shownProduct);
    expectFalling(shown.map(({ total_revenue }) => total_revenue));
    expectLines(
      `products ${period} ${moment}`,
      shown.flatMap((product) => relevant(product, figures)),
      figures.products(period, at).flatMap((product) => relevant(product, figures)),
    );
  }
  expectFalling(transactions.map((row) => Date.parse(text(row, "timestamp") ?? "")));
  expectLines(
    `transactions ${moment}`,
    transactions.map((row) => shownTransaction(row, figures)),
    figures.transactions(at).map(({ external_id, ...rest }) => {
      const name = nameOf(figures, { provider: rest.provider, external_id });
      return { ...rest, name };
    }),
  );
  await expectFilters(merchant, transactions, clocks);
  await expectSeries(merchant, figures, at, clocks);
}

function expectFalling(numbers: readonly number[]): void {
  const isFalling = numbers.every((value, index) => value <= (numbers[index - 1] ?? Infinity));
  if (!isFalling) throw new AssertionError(`not highest or newest first: ${numbers.join(", ")}`);
}

/** A product by the name the test gave it; none where nothing was ever sold or subscribed. */
function relevant(product: ProductFigures, figures: Figures): object[] {
  const name = product.providers.flatMap((sku) => nameOf(figures, sku) ?? [])[0] ?? null;
  const providers = product.providers.filter(
    ({ revenue, sales_count }) => revenue !== 0 || sales_count !== 0,
  );
  const { total_revenue, total_sales, active_subscriptions, mrr } = product;
  const isIdle =
    providers.length === 0 && total_revenue === 0 && active_subscriptions === 0 && mrr === 0;
  if (isIdle) return [];
  const totals = { total_revenue, total_sales, active_subscriptions, mrr };
  return [{ name, ...totals, providers: providers.map(comparable).sort() }];
}

function shownProduct(row: unknown): ProductFigures {
  return {
    name: text(row, "name"),
    total_revenue: number(row, "total_revenue") ?? NaN,
    total_sales: number(row, "total_sales") ?? NaN,
    active_subscriptions: number(row, "active_subscriptions") ?? NaN,
    mrr: number(row, "mrr") ?? NaN,
    providers: list(row, "providers").map((entry) => ({
      provider: text(entry, "provider") ?? "",
      external_id: text(entry, "external_id") ?? "",
      revenue: number(entry, "revenue") ?? NaN,
      sales_count: number(entry, "sales_count") ?? NaN,
    })),
  };
}

/** The product's name says which line is the largest; only names given by the test count. */
function shownTransaction(row: unknown, figures: Figures) {
  const name = text(row, "product_name")?.toLowerCase() ?? null;
  const isGiven = [...figures.names.values()].some((given) => given.toLowerCase() === name);
  return {
    provider: text(row, "provider") ?? "",
    gross_amount: number(row, "gross_amount") ?? NaN,
    original_currency: text(row, "original_currency") ?? "",
    normalized_amount: number(row, "normalized_amount") ?? NaN,
    fx_rate: number(row, "fx_rate") ?? NaN,
    customer_country: text(row, "customer_country") ?? "",
    type: text(row, "type") ?? "",
    status: text(row, "status") ?? "",
    refunded_amount: number(row, "refunded_amount") ?? NaN,
    timestamp: text(row, "timestamp") ?? "",
    name: isGiven || name === "unattributed" ? name : null,
  };
}

type Sku = Pick<ProductFigures["providers"][number], "provider" | "external_id">;

function nameOf({ names }: Figures, { provider, external_id: sku }: Sku): string | null {
  return sku === "" ? "unattributed" : (names.get(`${provider}/${sku}`)?.toLowerCase() ?? null);
}
