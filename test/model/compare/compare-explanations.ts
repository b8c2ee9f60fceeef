/** Holds what explains figures against the figures: filtered lists, and what changed a reading. */
import { AssertionError } from "chai";
import type { Figures } from "../figures.js";
import { at as field, must, number, text } from "../readers/json.js";
import { comparable, expectLines } from "./lines.js";
import { type Merchant, read, readPages } from "../merchant.js";

type Query = Readonly<Record<string, string>>;

/**
 * Some filters, drawn by what there is; each must give just the rows that have it.
 * @param transactions every row of the list, which is the model's
 */
export async function expectFilters(
  merchant: Merchant,
  transactions: readonly unknown[],
  clocks: Query,
): Promise<void> {
  const one = transactions[Math.floor(transactions.length / 2)];
  if (one === undefined) return;
  const value = (name: string) => must(text(one, name), name);
  const timestamp = value("timestamp");
  const filters: Query[] = [
    { provider: value("provider") },
    { status: value("status") },
    { type: value("type") },
    { product: value("product_id") },
    { currency: value("original_currency") },
    { country: value("customer_country") },
    { from: timestamp },
    { to: timestamp },
  ];
  const whole: Query = Object.assign({}, ...filters.slice(0, 7));
  const drawn = filters[transactions.length % filters.length] ?? {};
  for (const query of [drawn, whole]) {
    const reported = await readPages(merchant, "/v1/transactions", { ...clocks, ...query });
    const expected = transactions.filter((row) => passes(row, query));
    expectLines(`transactions ${JSON.stringify({ ...clocks, ...query })}`, reported, expected);
  }
}

const columns: Query = {
  provider: "provider",
  status: "status",
  type: "type",
  product: "product_id",
  currency: "original_currency",
  country: "customer_country",
};

function passes(row: unknown, query: Query): boolean {
  const { from = "0000", to = "9999", ...values } = query;
  const timestamp = must(text(row, "timestamp"), "a timestamp");
  const isInTime = from <= timestamp && timestamp < to;
  return (
    isInTime &&
    Object.entries(values).every(([name, value]) => text(row, columns[name] ?? "") === value)
  );
}

/**
 * Both readings are the model's, and what lies between adds up to their difference.
 * @param then the model of what was known at `knownAt`
 */
export async function expectChanges(
  merchant: Merchant,
  then: Figures,
  now: Figures,
  at: number,
  knownAt: string,
): Promise<void> {
  const path = "/v1/metrics/mrr/changes";
  const query = { from_known_at: knownAt, at: new Date(at).toISOString() };
  const readings = field(await read(merchant, path, query), "readings");
  for (const [name, figures] of [
    ["from", then],
    ["to", now],
  ] as const) {
    const { current_mrr: mrr, active_subscribers: subscribers } = figures.mrr(at);
    const reported = [number(readings, name, "mrr"), number(readings, name, "active_subscribers")];
    expectLines(`${name} ${query.at}`, reported, [mrr, subscribers]);
  }
  const rows = await readPages(merchant, path, query);
  const sum = rows.reduce<bigint>((total, row) => total + micros(text(row, "mrr_exact")), 0n);
  const subscribers = rows.reduce<number>(
    (total, row) => total + (number(row, "active_subscribers") ?? NaN),
    0,
  );
  const isWhole =
    sum === micros(text(readings, "difference", "mrr_exact")) &&
    sum === micros(text(readings, "to", "mrr_exact")) - micros(text(readings, "from", "mrr_exact"));
  if (!isWhole || subscribers !== number(readings, "difference", "active_subscribers")) {
    throw new AssertionError(`${path} ${comparable(query)} does not add up: ${comparable(rows)}`);
  }
  const events = new Set(rows.map((row) => text(row, "event_id")));
  if (rows.length > 0 && events.has(null)) throw new AssertionError("a change without an event");
}

/** `-3.330000` → -3330000n */
function micros(decimal: string | null): bigint {
  return BigInt(must(decimal, "an exact decimal").replace(".", ""));
}
