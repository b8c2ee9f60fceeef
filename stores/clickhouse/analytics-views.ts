/**
 * The views for people's own SQL (docs/sql.md): amounts in major units, today's version of each
 * transaction, columns named as in the API. They read as the user who asks (`SQL SECURITY
 * INVOKER`), whose row policies lie on the tables below. If the views read as their maker instead,
 * with policies on the views, the engine (26.7) would apply a condition of the query first, and
 * `throwIf(…)` would show other workspaces' rows in its error.
 */
import { unusualExponents } from "../../schemas/money/money.js";
import { textArray } from "./rows.js";

/** By name, in the order they are made: the last one reads the others. */
export function analyticsViews(): Readonly<Record<string, string>> {
  return {
    analytics_transactions: transactionsSql(),
    analytics_ledger: ledgerSql(),
    analytics_mrr_movements: movementsSql(),
    analytics_products: productsSql(),
  };
}

/** The columns that the views read, to which a user of the views needs access. */
export const analyticsSources: Readonly<Record<string, readonly string[]>> = {
  transactions: words(`workspace environment timestamp id recorded_at fact_id version event_id
    provider payment account external_id gross_amount original_currency normalized_amount
    base_currency fx_rate fx_date refunded_amount tax_amount fee_amount customer_country type
    status`),
  ledger: words(`workspace environment payment entry kind provider external_id currency country
    happened_at recorded_at event_id original_amount amount tax fee sales`),
  mrr_movements: words(`workspace environment account provider subscription external_id currency
    country at kind vintage mrr accounts subscriptions recorded_at event_id plan_interval`),
  catalogue_skus: words(`workspace environment provider external_id product_id product_name slug
    category base_currency revision`),
};

function transactionsSql(): string {
  const original = (column: string) => majorSql(`t.${column}`, "t.original_currency");
  return `SELECT t.workspace AS workspace, t.environment AS environment, t.id AS id,
  t.version AS version, t.provider AS provider, ${productSql("t")}, t.external_id AS external_id,
  ${original("gross_amount")} AS gross_amount, t.original_currency AS original_currency,
  ${majorSql("t.normalized_amount", "t.base_currency")} AS normalized_amount,
  t.base_currency AS base_currency, toDecimal256(t.fx_rate, ${ratePlaces}) AS fx_rate,
  toDateOrNull(CAST(t.fx_date, 'String')) AS fx_date,
  ${original("refunded_amount")} AS refunded_amount,
  ${original("tax_amount")} AS tax_amount, ${original("fee_amount")} AS fee_amount,
  t.customer_country AS customer_country, t.type AS type, t.status AS status,
  t.timestamp AS timestamp, t.account AS account, t.payment AS payment,
  t.recorded_at AS recorded_at, t.event_id AS event_id
FROM (
  SELECT ${list("transactions")} FROM transactions
  ORDER BY workspace DESC, environment DESC, timestamp DESC, id DESC, recorded_at DESC,
    fact_id DESC, version DESC
  LIMIT 1 BY workspace, environment, timestamp, id
) AS t ${skuJoin("t")}`;
}

function ledgerSql(): string {
  const base = (column: string) => majorSql(`e.${column}`, "w.base_currency");
  return `SELECT e.workspace AS workspace, e.environment AS environment,
  substring(e.payment, position(e.payment, ':') + 1) AS payment, e.entry AS entry, e.kind AS kind,
  e.provider AS provider, ${productSql("e")}, e.external_id AS external_id,
  e.country AS customer_country, ${majorSql("e.original_amount", "e.currency")} AS original_amount,
  e.currency AS original_currency, ${base("amount")} AS amount, ${base("tax")} AS tax_amount,
  ${base("fee")} AS fee_amount, w.base_currency AS base_currency, e.sales AS sales,
  e.happened_at AS happened_at, e.recorded_at AS recorded_at, e.event_id AS event_id
FROM (SELECT ${list("ledger")} FROM ledger) AS e ${workspaceJoin("e")} ${skuJoin("e")}`;
}

function movementsSql(): string {
  return `SELECT m.workspace AS workspace, m.environment AS environment, m.event_id AS event_id,
  m.recorded_at AS recorded_at, m.account AS account, m.provider AS provider,
  m.subscription AS subscription, ${productSql("m")}, m.external_id AS external_id,
  m.currency AS currency, m.country AS country, m.kind AS kind,
  formatDateTime(m.vintage, '%Y-%m') AS vintage, m.at AS happened_at, m.mrr AS mrr_exact,
  m.accounts AS active_subscribers, m.subscriptions AS subscriptions,
  w.base_currency AS base_currency, m.plan_interval AS plan_interval
FROM (SELECT ${list("mrr_movements")} FROM mrr_movements) AS m
${workspaceJoin("m")} ${skuJoin("m")}`;
}

/** As of now. A subscription to several SKUs of a product counts once. */
function productsSql(): string {
  const keys = "workspace, environment, product_id, product_name, base_currency";
  const nothing = "toDecimal128(0, 4) AS revenue, toInt64(0) AS sales";
  const noMrr = "toDecimal128(0, 6) AS mrr, toInt64(0) AS active";
  return `SELECT workspace, environment, product_id AS id, product_name AS name, max(s) AS slug,
  max(c) AS category, sum(revenue) AS total_revenue, sum(sales) AS total_sales,
  sum(active) AS active_subscriptions, sum(mrr) AS mrr_exact, base_currency AS currency
FROM (
  SELECT ${keys}, slug AS s, toString(category) AS c, toUInt8(external_id != '') AS is_listed,
    ${nothing}, ${noMrr}
  FROM (${skusSql()})
  UNION ALL
  SELECT ${keys}, '' AS s, '' AS c, toUInt8(0) AS is_listed,
    amount AS revenue, toInt64(analytics_ledger.sales) AS sales, ${noMrr}
  FROM analytics_ledger WHERE happened_at <= now64(3)
  UNION ALL
  SELECT ${keys}, '' AS s, '' AS c, toUInt8(0) AS is_listed,
    ${nothing}, sum(mrr_exact) AS mrr, toInt64(sum(mrr_exact) > 0) AS active
  FROM analytics_mrr_movements WHERE happened_at <= now64(3)
  GROUP BY ${keys}, account, provider, subscription
)
GROUP BY ${keys}
HAVING max(is_listed) = 1 OR total_revenue != 0 OR total_sales != 0 OR active_subscriptions != 0
  OR mrr_exact != 0`;
}

/** No currency has more decimals (schemas/money/money.ts). */
const amountPlaces = 4;
/** As in exports: ten significant digits after up to 11 zeros. */
const ratePlaces = 30;

/** Exact: the divisor is a power of ten of no more places. */
function majorSql(minor: string, currency: string): string {
  const unusual = unusualExponents();
  const codes = textArray(unusual.map(([code]) => code));
  const divisors = unusual.map(([, exponent]) => 10 ** exponent).join(", ");
  return `toDecimal128(${minor}, ${amountPlaces}) /
    transform(CAST(${currency}, 'String'), ${codes}, [${divisors}], 100)`;
}

const skusSql = (): string => `SELECT ${list("catalogue_skus")} FROM catalogue_skus
  ORDER BY workspace, environment, provider, external_id, revision DESC
  LIMIT 1 BY workspace, environment, provider, external_id`;

/** A SKU too long for the catalogue has no product, and shows under its own id. */
function productSql(row: string): string {
  return `ifNull(s.product_id, '') AS product_id,
  if(ifNull(s.product_id, '') = '', ${row}.external_id, s.product_name) AS product_name`;
}

function skuJoin(row: string): string {
  return `LEFT JOIN (${skusSql()}) AS s
ON s.workspace = ${row}.workspace AND s.environment = ${row}.environment
  AND s.provider = if(${row}.external_id = '', '', ${row}.provider)
  AND s.external_id = ${row}.external_id`;
}

/** Without the base currency no amount can be shown, so rows wait for a copy of the catalogue. */
function workspaceJoin(row: string): string {
  return `INNER JOIN (
  SELECT workspace, environment, any(base_currency) AS base_currency FROM catalogue_skus
  WHERE external_id = '' GROUP BY workspace, environment
) AS w ON w.workspace = ${row}.workspace AND w.environment = ${row}.environment`;
}

function list(table: string): string {
  return analyticsSources[table]?.join(", ") ?? "";
}

function words(text: string): string[] {
  return text.trim().split(/\s+/);
}
