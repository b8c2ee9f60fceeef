/** The views for people's own SQL say what the API says (docs/sql.md). */
import { expect } from "chai";
import { copyCatalogues } from "../../workspaces/catalogue/clickhouse-copy.js";
import { viewStatements } from "../../ops/sql-user.js";
import { dayMs } from "../harness/days.js";
import { suiteEndpoints } from "../harness/endpoints.js";

describe("The views for SQL", () => {
  const endpoints = suiteEndpoints();
  before(async function () {
    // A cluster has none.
    if (endpoints.service.clickhouse.cluster !== null) this.skip();
    for (const statement of viewStatements()) await endpoints.service.clickhouse.write(statement);
    const day = (days: number) => new Date(Date.now() - days * dayMs).toISOString();
    const events = [
      { event_type: "transaction.sale", amount: 100.5, currency: "USD", product_id: "book" },
      { event_type: "transaction.sale", amount: 1234, currency: "JPY", product_id: "book" },
      { event_type: "transaction.sale", amount: 7.125, currency: "KWD", product_id: "toy" },
      { event_type: "transaction.sale", amount: 20, currency: "EUR" },
      { event_type: "subscription.new", amount: 10, currency: "EUR", subscription_id: "a" },
      { event_type: "subscription.new", amount: 99.99, currency: "USD", subscription_id: "b" },
      { event_type: "subscription.churn", amount: 0, currency: "USD", subscription_id: "b" },
    ];
    for (const [index, event] of events.entries()) {
      const id = `${process.pid} ${index}`;
      await endpoints.record({
        event_id: `event ${id}`,
        customer_id: `customer of ${event.subscription_id ?? id}`,
        occurred_at: day(20 - index),
        ...("subscription_id" in event ? { product_id: "plan" } : { transaction_id: `pay ${id}` }),
        ...event,
      });
    }
    await endpoints.record({
      event_id: `refund ${process.pid}`,
      event_type: "transaction.refund",
      transaction_id: `pay ${process.pid} 0`,
      amount: 40.25,
      currency: "USD",
      occurred_at: day(3),
    });
    await endpoints.booked();
    await copyCatalogues(endpoints.service);
  });

  async function api(path: string) {
    const answer = await endpoints.get(path);
    expect(answer.status, answer.text).to.equal(200);
    return answer.json.data;
  }

  function sql<Row extends object>(columns: string, rest: string): Promise<Row[]> {
    return endpoints.service.clickhouse.rows<Row>(
      `SELECT ${columns} FROM ${rest.replace("WHERE", "WHERE workspace = {w:String} AND")}`,
      { w: endpoints.workspace },
    );
  }

  const time = (name: string) =>
    `concat(replaceOne(toString(v.${name}), ' ', 'T'), 'Z') AS ${name}`;

  it("should list the transactions of the API, digit for digit", async () => {
    const amounts = "gross_amount, normalized_amount, refunded_amount, tax_amount, fee_amount";
    const names = amounts.split(", ").map((name) => `toFloat64(v.${name}) AS ${name}`);
    const rows = await sql(
      `id, version, provider, product_id, product_name, ${names.join(", ")}, original_currency,
       base_currency, toFloat64(toString(v.fx_rate)) AS fx_rate,
       ifNull(toString(v.fx_date), '') AS fx_date,
       customer_country, type, status, ${time("timestamp")}, account`,
      "analytics_transactions AS v WHERE environment = 'live' ORDER BY v.timestamp DESC, id DESC",
    );
    const listed = await api("/v1/transactions?limit=100");
    expect(listed.length).to.be.greaterThan(4);
    expect(rows).to.deep.equal(listed);
  });

  it("should have the ledger entries behind each transaction", async () => {
    for (const { id, provider } of await api("/v1/transactions?limit=100")) {
      const { payment, ledger } = await api(`/v1/transactions/${id}`);
      const rows = await sql(
        `entry, kind, product_id, product_name, provider, external_id, customer_country,
         toFloat64(v.original_amount) AS original_amount, original_currency,
         toFloat64(v.amount) AS amount, toFloat64(v.tax_amount) AS tax_amount,
         toFloat64(v.fee_amount) AS fee_amount, base_currency, sales, ${time("happened_at")},
         ${time("recorded_at")}, event_id`,
        `analytics_ledger AS v WHERE payment = '${payment}' AND provider = '${provider}'
         ORDER BY v.happened_at, v.recorded_at`,
      );
      for (const entry of ledger) delete entry.booked_at;
      expect(rows).to.deep.equal(ledger);
    }
  });

  it("should add up to the revenue and the MRR of the API", async () => {
    const today = new Date().toISOString().slice(0, 10);
    const from = new Date(Date.now() - 40 * dayMs).toISOString().slice(0, 10);
    const revenue = await api(`/v1/metrics/revenue?from=${from}&to=${today}&interval=day`);
    const [sums] = await sql<{ net: number }>(
      "toFloat64(sum(amount)) AS net",
      `analytics_ledger WHERE happened_at >= '${from}' AND happened_at < '${today}'`,
    );
    expect(sums?.net).to.equal(revenue.totals.net);
    const { current_mrr: mrr, active_subscribers: subscribers } = await api("/v1/metrics/mrr");
    const [now] = await sql(
      "toFloat64(round(sum(mrr_exact), 2)) AS mrr, sum(active_subscribers) AS subscribers",
      "analytics_mrr_movements WHERE happened_at <= now()",
    );
    expect(now).to.deep.equal({ mrr, subscribers: String(subscribers) });
  });

  it("should have each movement of MRR the API lists", async () => {
    const rows = await sql(
      `event_id, ${time("recorded_at")}, account, provider, subscription, product_id,
       product_name, external_id, currency, country, kind, vintage,
       ${time("happened_at")}, toDecimalString(mrr_exact, 6) AS mrr_exact, base_currency,
       plan_interval`,
      "analytics_mrr_movements AS v WHERE v.mrr_exact != 0",
    );
    const listed = await api("/v1/mrr-movements?limit=100");
    const shown = listed.map(({ id: _id, mrr: _mrr, at, ...row }: Record<string, unknown>) => ({
      ...row,
      happened_at: at,
    }));
    expect(rows).to.have.deep.members(shown);
  });

  async function expectProducts(): Promise<void> {
    const rows = await sql(
      `id, name, slug, category, toFloat64(v.total_revenue) AS total_revenue,
       toInt32(v.total_sales) AS total_sales,
       toInt32(v.active_subscriptions) AS active_subscriptions,
       toFloat64(round(mrr_exact, 2)) AS mrr, currency`,
      "analytics_products AS v WHERE environment = 'live'",
    );
    const listed = await api("/v1/products?period=lifetime");
    for (const product of listed) delete product.providers;
    expect(rows).to.have.deep.members(listed);
  }

  it("should have the products of the API, what has no SKU among them", async () => {
    await expectProducts();
  });

  it("should follow when a person renames and merges products, in one pass", async () => {
    const products = await api("/v1/products?period=lifetime");
    const idOf = (name: string) => products.find((one: { name: string }) => one.name === name).id;
    const path = `/workspaces/${endpoints.workspace}/products/${idOf("book")}`;
    const renamed = await endpoints.manage("PATCH", path, { name: "Things", category: "SaaS" });
    expect(renamed.status, renamed.text).to.equal(200);
    const merged = await endpoints.manage("POST", `${path}/merge`, { from: [idOf("toy")] });
    expect(merged.status, merged.text).to.equal(200);
    await copyCatalogues(endpoints.service);
    await expectProducts();
    const copied = () =>
      sql("provider, external_id, revision", "catalogue_skus WHERE 1 ORDER BY ALL");
    const before = await copied();
    await copyCatalogues(endpoints.service);
    expect(await copied(), "nothing changed, nothing is written").to.deep.equal(before);
  });
});
