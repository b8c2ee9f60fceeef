/** Cohorts and the summary, asked over HTTP of the real service: small tables to check by hand. */
import { expect } from "chai";
import { openSkus } from "../../workspaces/catalogue/skus.js";
import { accountCohortsAnswer, cohortsAnswer } from "../../api/cohorts/schema.js";
import { summaryAnswer } from "../../api/summary/schema.js";
import { productId } from "../../schemas/ids.js";
import { itRefuses, openEndpoints, suiteEndpoints } from "../harness/endpoints.js";
import { movementsIn } from "../harness/movement-table.js";
import { type Tenant, insertMovements } from "../harness/query-rows.js";
import type { QueryParam } from "../../stores/clickhouse/sql-text.js";

type Query = Readonly<Record<string, string>>;

const story = `
  at         | account | kind         | mrr     | accounts | sku | provider
  2026-01-10 | a       | new          |  10.000 |        1 | a   | stripe
  2026-02-05 | a       | expansion    |   5.000 |        0 | a   | stripe
  2026-02-20 | b       | new          |  20.000 |        1 | b   | stripe
  2026-03-15 | b       | churn        | -20.000 |       -1 | b   | stripe
  2026-04-02 | c       | new          |   8.000 |        1 | b   | apple
  2026-05-01 | a       | contraction  | -12.000 |        0 | a   | stripe
  2026-06-10 | b       | reactivation |  30.000 |        1 | c   | stripe
`;

describe("retention", () => {
  const endpoints = suiteEndpoints();
  let tenant: Tenant;
  before(async () => {
    tenant = endpoints.tenant;
    await insertMovements(endpoints.service.clickhouse, tenant, movementsIn(story));
    await openSkus(endpoints.service.postgres).see(
      ["prod_b", "prod_c"].map((externalId) => ({ ...tenant, provider: "stripe", externalId })),
    );
  });

  const get = (path: string, query: Query) =>
    endpoints.get(`/v1/metrics/${path}?${new URLSearchParams(query).toString()}`);
  const july = { at: "2026-07-15T00:00:00Z" };
  /** Vintage, what it began with, and its curves. */
  const cohorts = async (query: Query) => {
    const answer = await get("cohorts", { ...july, ...query });
    expect(answer.status, answer.text).to.equal(200);
    return cohortsAnswer.parse(answer.json).data.cohorts.map((row) => {
      expect(row.nrr_percentage).to.equal(row.retention_curve.at(-1));
      expect(row.grr_percentage).to.equal(row.gross_retention_curve?.at(-1));
      const { vintage, starting_mrr, retention_curve, gross_retention_curve } = row;
      return [vintage, starting_mrr, retention_curve, gross_retention_curve];
    });
  };
  const accountCohorts = async (query: Query) => {
    const answer = await get("cohorts", { ...july, basis: "accounts", ...query });
    expect(answer.status, answer.text).to.equal(200);
    return accountCohortsAnswer.parse(answer.json).data.cohorts.map((row) => {
      expect(row.retention_percentage).to.equal(row.retention_curve.at(-1));
      return [row.vintage, row.starting_accounts, row.retention_curve];
    });
  };
  const product = (sku: string) => productId(tenant.workspace, "live", "stripe", sku);

  describe("cohorts", () => {
    it("should answer as ever when nothing else is asked for, also in so many words", async () => {
      const at = "at=2026-03-31T12%3A00%3A00Z";
      const read = async (query: string) => {
        const { text } = await get("cohorts", Object.fromEntries(new URLSearchParams(query)));
        return text.trimEnd().replace(/"complete_to":"[^"]*"/, "");
      };
      const expected =
        '{"status":"success","data":{"cohorts":[' +
        '{"vintage":"2026-01","starting_mrr":10,"nrr_percentage":150,' +
        '"retention_curve":[100,150,150]},' +
        '{"vintage":"2026-02","starting_mrr":20,"nrr_percentage":0,"retention_curve":[100,0]}' +
        ']},"at":"2026-03-31T12:00:00.000Z",}';
      expect(await read(at)).to.equal(expected);
      expect(await read(`${at}&interval=month&basis=mrr&gross=false`)).to.equal(expected);
    });

    const followed: readonly (readonly [query: Query, rows: readonly unknown[]])[] = [
      // At most what accounts began with.
      [
        { gross: "true" },
        [
          ["2026-01", 10, [100, 150, 150, 150, 30, 30, 30], [100, 100, 100, 100, 30, 30, 30]],
          ["2026-02", 20, [100, 0, 0, 0, 150, 150], [100, 0, 0, 0, 100, 100]],
          ["2026-04", 8, [100, 100, 100, 100], [100, 100, 100, 100]],
        ],
      ],
      // 3 of a and 30 of b, of which 3 and 20 were there at the beginning.
      [
        { interval: "quarter", gross: "true" },
        [
          ["2026-Q1", 30, [100, 110, 110], [100, 76.7, 76.7]],
          ["2026-Q2", 8, [100, 100], [100, 100]],
        ],
      ],
      [{ interval: "year" }, [["2026", 38, [100], undefined]]],
      [
        { vintage: "2026-02,2026-04" },
        [
          ["2026-02", 20, [100, 0, 0, 0, 150, 150], undefined],
          ["2026-04", 8, [100, 100, 100, 100], undefined],
        ],
      ],
      [{ vintage: "-2026-Q1" }, [["2026-04", 8, [100, 100, 100, 100], undefined]]],
      [
        { vintage: "2026-04", provider: "-stripe,-google", gross: "true" },
        [["2026-04", 8, [100, 100, 100, 100], [100, 100, 100, 100]]],
      ],
      [{ provider: "-stripe,-apple" }, []],
      [{ interval: "quarter", provider: "apple" }, [["2026-Q2", 8, [100, 100], undefined]]],
      [
        { interval: "quarter", provider: "stripe", gross: "true" },
        [["2026-Q1", 30, [100, 110, 110], [100, 76.7, 76.7]]],
      ],
    ];
    for (const [query, rows] of followed) {
      it(`should follow vintages as asked: ${JSON.stringify(query)}`, async () => {
        expect(await cohorts(query)).to.deep.equal(rows);
      });
    }

    const averages = async (query: Query) => {
      const answer = await get("cohorts", { ...july, ...query });
      expect(answer.status, answer.text).to.equal(200);
      return cohortsAnswer.parse(answer.json).data;
    };

    it("should average vintages by what they began with, of months that are over", async () => {
      const { average } = await averages({ average: "true", gross: "true" });
      // After a month 15 of 10, nothing of 20 and 8 of 8 are left; only January is 5 months old.
      expect(average).to.deep.equal({
        vintages: 3,
        starting_mrr: 38,
        retention_curve: [100, 60.5, 60.5, 50, 110, 30],
        gross_retention_curve: [100, 47.4, 47.4, 33.3, 76.7, 30],
      });
      expect((await averages({})).average).to.equal(undefined);
      const ended = { at: "2026-07-31T23:59:59.999Z", average: "true" };
      expect((await averages(ended)).average?.retention_curve).to.have.length(7);
      const answer = await get("cohorts", { ...july, basis: "accounts", average: "true" });
      const ofAccounts = accountCohortsAnswer.parse(answer.json).data.average;
      expect(ofAccounts).to.deep.include({ vintages: 3, starting_accounts: 3 });
      expect(ofAccounts?.retention_curve.slice(0, 2)).to.deep.equal([100, 66.7]);
    });

    it("should show the vintages of some months, and the average of others beside it", async () => {
      const span = { from: "2026-02-01", to: "2026-05-01" };
      const {
        cohorts: some,
        average,
        compare,
      } = await averages({
        ...span,
        compare: "previous_period",
      });
      expect(some.map(({ vintage }) => vintage)).to.deep.equal(["2026-02", "2026-04"]);
      expect(average).to.deep.equal({
        vintages: 2,
        starting_mrr: 28,
        retention_curve: [100, 28.6, 28.6, 0, 150],
      });
      expect(compare).to.deep.equal({
        vintages: 1,
        starting_mrr: 10,
        retention_curve: [100, 150, 150, 150, 30, 30],
      });
      const yearBefore = await averages({ ...span, compare: "previous_year" });
      expect(yearBefore.compare).to.deep.equal({
        vintages: 0,
        starting_mrr: 0,
        retention_curve: [],
      });
      expect((await averages({ compare: "previous_year" })).compare).to.equal(null);
      const { complete_to } = (await get("cohorts", july)).json;
      const then = await averages({
        ...span,
        compare: "known_then",
        compare_known_at: complete_to,
      });
      expect(then.compare).to.deep.equal(then.average);
    });

    it("should show the vintage of the last day, of days in which none begins", async () => {
      const { cohorts: some } = await averages({ from: "2026-04-10", to: "2026-04-20" });
      expect(some.map(({ vintage }) => vintage)).to.deep.equal(["2026-04"]);
      const quarters = await averages({ from: "2026-02-01", interval: "quarter" });
      expect(quarters.cohorts.map(({ vintage }) => vintage)).to.deep.equal(["2026-Q2"]);
    });

    it("should follow a product alone", async () => {
      const ofB = await cohorts({ product: product("prod_b"), gross: "true" });
      expect(ofB).to.deep.equal([["2026-02", 20, [100, 0, 0, 0, 0, 0], [100, 0, 0, 0, 0, 0]]]);
      // Nobody began with it.
      expect(await cohorts({ product: product("prod_c") })).to.deep.equal([]);
    });

    it("should count accounts", async () => {
      expect(await accountCohorts({})).to.deep.equal([
        ["2026-01", 1, [100, 100, 100, 100, 100, 100, 100]],
        ["2026-02", 1, [100, 0, 0, 0, 100, 100]],
        ["2026-04", 1, [100, 100, 100, 100]],
      ]);
      const may = { at: "2026-05-31T00:00:00Z", interval: "quarter" };
      expect((await accountCohorts(may))[0]).to.deep.equal(["2026-Q1", 2, [100, 50]]);
      const ofB = await accountCohorts({ product: product("prod_b") });
      expect(ofB).to.deep.equal([["2026-02", 1, [100, 0, 0, 0, 0, 0]]]);
    });

    itRefuses(
      (query) => endpoints.get(`/v1/metrics/cohorts?${query}`),
      [
        ["interval=week", 400, "parameter_invalid", "interval"],
        ["basis=customers", 400, "parameter_invalid", "basis"],
        ["gross=yes", 400, "parameter_invalid", "gross"],
        ["currency=EUR", 400, "parameter_unknown", "currency"],
        ["product=none", 422, "product_unknown", "product"],
        ["from=2026-05-01&to=2026-04-01", 422, "range_backwards", "from"],
        ["average=1", 400, "parameter_invalid", "average"],
        ["compare=known_then", 400, "parameter_missing", "compare_known_at"],
        ["gross=true&basis=accounts", 422, "gross_of_accounts", "gross"],
      ],
    );
  });

  describe("the summary", () => {
    const summary = async (query: Query) => {
      const answer = await get("summary", query);
      expect(answer.status, answer.text).to.equal(200);
      return summaryAnswer.parse(answer.json).data;
    };

    it("should report the ratios of the last 30 days", async () => {
      // At `since` a had 15 and b 20; b left, c came with 8.
      expect(await summary({ at: "2026-04-10T00:00:00Z" })).to.deep.equal({
        currency: "EUR",
        since: "2026-03-11T00:00:00.000Z",
        until: "2026-04-10T00:00:00.000Z",
        mrr: 23,
        arr: 276,
        start_mrr: 35,
        net_new_mrr: -12,
        active_subscribers: 2,
        arpa: 11.5,
        customer_churn_rate_pct: 50,
        gross_revenue_churn_rate_pct: 57.14,
        net_revenue_churn_rate_pct: 57.14,
        quick_ratio: 0.4,
        ltv: 23,
      });
    });

    it("should set growth off in net churn, and know no lifetime without churn", async () => {
      // At `since` a had 15 and c 8; a went down to 3; nobody left.
      expect(await summary({ at: "2026-05-20T00:00:00Z" })).to.include({
        mrr: 11,
        arr: 132,
        active_subscribers: 2,
        arpa: 5.5,
        customer_churn_rate_pct: 0,
        gross_revenue_churn_rate_pct: 52.17,
        net_revenue_churn_rate_pct: 52.17,
        quick_ratio: 0,
        ltv: null,
      });
      // b came back with 30: ARPA 41 ÷ 3, net churn −30 ÷ 11.
      const june = await summary({ at: "2026-06-10T00:00:00Z" });
      expect([june.arpa, june.net_revenue_churn_rate_pct, june.quick_ratio]).to.deep.equal([
        13.67,
        -272.73,
        null,
      ]);
    });

    it("should report nothing of ratios to nothing", async () => {
      expect(await summary({ at: "2025-01-01T00:00:00Z" })).to.include({
        mrr: 0,
        arr: 0,
        active_subscribers: 0,
        arpa: null,
        customer_churn_rate_pct: null,
        gross_revenue_churn_rate_pct: null,
        net_revenue_churn_rate_pct: null,
        quick_ratio: null,
        ltv: null,
      });
    });

    it("should see one state of what is booked, though more is booked meanwhile", async () => {
      const busy = await openEndpoints();
      const { tenant: own } = busy;
      const { clickhouse } = busy.service;
      await insertMovements(clickhouse, own, movementsIn(story));
      // It turns out that another left long ago: booked while the first statement is answered.
      const late = `
        at         | account | kind  | mrr     | accounts | sku | provider
        2026-01-12 | d       | new   |   7.000 |        1 | a   | stripe
        2026-01-20 | d       | churn |  -7.000 |       -1 | a   | stripe
      `;
      const rows = clickhouse.rows.bind(clickhouse);
      let turn: Promise<void> | null = null;
      clickhouse.rows = async <T>(sql: string, params?: Readonly<Record<string, QueryParam>>) => {
        if (!sql.includes("mrr_movements")) return rows<T>(sql, params);
        if (turn !== null) {
          await turn;
          return rows<T>(sql, params);
        }
        const read = rows<T>(sql, params);
        turn = read.then(() => insertMovements(clickhouse, own, movementsIn(late)));
        return read;
      };
      try {
        const query = new URLSearchParams({ at: "2026-07-15T00:00:00Z" }).toString();
        const { json } = await busy.get(`/v1/metrics/summary?${query}`);
        expect(json.data.customer_churn_rate_pct).to.equal(0);
      } finally {
        clickhouse.rows = rows;
      }
    });

    const balances = async (query: Query) => {
      const { since, until, start_mrr: start, net_new_mrr: moved, mrr } = await summary(query);
      return [since.slice(0, 10), until.slice(0, 10), start, moved, mrr];
    };

    const periods: readonly (readonly [query: Query, shown: readonly (string | number)[]])[] = [
      [{ from: "2026-03-01", to: "2026-04-01" }, ["2026-03-01", "2026-04-01", 35, -20, 15]],
      [{ from: "2026-01-01", at: "2026-06-10T00:00:00Z" }, ["2026-01-01", "2026-06-10", 0, 41, 41]],
      [{ to: "2026-04-01" }, ["2026-03-02", "2026-04-01", 35, -20, 15]],
      [{ from: "2026-06-10", to: "2026-06-11" }, ["2026-06-10", "2026-06-11", 11, 30, 41]],
    ];
    for (const [query, shown] of periods) {
      it(`should be about any period: ${JSON.stringify(query)}`, async () => {
        expect(await balances(query)).to.deep.equal(shown);
      });
    }

    it("should begin and end a period with the balances the movements do", async () => {
      for (const cell of [{}, { provider: "apple" }, { currency: "USD" }, { country: "US" }]) {
        for (const interval of ["month", "quarter"] as const) {
          const query = { from: "2026-01-01", to: "2026-07-01", interval, ...cell };
          const { series = [], ...whole } = await summary(query);
          const { json } = await get("mrr/movements", query);
          const { movements, totals } = json.data;
          const shown = [...series, whole].map((row) => [row.start_mrr, row.mrr]);
          const rows: { start_mrr: number; end_mrr: number }[] = [...movements, totals];
          expect(shown).to.deep.equal(rows.map((row) => [row.start_mrr, row.end_mrr]));
        }
      }
    });

    it("should report each interval what it reports that time alone", async () => {
      const span = { from: "2026-01-01", to: "2026-07-01", at: "2026-06-10T12:00:00Z" };
      const { series = [], ...whole } = await summary({ ...span, interval: "month" });
      expect(series).to.have.length(6);
      for (const row of series) {
        const days = { from: row.since.slice(0, 10), to: row.until.slice(0, 10) };
        const to = row.until === span.at.replace("Z", ".000Z") ? "2026-07-01" : days.to;
        const { currency: _same, ...alone } = await summary({ ...span, from: days.from, to });
        expect(alone).to.deep.equal(row);
      }
      expect(await summary(span)).to.deep.equal(whole);
    });

    const compared: readonly (readonly [asked: Query, with_: Query])[] = [
      [
        { from: "2026-03-01", to: "2026-04-01", compare: "previous_period" },
        { from: "2026-02-01", to: "2026-03-01" },
      ],
      [
        { from: "2026-04-01", to: "2026-07-01", compare: "previous_period" },
        { from: "2026-01-01", to: "2026-04-01" },
      ],
      [
        { from: "2026-03-02", to: "2026-03-12", compare: "previous_period" },
        { from: "2026-02-20", to: "2026-03-02" },
      ],
      [
        {
          from: "2026-06-01",
          to: "2026-07-01",
          at: "2026-06-10T12:00:00Z",
          compare: "previous_period",
          interval: "week",
        },
        { from: "2026-05-01", to: "2026-05-11", at: "2026-05-10T12:00:00Z", interval: "week" },
      ],
      [
        { from: "2026-03-01", to: "2026-04-01", compare: "previous_year" },
        { from: "2025-03-01", to: "2025-04-01" },
      ],
      [{ at: "2026-05-20T00:00:00Z", compare: "previous_period" }, { at: "2026-04-20T00:00:00Z" }],
      [{ at: "2026-05-20T00:00:00Z", compare: "previous_year" }, { at: "2025-05-20T00:00:00Z" }],
    ];
    for (const [asked, other] of compared) {
      it(`should compare ${Object.values(asked).join(" ")}`, async () => {
        const { currency: _same, ...alone } = await summary(other);
        expect((await summary(asked)).compare).to.deep.equal(alone);
      });
    }

    it("should compare with nothing before 1970", async () => {
      const old = await summary({ at: "1970-01-02T00:00:00Z", compare: "previous_year" });
      expect(old.compare).to.equal(null);
    });

    it("should compare with the same time as it was known then", async () => {
      const known = "2026-04-01T00:00:00Z";
      const query = { from: "2026-03-01", to: "2026-07-01" };
      const { compare } = await summary({
        ...query,
        compare: "known_then",
        compare_known_at: known,
      });
      const { currency: _same, ...then } = await summary({
        ...query,
        known_at: known,
        at: new Date(Date.now() - 60_000).toISOString(),
      });
      expect(compare).to.deep.equal(then);
    });

    itRefuses(
      (query) => endpoints.get(`/v1/metrics/summary?${query}`),
      [
        ["compare=known_then", 400, "parameter_missing", "compare_known_at"],
        ["compare_known_at=2026-04-01T00:00:00Z", 400, "parameter_missing", "compare"],
        ["compare=last_week", 400, "parameter_invalid", "compare"],
        ["account=somebody", 400, "parameter_unknown", "account"],
      ],
    );

    it("should count no accounts in a part that cuts them", async () => {
      const { active_subscribers: active, arpa, ltv, mrr } = await summary({ country: "US" });
      expect([active, arpa, ltv]).to.deep.equal([null, null, null]);
      expect(mrr).to.be.above(0);
    });

    it("should look at one provider", async () => {
      const apple = await summary({ at: "2026-06-10T00:00:00Z", provider: "apple" });
      expect([apple.mrr, apple.active_subscribers, apple.arpa]).to.deep.equal([8, 1, 8]);
    });
  });
});
