/** MRR by how often plans are billed: events over HTTP, figures to check by hand. */
import { expect } from "chai";
import { accountsAnswer } from "../../api/accounts/schema.js";
import { cohortsAnswer } from "../../api/cohorts/schema.js";
import { type MovementsRow, movementsAnswer } from "../../api/movement-series/schema.js";
import { ratesAnswer } from "../../api/rates/schema.js";
import { recordedMovementsAnswer } from "../../api/recorded-movements/schema.js";
import { summaryAnswer } from "../../api/summary/schema.js";
import { whatChangedAnswer } from "../../api/what-changed/schema.js";
import { differenceOf } from "../../processors/book/account/recorded.js";
import { viewOf } from "../../processors/book/subscriptions/movements.js";
import { matching } from "../../stores/clickhouse/rows.js";
import { itRefuses, suiteEndpoints } from "../harness/endpoints.js";

type Query = Readonly<Record<string, string>>;

describe("MRR by plan interval", () => {
  const endpoints = suiteEndpoints();
  const range = { from: "2026-01-01", to: "2026-05-01" };

  before(async () => {
    const told: readonly [day: string, subscription: string, amount: number, more: object][] = [
      ["2026-01-10", "a", 40, {}],
      ["2026-01-20", "b", 120, { interval: "year" }],
      // For less a month: by the year from now on.
      ["2026-02-05", "a", 360, { interval: "month", interval_count: 12 }],
      // Another reading of the same price.
      ["2026-03-05", "b", 30, { interval: "month", interval_count: 3 }],
      ["2026-03-10", "c", 60, { interval_count: 3 }],
      ["2026-04-10", "c", 0, { event_type: "subscription.churn" }],
    ];
    // The newest first: what is known later takes its place.
    for (const [day, subscription, amount, more] of told.toReversed()) {
      await endpoints.record({
        event_type: "subscription.new",
        event_id: `${subscription} ${day}`,
        customer_id: subscription,
        subscription_id: subscription,
        product_id: "plan",
        amount,
        occurred_at: `${day}T00:00:00Z`,
        ...more,
      });
    }
    await endpoints.booked();
  });

  async function read(path: string, query: Query) {
    const answer = await endpoints.get(`/v1/${path}?${new URLSearchParams(query).toString()}`);
    expect(answer.status, answer.text).to.equal(200);
    return answer.json;
  }
  const bridge = async (query: Query) =>
    movementsAnswer.parse(await read("metrics/mrr/movements", { ...range, ...query })).data;
  const shown = (rows: readonly MovementsRow[]) =>
    rows.map((row) =>
      [
        row.from.slice(0, 7),
        row.start_mrr,
        row.new_mrr,
        row.contraction_mrr,
        row.churn_mrr,
        row.switch_mrr,
        row.end_mrr,
      ].join(" "),
    );

  const whole = [
    "2026-01 0 50 0 0 0 50",
    "2026-02 50 0 -10 0 0 40",
    "2026-03 40 20 0 0 0 60",
    "2026-04 60 0 0 -20 0 40",
  ];
  const monthly = [
    "2026-01 0 40 0 0 0 40",
    "2026-02 40 0 -10 0 -30 0",
    "2026-03 0 0 0 0 0 0",
    "2026-04 0 0 0 0 0 0",
  ];
  const yearly = [
    "2026-01 0 10 0 0 0 10",
    "2026-02 10 0 0 0 30 40",
    "2026-03 40 0 0 0 0 40",
    "2026-04 40 0 0 0 0 40",
  ];
  const quarterly = [
    "2026-01 0 0 0 0 0 0",
    "2026-02 0 0 0 0 0 0",
    "2026-03 0 20 0 0 0 20",
    "2026-04 20 0 0 -20 0 0",
  ];
  const asked: readonly [query: Query, rows: readonly string[]][] = [
    [{}, whole],
    [{ plan_interval: "month" }, monthly],
    [{ plan_interval: "year" }, yearly],
    [{ plan_interval: "quarter" }, quarterly],
    [{ plan_interval: "-month,-quarter" }, yearly],
    [{ plan_interval: "month,quarter,year" }, whole],
    [{ plan_interval: "year", vintage: "2026-01", currency: "EUR" }, yearly],
    [{ plan_interval: "unknown" }, quarterly.map((row) => `${row.slice(0, 7)} 0 0 0 0 0 0`)],
  ];
  for (const [query, rows] of asked) {
    it(`should show movements of ${JSON.stringify(query)}`, async () => {
      expect(shown((await bridge(query)).movements)).to.deep.equal(rows);
    });
  }

  it("should come to the same by days as by months", async () => {
    const days = await bridge({ plan_interval: "year", interval: "day" });
    expect(days.totals).to.deep.equal((await bridge({ plan_interval: "year" })).totals);
  });

  it("should break movements down by interval", async () => {
    const { movements, ungrouped } = await bridge({ group_by: "plan_interval" });
    const of = (wanted: string) => movements.filter((row) => row.plan_interval === wanted);
    const isSomething = (row: string) => !row.endsWith(" 0 0 0 0 0 0");
    expect(shown(of("month"))).to.deep.equal(monthly.filter(isSomething));
    expect(shown(of("year"))).to.deep.equal(yearly.filter(isSomething));
    expect(shown(of("quarter"))).to.deep.equal(quarterly.filter(isSomething));
    expect(shown(ungrouped ?? [])).to.deep.equal(whole);
  });

  it("should filter the summary and the rates", async () => {
    const query = { ...range, plan_interval: "quarter" };
    const { data: summary } = summaryAnswer.parse(await read("metrics/summary", query));
    expect([summary.mrr, summary.active_subscribers]).to.deep.equal([0, null]);
    const { data: rates } = ratesAnswer.parse(await read("metrics/rates", query));
    expect(rates.series.map((row) => row.mrr_churn_rate_pct)).to.deep.equal([
      null,
      null,
      null,
      100,
    ]);
  });

  it("should filter accounts and vintages", async () => {
    const accounts = accountsAnswer.parse(
      await read("accounts", { plan_interval: "year", at: "2026-04-30" }),
    );
    expect(accounts.data.map((row) => [row.mrr, row.starting_mrr])).to.deep.equal([
      [30, 0],
      [10, 10],
    ]);
    const cohorts = cohortsAnswer.parse(
      await read("metrics/cohorts", { plan_interval: "year", at: "2026-04-30" }),
    );
    const vintages = cohorts.data.cohorts.map((row) => [row.vintage, row.retention_curve]);
    expect(vintages).to.deep.equal([["2026-01", [100, 400, 400, 400]]]);
  });

  it("should say what changed, and list each movement", async () => {
    const by = await read("metrics/mrr/what-changed", { ...range, by: "plan_interval" });
    const changed = whatChangedAnswer.parse(by).data.rows;
    expect(changed.map((row) => [row.plan_interval, row.difference])).to.deep.equal([
      ["year", 40],
      ["month", 0],
      ["quarter", 0],
    ]);
    const list = await read("mrr-movements", { plan_interval: "month", sort: "at" });
    const { data, totals } = recordedMovementsAnswer.parse(list);
    expect(data.every((row) => row.plan_interval === "month")).to.equal(true);
    expect(totals.mrr).to.equal(0);
  });

  it("should have recorded what should be, as the audit works it out", async () => {
    const { clickhouse } = endpoints.service;
    const view = await viewOf(clickhouse, matching([endpoints.tenant], "workspace", "environment"));
    expect(view.recorded.length).to.be.greaterThan(5);
    expect(differenceOf(view)).to.deep.equal([]);
  });

  itRefuses(
    (path) => endpoints.get(path),
    [
      [
        "/v1/metrics/mrr/movements?plan_interval=monthly",
        400,
        "parameter_invalid",
        "plan_interval",
      ],
      ["/v1/accounts?plan_interval=month,-year", 400, "parameter_invalid", "plan_interval"],
      ["/v1/metrics/revenue?plan_interval=month", 400, "parameter_unknown", "plan_interval"],
    ],
  );
});
