/**
 * Fills the tables of an installation that is not running with rows in the shapes the processors
 * write, and measures full scans for the sums the API answers with.
 */
import { z } from "zod";
import { openClickHouse } from "../../backends/clickhouse-open.js";
import { readConfig } from "../../config.js";
import { median } from "./figures.js";
import { tell, withChild } from "./processes.js";
import { productId } from "./stripe-sales.js";

const scanNames = ["mrr", "cohorts", "products", "transactions"] as const;
/** ms, medians */
export type Scans = Readonly<Record<(typeof scanNames)[number], number>>;

export function fillTables(path: string, workspace: string, rows: number): Promise<Scans> {
  return withChild("fill", [path, workspace, String(rows)], (message) => scans.parse(message));
}

const scans = z.record(z.enum(scanNames), z.number());

const scanRounds = 5;
/** As long as the longest cohorts people ask about. */
export const years = 10;

/** Runs as a child. */
export async function run([
  path = "",
  workspace = "",
  rows = "",
]: readonly string[]): Promise<void> {
  const { CLICKHOUSE_MEMORY_BYTES: memoryBytes, CLICKHOUSE_THREADS: threads } = readConfig({});
  const clickhouse = await openClickHouse({ path, memoryBytes, threads });
  const params = { workspace, rows: Number(rows) };
  for (const insert of inserts) await clickhouse.write(insert, params);
  const measured: Record<string, number> = {};
  for (const name of scanNames) {
    const values: number[] = [];
    for (let round = 0; round < scanRounds; round += 1) {
      const startedAt = performance.now();
      await clickhouse.rows(`${scanSql[name]} SETTINGS optimize_use_projections = 0`, params);
      values.push(performance.now() - startedAt);
    }
    measured[name] = median(values);
  }
  await clickhouse.close();
  tell(scans.parse(measured));
  process.disconnect();
}

const secondsBack = years * 365 * 24 * 60 * 60;
const source = "FROM numbers({rows:UInt64})";
const tenantColumns = "workspace, environment";
const tenant = "{workspace:String}, 'live'";
/** Oldest first, evenly over the years. */
const at =
  "toDateTime64(now() - toIntervalSecond(" +
  `intDiv(({rows:UInt64} - number) * ${secondsBack}, {rows:UInt64}) + 60), 3, 'UTC')`;
const sku = `concat('${productId(0).replace(/\d+$/, "")}', toString(number % 20))`;
const currency = "['EUR', 'USD', 'GBP'][number % 3 + 1]";
/** Of one payment in 40,000: a filter few rows pass, far apart. */
export const rareCountry = "IS";
const common = "['US', 'DE', 'GB', 'FR', 'IN'][number % 5 + 1]";
const country = `if(number % 40000 = 7, '${rareCountry}', ${common})`;
const eventId = "concat('evt_norm_', hex(sipHash128(number)))";
const payment = "concat('pi_fill_', toString(number))";
const minor = "900 + 100 * (number % 90)";

const inserts = [
  `INSERT INTO transactions (${tenantColumns}, timestamp, id, recorded_at, fact_id, version,
     event_id, provider, payment, account, external_id, gross_amount, original_currency,
     normalized_amount, base_currency, fx_rate, fx_date, fx_source, refunded_amount,
     customer_country, type, status, backfill)
   SELECT ${tenant}, ${at} AS t, concat('tx_norm_', hex(sipHash128(number))), t, ${eventId}, 1,
     ${eventId}, 'stripe', ${payment}, toString(number % 50000), ${sku}, ${minor}, 'EUR',
     ${minor}, 'EUR', '1', '', '', 0, ${country}, 'subscription', 'succeeded', 0 ${source}`,
  `INSERT INTO ledger (${tenantColumns}, payment, entry, kind, provider, external_id, currency,
     country, happened_at, recorded_at, event_id, fact_id, amount, tax, fee, sales)
   SELECT ${tenant}, concat('stripe:', ${payment}), 'sale', 'sale', 'stripe', ${sku}, ${currency},
     ${country}, ${at} AS t, t, ${eventId}, ${eventId}, ${minor}, 0, 0, 1 ${source}`,
  // Of each account two movements: it begins, and a month later it grows, shrinks or ends.
  `INSERT INTO mrr_movements (${tenantColumns}, account, provider, subscription, external_id,
     currency, country, at, kind, vintage, mrr, accounts, subscriptions, recorded_at, event_id)
   SELECT ${tenant}, hex(sipHash128(account)), 'stripe', concat('sub_', toString(account)), sku,
     currency, country, t, kind, toStartOfMonth(began),
     toDecimal128(multiIf(kind = 'expansion', 5, kind = 'contraction', -4, kind = 'churn', -9,
       9), 6),
     multiIf(kind = 'new', 1, kind = 'churn', -1, 0),
     multiIf(kind = 'new', 1, kind = 'churn', -1, 0), t, event
   FROM (
     SELECT intDiv(number, 2) AS account, ${at} AS began, ${eventId} AS event,
       if(number % 2 = 0, began, least(began + toIntervalDay(30), now64(3, 'UTC'))) AS t,
       if(number % 2 = 0, 'new', ['expansion', 'contraction', 'churn'][account % 3 + 1]) AS kind,
       concat('${productId(0).replace(/\d+$/, "")}', toString(account % 20)) AS sku,
       ['EUR', 'USD', 'GBP'][account % 3 + 1] AS currency,
       ['US', 'DE', 'GB', 'FR', 'IN'][account % 5 + 1] AS country
     ${source}
   )`,
];

const where = "WHERE workspace = {workspace:String} AND environment = 'live'";
const scanSql: Readonly<Record<keyof Scans, string>> = {
  mrr: `SELECT provider, sum(mrr), sum(accounts) FROM mrr_movements ${where} GROUP BY provider`,
  cohorts: `SELECT vintage, toStartOfMonth(at), sumIf(mrr, kind = 'new'), sum(mrr)
      FROM mrr_movements ${where} GROUP BY 1, 2`,
  products: `SELECT provider, external_id, sum(amount), sum(sales), sum(mrr), sum(active) FROM (
        SELECT provider, external_id, amount, sales, toDecimal128(0, 6) AS mrr, 0 AS active
        FROM ledger ${where}
        UNION ALL
        SELECT provider, external_id, 0, 0, mrr, subscriptions FROM mrr_movements ${where}
      ) GROUP BY 1, 2`,
  transactions: `SELECT timestamp, id, max(version), max(normalized_amount) FROM transactions
      ${where} GROUP BY 1, 2 ORDER BY 1 DESC, 2 DESC LIMIT 50`,
};
