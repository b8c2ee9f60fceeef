/**
 * Fills the tables of an installation that is not running with rows in the shapes the processors
 * write.
 */
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { z } from "zod";
import { type ClickHouse, writeLanes } from "../../stores/clickhouse/clickhouse.js";
import { openClickHouse } from "../../stores/clickhouse/open.js";
import { readConfig } from "../../config.js";
import { grouped } from "../../runtime/lists.js";
import { report, withChild, withFolder } from "./processes.js";
import { nodeCommand, type RunningService, withService } from "./service.js";
import { productId } from "./stripe-sales.js";
import type { Tenant } from "./tenant.js";
import { tenantWithSales } from "./traffic.js";

/** A service on tables of so many rows of one tenant. */
export function withFilled<T>(
  rows: number,
  profileFolder: string | null,
  use: (service: RunningService, tenant: Tenant) => Promise<T>,
): Promise<T> {
  return withFolder(async (folder) => {
    const tenant = await withService(folder, nodeCommand(), tenantWithSales);
    await fillTables(join(folder, "clickhouse"), tenant.workspace, rows);
    return withService(folder, nodeCommand(profileFolder), (service) => use(service, tenant));
  });
}

export function fillTables(path: string, workspace: string, rows: number): Promise<void> {
  const params = { workspace, rows, now: Math.floor(Date.now() / 1000) };
  const statements = inserts.map(({ lane, sql }) => ({
    lane,
    sql: `${sql} ${blockSettings}`,
    params,
  }));
  return writeTables(path, statements);
}

const statement = z.object({
  sql: z.string(),
  params: z.record(z.string(), z.union([z.string(), z.number()])),
  lane: z.enum(writeLanes),
});
export type Statement = z.output<typeof statement>;

/**
 * Those of a lane one after the other, the lanes side by side. In a process of its own: the engine
 * opens a path once per process.
 */
export function writeTables(path: string, statements: readonly Statement[]): Promise<void> {
  return withChild("fill", [path, JSON.stringify(statements)], () => undefined);
}

/** As long as the longest cohorts people ask about. */
export const years = 10;
export const yearMs = 365 * 24 * 60 * 60 * 1000;
/** Nothing else runs meanwhile: large blocks make few parts, so that little is left to merge. */
const memoryBytes = 5 * 1024 ** 3;
const blockRows = 1_000_000;
const mergingMsMax = 300_000;
const mergingPollMs = 1_000;
/** The engine rests between two merges; it is done when so many looks in a row find none. */
const idleLooks = 5;

/** Runs as a child. */
export async function run([path = "", statements = ""]: readonly string[]): Promise<void> {
  const { CLICKHOUSE_THREADS: threads } = readConfig({});
  const clickhouse = await openClickHouse({ path, memoryBytes, threads });
  const lanes = grouped(z.array(statement).parse(JSON.parse(statements)), ({ lane }) => lane);
  await Promise.all(
    Array.from(lanes.values(), async (all) => {
      for (const { sql, params, lane } of all) await clickhouse.write(sql, params, lane);
    }),
  );
  await merged(clickhouse);
  await clickhouse.close();
  report({});
  process.disconnect();
}

/** As it is long after so many rows came: otherwise merging them takes part in the measurement. */
async function merged(clickhouse: ClickHouse): Promise<void> {
  const until = Date.now() + mergingMsMax;
  for (let idle = 0; idle < idleLooks && Date.now() < until;) {
    await pause(mergingPollMs);
    const running = await clickhouse.rows("SELECT 1 FROM system.merges LIMIT 1");
    idle = running.length === 0 ? idle + 1 : 0;
  }
}

const blockSettings =
  `SETTINGS min_insert_block_size_rows = ${blockRows}, min_insert_block_size_bytes = 0, ` +
  `max_block_size = ${blockRows / 10}`;

const secondsBack = (years * yearMs) / 1_000;
/** One row for each number, and `h`: what else differs is drawn from it. */
const source = "FROM (SELECT number, sipHash64(number) AS h FROM numbers({rows:UInt64}))";
const tenantColumns = "workspace, environment";
const tenant = "{workspace:String}, 'live'";
/** Oldest first, evenly over the years; the same in every statement: versions keep their time. */
const at =
  "toDateTime64({now:DateTime} - toIntervalSecond(" +
  `intDiv(({rows:UInt64} - number) * ${secondsBack}, {rows:UInt64}) + 60), 3, 'UTC')`;

/** Of one payment in 40,000: filters few rows pass, far apart. */
const rareEvery = 40_000;
export const rareCountry = "IS";
export const absentCountry = "MT";
/** `one_time` and this one pass many rows each, and none together. */
export const subscribersCurrency = "GBP";

const drawn = (values: readonly string[], shift: number): string =>
  `[${values.map((value) => `'${value}'`).join(", ")}]` +
  `[bitShiftRight(h, ${shift}) % ${values.length} + 1]`;
const provider = drawn(["stripe", "stripe", "stripe", "apple", "paddle"], 0);
const stripeProduct = productId(0).replace(/\d+$/, "");
/** The last of the 20 products is rarely sold. */
const productsUsual = 19;
export const usualSku = productId(1);
export const rareSku = productId(productsUsual);
const stripeSku =
  `concat('${stripeProduct}', toString(` +
  `if(h % ${rareEvery} = 5, ${productsUsual}, bitShiftRight(h, 8) % ${productsUsual})))`;
const sku = `if(${provider} = 'stripe', ${stripeSku}, ${drawn(["app.a", "app.b", "app.c"], 8)})`;
const type = "if(bitShiftRight(h, 16) % 5 = 0, 'one_time', 'subscription')";
const currency =
  `if(${type} = 'subscription', ${drawn(["EUR", "USD", subscribersCurrency], 24)}, ` +
  `${drawn(["EUR", "USD"], 24)})`;
const common = drawn(["US", "DE", "GB", "FR", "IN"], 32);
const country = `if(number % ${rareEvery} = 7, '${rareCountry}', ${common})`;
const eventId = "concat('evt_norm_', hex(sipHash128(number)))";
const payment = "concat('pi_fill_', toString(number))";
const minor = "900 + 100 * (number % 90)";

/** @param version its number, status, and how many days later it was recorded */
function versionsSql(version: 1 | 2, status: string, days: number, condition: string): string {
  const event = `concat('evt_norm_', hex(sipHash128(number, ${version})))`;
  return `INSERT INTO transactions (${tenantColumns}, timestamp, id, recorded_at, fact_id, version,
     event_id, provider, payment, account, external_id, gross_amount, original_currency,
     normalized_amount, base_currency, fx_rate, fx_date, fx_source, refunded_amount,
     customer_country, type, status, backfill)
   SELECT ${tenant}, ${at} AS t, concat('tx_norm_', hex(sipHash128(number))),
     least(t + toIntervalDay(${days}), now64(3, 'UTC')), ${event}, ${version}, ${event},
     ${provider}, ${payment}, toString(number % 50000), ${sku}, ${minor}, ${currency}, ${minor},
     'EUR', '1', '', '', 0, ${country}, ${type}, '${status}', 0 ${source} WHERE ${condition}`;
}

const inserts: readonly Pick<Statement, "lane" | "sql">[] = [
  { lane: "versions", sql: versionsSql(1, "succeeded", 0, "true") },
  { lane: "versions", sql: versionsSql(2, "refunded", 3, "h % 50 = 3") },
  { lane: "versions", sql: versionsSql(2, "disputed", 20, "h % 400 = 9") },
  {
    lane: "money",
    sql: `INSERT INTO ledger (${tenantColumns}, payment, entry, kind, provider, external_id,
     currency, country, happened_at, recorded_at, event_id, fact_id, amount, tax, fee, sales)
   SELECT ${tenant}, concat(${provider}, ':', ${payment}), 'sale', 'sale', ${provider}, ${sku},
     ${currency}, ${country}, ${at} AS t, t, ${eventId}, ${eventId}, ${minor}, 0, 0, 1 ${source}`,
  },
  // Of each account two movements: it begins, and a month later it grows, shrinks or ends.
  {
    lane: "subscriptions",
    sql: `INSERT INTO mrr_movements (${tenantColumns}, account, provider, subscription, external_id,
     currency, country, at, kind, vintage, mrr, accounts, subscriptions, recorded_at, event_id)
   SELECT ${tenant}, hex(sipHash128(account)), ${provider}, concat('sub_', toString(account)),
     ${sku}, ${drawn(["EUR", "USD", "GBP"], 24)}, ${common}, t, kind, toStartOfMonth(began),
     toDecimal128(multiIf(kind = 'expansion', 5, kind = 'contraction', -4, kind = 'churn', -9,
       9), 6),
     multiIf(kind = 'new', 1, kind = 'churn', -1, 0),
     multiIf(kind = 'new', 1, kind = 'churn', -1, 0), t, event
   FROM (
     SELECT number, intDiv(number, 2) AS account, sipHash64(account) AS h, ${at} AS began,
       ${eventId} AS event,
       if(number % 2 = 0, began, least(began + toIntervalDay(30), now64(3, 'UTC'))) AS t,
       if(number % 2 = 0, 'new', ['expansion', 'contraction', 'churn'][account % 3 + 1]) AS kind
     FROM numbers({rows:UInt64})
   )`,
  },
];
