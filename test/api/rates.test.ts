/** Rates of a month, however long the time they are asked for: small tables to check by hand. */
import { expect } from "chai";
import { type RatesAnswer, ratesAnswer } from "../../api/rates/schema.js";
import { itRefuses, jsonLines, openEndpoints, suiteEndpoints } from "../harness/endpoints.js";
import { movementsIn } from "../harness/movement-table.js";
import { insertMovements } from "../harness/query-rows.js";

const path = "/v1/metrics/rates";
/** In May one account churns twice. */
const story = `
  at         | account | kind         | mrr      | accounts | provider | currency
  2026-03-10 | a       | new          |  100.000 |        1 | stripe   | EUR
  2026-03-11 | b       | new          |   50.000 |        1 | stripe   | USD
  2026-03-12 | c       | new          |   50.000 |        1 | apple    | USD
  2026-04-05 | b       | contraction  |  -20.000 |        0 | stripe   | USD
  2026-04-20 | c       | churn        |  -50.000 |       -1 | apple    | USD
  2026-05-02 | c       | reactivation |   50.000 |        1 | apple    | USD
  2026-05-10 | c       | churn        |  -50.000 |       -1 | apple    | USD
  2026-05-15 | c       | reactivation |   50.000 |        1 | apple    | USD
  2026-05-20 | c       | churn        |  -50.000 |       -1 | apple    | USD
  2026-05-25 | a       | expansion    |   13.000 |        0 | stripe   | EUR
  2026-06-09 | b       | churn        |  -30.000 |       -1 | stripe   | USD
  2026-06-09 | b       | churn        |   30.000 |        1 | stripe   | USD
  2026-07-05 | d       | new          |   20.000 |        1 | stripe   | EUR
  2026-07-08 | a       | churn        | -113.000 |       -1 | stripe   | EUR
`;
const july10 = "2026-07-10T00:00:00Z";

describe("GET /v1/metrics/rates", () => {
  const endpoints = suiteEndpoints();
  before(async () => {
    const { service, tenant } = endpoints;
    await insertMovements(service.clickhouse, tenant, movementsIn(story));
  });

  const get = (query: Readonly<Record<string, string>>) =>
    endpoints.get(`${path}?${new URLSearchParams(query).toString()}`);
  async function ask(query: Readonly<Record<string, string>>): Promise<RatesAnswer["data"]> {
    const answer = await get({ at: july10, ...query });
    expect(answer.status, answer.text).to.equal(200);
    return ratesAnswer.parse(answer.json).data;
  }
  const months = ({ series }: Pick<RatesAnswer["data"], "series">) =>
    series.map((row) => [
      row.month,
      row.is_whole,
      row.churned_subscribers,
      row.customer_churn_rate_pct,
      row.mrr_churn_rate_pct,
      row.net_mrr_churn_rate_pct,
      row.quick_ratio,
    ]);

  it("should be those of each month, and the mean of the whole ones", async () => {
    const data = await ask({ from: "2026-04-01", to: "2026-08-01" });
    expect(months(data)).to.deep.equal([
      ["2026-04", true, 1, 33.33, 35, 35, 0],
      ["2026-05", true, 1, 50, 76.92, -10, 1.13],
      ["2026-06", true, 0, 0, 0, 0, null],
      ["2026-07", false, 1, 50, 79.02, 79.02, 0.18],
    ]);
    expect(data).to.include({
      currency: "EUR",
      since: "2026-04-01T00:00:00.000Z",
      until: "2026-07-10T00:00:00.000Z",
      whole_months: 3,
      customer_churn_rate_pct: 27.78,
      mrr_churn_rate_pct: 37.31,
      net_mrr_churn_rate_pct: 8.33,
      quick_ratio: 0.47,
      arpa: 25,
      ltv: 90,
    });
    expect(data.series[1]).to.include({
      start_mrr: 130,
      mrr: 143,
      start_subscribers: 2,
      active_subscribers: 2,
      arpa: 71.5,
      ltv: 143,
    });
  });

  it("should not grow with the time asked for", async () => {
    const longer = await ask({ from: "2025-01-01", to: "2026-08-01" });
    // Before April there was nothing that could churn.
    expect(longer).to.include({ customer_churn_rate_pct: 27.78, whole_months: 18 });
    for (const row of longer.series.slice(0, 15)) {
      expect([row.customer_churn_rate_pct, row.mrr_churn_rate_pct, row.ltv]).to.deep.equal([
        null,
        null,
        null,
      ]);
    }
    const rates = longer.series.map((row) => row.mrr_churn_rate_pct ?? 0);
    expect(longer.mrr_churn_rate_pct).to.be.at.most(Math.max(...rates));
  });

  const running: readonly (readonly [from: string, to: string, month: string, churn: number])[] = [
    ["2026-07-01", "2026-08-01", "2026-07", 50],
    ["2026-06-15", "2026-07-10", "2026-07", 50],
    ["2026-07-09", "2026-07-10", "2026-07", 50],
    ["2026-05-05", "2026-05-10", "2026-05", 0],
    ["2026-05-05", "2026-05-11", "2026-05", 50],
  ];
  for (const [from, to, month, churn] of running) {
    it(`should be of ${month} so far, from ${from} to ${to}`, async () => {
      const data = await ask({ from, to });
      expect(data).to.include({ whole_months: 0, customer_churn_rate_pct: churn });
      expect(data.series.map((row) => [row.month, row.is_whole])).to.deep.equal([[month, false]]);
    });
  }

  it("should be of a part, and count accounts only where they are whole", async () => {
    const ofStripe = await ask({ from: "2026-04-01", to: "2026-06-01", provider: "stripe" });
    expect(months(ofStripe)).to.deep.equal([
      ["2026-04", true, 0, 0, 13.33, 13.33, 0],
      ["2026-05", true, 0, 0, 0, -10, null],
    ]);
    expect(ofStripe).to.include({ arpa: 71.5, ltv: null });
    const inDollars = await ask({ from: "2026-04-01", to: "2026-05-01", currency: "USD" });
    expect(months(inDollars)).to.deep.equal([["2026-04", true, null, null, 70, 70, 0]]);
    expect(inDollars).to.include({ arpa: null, ltv: null, customer_churn_rate_pct: null });
  });

  it("should be compared with as many months before, a running one up to its day", async () => {
    const asked = { from: "2026-06-01", to: "2026-07-10", compare: "previous_period" };
    const { compare } = await ask(asked);
    expect(compare && months(compare)).to.deep.equal([
      ["2026-04", true, 1, 33.33, 35, 35, 0],
      ["2026-05", false, 0, 0, 0, -38.46, null],
    ]);
    expect(compare).to.include({ whole_months: 1, until: "2026-05-09T23:59:59.999Z" });
    const ofMay = await ask({ from: "2026-05-01", to: "2026-06-01", compare: "previous_period" });
    expect(ofMay.compare).to.include({ customer_churn_rate_pct: 33.33, whole_months: 1 });
  });

  it("should be compared with a year before, and with what was known then", async () => {
    const may = { from: "2026-05-01", to: "2026-06-01" };
    const { compare: year } = await ask({ ...may, compare: "previous_year" });
    expect(year?.series.map((row) => row.month)).to.deep.equal(["2025-05"]);
    expect(year).to.include({ customer_churn_rate_pct: null, arpa: null, quick_ratio: null });
    const known = { compare: "known_then", compare_known_at: "2026-05-12T00:00:00Z" };
    const then = await ask({ ...may, ...known });
    expect(then.compare).to.include({ net_mrr_churn_rate_pct: 0, mrr_churn_rate_pct: 38.46 });
    expect(then.net_mrr_churn_rate_pct).to.equal(-10);
    const first = { from: "1970-01-01", to: "1970-02-01", compare: "previous_year" };
    expect((await ask(first)).compare).to.equal(null);
  });

  it("should be a row for each month in every format, then for those compared with", async () => {
    const asked = { at: july10, from: "2026-05-01", compare: "previous_period" };
    const { series, compare } = await ask(asked);
    const { text } = await get({ ...asked, format: "ndjson" });
    const rows = jsonLines(text);
    const row = (reading: string) => (one: object) => ({ reading, currency: "EUR", ...one });
    expect(rows).to.deep.equal([
      ...series.map(row("asked")),
      ...(compare?.series ?? []).map(row("compared")),
    ]);
    const csv = await get({ ...asked, format: "csv" });
    expect(csv.text.split("\r\n")[0]).to.include("customer_churn_rate_pct");
  });

  it("should be of the last twelve months where none are asked for, or nothing", async () => {
    expect((await ask({})).series.map((row) => row.month)[0]).to.equal("2026-03");
    const fresh = await openEndpoints();
    const { json } = await fresh.get(path);
    const { data } = ratesAnswer.parse(json);
    expect(data).to.include({ customer_churn_rate_pct: null, quick_ratio: null, arpa: null });
    expect(data.series).to.have.length(12);
  });

  describe("refusing", () => {
    itRefuses(
      (asked) => endpoints.get(asked),
      [
        [`${path}?interval=week`, 400, "parameter_unknown", "interval"],
        [`${path}?from=2026-10-02&to=2026-10-01`, 422, "series_empty", "from"],
        [`${path}?compare=known_then`, 400, "parameter_missing", "compare_known_at"],
        [`${path}?product=prod_unf_none`, 422, "product_unknown", "product"],
      ],
    );
  });
});
