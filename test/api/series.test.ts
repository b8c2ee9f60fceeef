/** Figures over time, asked over HTTP of the real service: small tables to check by hand. */
import { expect } from "chai";
import type { z } from "zod";
import { openSkus } from "../../workspaces/catalogue/skus.js";
import { insertChanges } from "../../processors/book/subscriptions/changes.js";
import { recordMovements } from "../../processors/book/subscriptions/movements.js";
import { countriesAnswer } from "../../api/countries/schema.js";
import { type MovementsRow, movementsAnswer } from "../../api/movement-series/schema.js";
import { revenueAnswer } from "../../api/revenue/schema.js";
import { productId } from "../../schemas/ids.js";
import { type Endpoints, itRefuses, openEndpoints } from "../harness/endpoints.js";
import { momentOf, rowsOf } from "../model/tables/table.js";
import { movementsIn } from "../harness/movement-table.js";
import {
  type Tenant,
  insertLedger,
  insertMovements,
  insertTransactions,
} from "../harness/query-rows.js";
import type { Change } from "../../schemas/subscriptions/change.js";

describe("series over time", () => {
  let endpoints: Endpoints;
  let tenant: Tenant;
  beforeEach(async () => {
    endpoints = await openEndpoints();
    tenant = endpoints.tenant;
  });

  const get = (path: string, query: Readonly<Record<string, string>> = {}) =>
    endpoints.get(`${path}?${new URLSearchParams(query).toString()}`);
  const read = async <Answer>(
    shape: z.ZodType<Answer>,
    path: string,
    query: Readonly<Record<string, string>>,
  ): Promise<Answer> => {
    const answer = await get(path, query);
    expect(answer.status, answer.text).to.equal(200);
    return shape.parse(answer.json);
  };

  describe("MRR movements", () => {
    const path = "/v1/metrics/mrr/movements";
    const insert = (movements: string) =>
      insertMovements(endpoints.service.clickhouse, tenant, movementsIn(movements));
    const bridge = async (query: Readonly<Record<string, string>>) =>
      (await read(movementsAnswer, path, query)).data;
    const year = { from: "2026-01-01", to: "2026-04-01" };

    const story = `
      at               | account | kind         | mrr     | accounts | provider | sku | currency
      2026-01-10       | a       | new          |  10.004 |        1 | stripe   | a   | EUR
      2026-01-20       | b       | new          |  20.004 |        1 | apple    | b   | USD
      2026-02-05       | a       | expansion    |   5.003 |        0 | stripe   | a   | EUR
      2026-02-28 23:59 | b       | churn        | -20.004 |       -1 | apple    | b   | USD
      2026-03-01       | c       | new          |   4.000 |        1 | stripe   | a   | EUR
      2026-03-01       | c       | new          |   3.000 |        0 | stripe   | b   | EUR
      2026-03-15       | b       | reactivation |   1.500 |        1 | apple    | b   | USD
      2026-03-20       | a       | contraction  |  -5.001 |        0 | stripe   | a   | EUR
    `;

    it("should lead from each balance to the next, in shown numbers that add up", async () => {
      await insert(story);
      const { currency, movements, totals } = await bridge(year);
      expect(currency).to.equal("EUR");
      expectBridge(
        [...movements, totals],
        `
        from       | start | new   | more | less  | churn  | back | end   | accounts
        2026-01-01 |  0.00 | 30.01 | 0.00 |  0.00 |   0.00 | 0.00 | 30.01 | 0 +2 -0 +0 = 2
        2026-02-01 | 30.01 |  0.00 | 5.00 |  0.00 | -20.00 | 0.00 | 15.01 | 2 +0 -1 +0 = 1
        2026-03-01 | 15.01 |  7.00 | 0.00 | -5.00 |   0.00 | 1.50 | 18.51 | 1 +1 -0 +1 = 3
        2026-01-01 |  0.00 | 37.01 | 5.00 | -5.00 | -20.00 | 1.50 | 18.51 | 0 +3 -1 +1 = 3
        `,
      );
    });

    it("should compare with the totals of another time, as the summary does", async () => {
      await insert(story);
      const february = { from: "2026-02-01", to: "2026-03-01" };
      const { totals } = await bridge({ from: "2026-01-01", to: "2026-02-01" });
      const previous = { ...february, compare: "previous_period" };
      expect((await bridge(previous)).compare).to.deep.equal(totals);
      expect((await bridge({ ...previous, group_by: "provider" })).compare).to.deep.equal(totals);
      const before = await bridge({ ...february, compare: "previous_year" });
      expect(before.compare).to.include({ from: "2025-02-01", to: "2025-03-01", end_mrr: 0 });
      const known = { known_at: "2026-02-02T00:00:00Z", at: "2026-03-01T00:00:00Z" };
      const { totals: then } = await bridge({ ...february, ...known });
      const knownThen = { compare: "known_then", compare_known_at: known.known_at };
      expect((await bridge({ ...february, ...knownThen })).compare).to.deep.equal(then);
      expect((await bridge(february)).compare).to.equal(undefined);
      const first = { from: "1970-01-01", to: "1970-02-01", compare: "previous_year" };
      expect((await bridge(first)).compare).to.equal(null);
    });

    it("should show the parts of a provider, a product or a currency", async () => {
      await insert(story);
      await openSkus(endpoints.service.postgres).see([
        { ...tenant, provider: "stripe", externalId: "prod_b" },
      ]);
      const cells: readonly (readonly [query: Readonly<Record<string, string>>, table: string])[] =
        [
          [
            { provider: "apple" },
            `
            from       | start | new   | more | less | churn  | back | end  | accounts
            2026-01-01 |  0.00 | 20.00 | 0.00 | 0.00 | -20.00 | 1.50 | 1.50 | 0 +1 -1 +1 = 1
            `,
          ],
          [
            { product: productId(tenant.workspace, "live", "stripe", "prod_b") },
            `
            from       | start | new  | more | less | churn | back | end  | accounts
            2026-01-01 |  0.00 | 3.00 | 0.00 | 0.00 |  0.00 | 0.00 | 3.00 |
            `,
          ],
          [
            { product: productId(tenant.workspace, "live", "", "") },
            `
            from       | start | new  | more | less | churn | back | end  | accounts
            2026-01-01 |  0.00 | 0.00 | 0.00 | 0.00 |  0.00 | 0.00 | 0.00 |
            `,
          ],
          [
            { currency: "USD", country: "US" },
            `
            from       | start | new   | more | less | churn  | back | end  | accounts
            2026-01-01 |  0.00 | 20.00 | 0.00 | 0.00 | -20.00 | 1.50 | 1.50 |
            `,
          ],
          [
            { provider: "apple,stripe", vintage: "2026" },
            `
            from       | start | new   | more | less  | churn  | back | end   | accounts
            2026-01-01 |  0.00 | 37.01 | 5.00 | -5.00 | -20.00 | 1.50 | 18.51 | 0 +3 -1 +1 = 3
            `,
          ],
          [
            { vintage: "2026-03" },
            `
            from       | start | new  | more | less | churn | back | end  | accounts
            2026-01-01 |  0.00 | 7.00 | 0.00 | 0.00 |  0.00 | 0.00 | 7.00 | 0 +1 -0 +0 = 1
            `,
          ],
          [
            { vintage: "-2026-02,-2026-03", provider: "-apple", from: "2026-02-10" },
            `
            from       | start | new  | more | less  | churn | back | end   | accounts
            2026-02-10 | 15.01 | 0.00 | 0.00 | -5.00 |  0.00 | 0.00 | 10.01 | 1 +0 -0 +0 = 1
            `,
          ],
          [
            { currency: "-USD,-GBP", vintage: "2026-Q1" },
            `
            from       | start | new   | more | less  | churn | back | end   | accounts
            2026-01-01 |  0.00 | 17.01 | 5.00 | -5.00 |  0.00 | 0.00 | 17.01 |
            `,
          ],
          [
            { country: "DE" },
            `
            from       | start | new  | more | less | churn | back | end  | accounts
            2026-01-01 |  0.00 | 0.00 | 0.00 | 0.00 |  0.00 | 0.00 | 0.00 |
            `,
          ],
        ];
      for (const [query, table] of cells) {
        const { movements } = await bridge({ ...year, interval: "year", ...query });
        expectBridge(movements, table);
      }
    });

    const groups = ["provider", "product", "currency", "country", "plan_interval", "kind"] as const;
    const seen = (...skus: readonly (readonly [provider: string, externalId: string])[]) =>
      openSkus(endpoints.service.postgres).see(
        skus.map(([provider, externalId]) => ({ ...tenant, provider, externalId })),
      );
    for (const group of groups) {
      it(`should show of each ${group} what its filter shows, which together are all`, async () => {
        await insert(story);
        await seen(["stripe", "prod_a"], ["stripe", "prod_b"], ["apple", "prod_b"]);
        const whole = await bridge(year);
        const { movements, ungrouped } = await bridge({ ...year, group_by: group });
        expect(ungrouped).to.deep.equal(whole.movements);
        for (const { from, end_mrr: end, start_mrr: start, new_mrr: fresh } of whole.movements) {
          const sum = (of: (row: MovementsRow) => number) =>
            movements.reduce((all, row) => all + (row.from === from ? of(row) : 0), 0);
          expect(sum((row) => row.end_mrr)).to.be.closeTo(end, 0.02);
          expect(sum((row) => row.start_mrr)).to.be.closeTo(start, 0.02);
          expect(sum((row) => row.new_mrr)).to.be.closeTo(fresh, 0.02);
        }
        if (group === "kind") return;
        const field = { provider: "provider", product: "product_id" } as const;
        const place = { currency: "original_currency", country: "country" } as const;
        const name = { ...field, ...place, plan_interval: "plan_interval" } as const;
        const values = new Set(movements.map((row) => row[name[group]]));
        for (const value of values) {
          const mine = movements.filter((row) => row[name[group]] === value);
          const shown = (await bridge({ ...year, [group]: String(value) })).movements;
          const named = shown.map((row) => mine.find(({ from }) => from === row.from) ?? row);
          expect(named.map((row) => ({ ...row, ...nameless }))).to.deep.equal(
            shown.map((row) => ({ ...row, ...nameless })),
          );
        }
      });
    }

    it("should add up all but the largest groups, so that all of them are the whole", async () => {
      await insert(story);
      for (const group of groups) {
        for (const count of ["1", "2"]) {
          const asked = { ...year, group_by: group, groups: count };
          const { movements, others, ungrouped = [] } = await bridge(asked);
          for (const whole of ungrouped) {
            const parts = [...movements, ...(others?.rows ?? [])].filter(
              ({ from }) => from === whole.from,
            );
            for (const [name, amount] of Object.entries(whole)) {
              if (!name.endsWith("_mrr")) continue;
              const cents = parts.map((row) => Math.round(100 * Number({ ...row }[name])));
              const sum = cents.reduce((all, one) => all + one, 0);
              expect(sum, `${group} ${name}`).to.equal(Math.round(100 * Number(amount)));
            }
          }
        }
      }
      const { movements, others } = await bridge({ ...year, group_by: "provider", groups: "1" });
      expect(new Set(movements.map(({ provider }) => provider))).to.deep.equal(new Set(["stripe"]));
      expect(others?.count).to.equal(1);
      expectBridge(
        others?.rows ?? [],
        `
        from       | start | new   | more  | less | churn  | back | end   | accounts
        2026-01-01 |  0.00 | 20.01 |  0.00 | 0.00 |   0.00 | 0.00 | 20.01 | 0 +1 -0 +0 = 1
        2026-02-01 | 20.01 |  0.00 | -0.01 | 0.00 | -20.00 | 0.00 |  0.00 | 1 +0 -1 +0 = 0
        2026-03-01 |  0.00 |  0.00 |  0.00 | 0.00 |   0.00 | 1.50 |  1.50 | 0 +0 -0 +1 = 1
        `,
      );
    });

    it("should export the other groups as rows without a group", async () => {
      await insert(story);
      const query = { ...year, interval: "year", group_by: "currency", groups: "1", format: "csv" };
      const lines = (await get(path, query)).text.trim().split("\r\n");
      const place = lines[0]?.split(",").indexOf("original_currency") ?? -1;
      expect(lines.slice(1).map((line) => line.split(",")[place])).to.deep.equal(["EUR", ""]);
    });

    it("should keep the balance of a group in an interval that moved nothing", async () => {
      await insert(story);
      const { movements } = await bridge({ ...year, group_by: "currency" });
      const shown = movements.map((row) => [row.from, row.original_currency, row.end_mrr]);
      expect(shown).to.deep.equal([
        ["2026-01-01", "EUR", 10],
        ["2026-01-01", "USD", 20],
        ["2026-02-01", "EUR", 15.01],
        ["2026-02-01", "USD", 0],
        ["2026-03-01", "EUR", 17.01],
        ["2026-03-01", "USD", 1.5],
      ]);
    });

    it("should show of each kind the sum of its movements as balances", async () => {
      await insert(story);
      const { movements } = await bridge({ ...year, interval: "quarter", group_by: "kind" });
      const shown = movements.map((row) => [row.kind, row.end_mrr, row.end_accounts]);
      expect(shown).to.deep.equal([
        ["churn", -20, -1],
        ["contraction", -5, 0],
        ["expansion", 5, 0],
        ["new", 37.01, 3],
        ["reactivation", 1.5, 1],
      ]);
    });

    it("should cut the first and the last interval, and begin weeks on Monday", async () => {
      const days = async (query: Readonly<Record<string, string>>) =>
        (await bridge(query)).movements.map((row) => `${row.from} ${row.to}`);
      expect(await days({ from: "2026-02-27", to: "2026-03-10", interval: "week" })).to.deep.equal([
        "2026-02-27 2026-03-02",
        "2026-03-02 2026-03-09",
        "2026-03-09 2026-03-10",
      ]);
      expect(
        await days({ from: "2025-11-15", to: "2026-02-01", interval: "quarter" }),
      ).to.deep.equal(["2025-11-15 2026-01-01", "2026-01-01 2026-02-01"]);
      expect(
        await days({ from: "2025-11-15T01:00:00+01:00", to: "2026-02-01", interval: "year" }),
      ).to.deep.equal(["2025-11-15 2026-01-01", "2026-01-01 2026-02-01"]);
      expect(await days({ at: "2026-03-10T12:00:00Z", to: "2027-01-01" })).to.have.lengthOf(12);
      const clipped = await days({ at: "2026-03-10T12:00:00Z", to: "2027-01-01" });
      expect([clipped[0], clipped.at(-1)]).to.deep.equal([
        "2025-04-01 2025-05-01",
        "2026-03-01 2026-03-11",
      ]);
    });

    it("should begin with the first row, where nobody says when", async () => {
      await insert(story);
      const at = { at: "2026-03-31T12:00:00Z" };
      for (const [interval, from, length] of [
        ["year", "2026-01-01", 1],
        ["quarter", "2026-01-01", 1],
        ["month", "2026-01-01", 3],
        ["week", "2026-01-12", 12],
      ] as const) {
        const { movements, totals } = await bridge({ ...at, interval });
        expect([totals.from, movements.length], interval).to.deep.equal([from, length]);
      }
    });

    it("should take a day for its end", async () => {
      await insert(story);
      const end = async (at: string) => (await bridge({ ...year, at })).totals.end_mrr;
      expect(await end("2026-02-28")).to.equal(await end("2026-02-28T23:59:59.999Z"));
      expect(await end("2026-02-28")).to.equal(15.01);
      const today = new Date().toISOString().slice(0, 10);
      expect(await end(today)).to.equal(18.51);
      const tomorrow = new Date(Date.now() + 86_400_000).toISOString().slice(0, 10);
      expect((await get(path, { at: tomorrow })).status).to.equal(422);
    });

    it("should count in the last day only what happened up to `at`", async () => {
      await insert(story);
      const ends = async (at: string) => (await bridge({ ...year, at })).totals.end_mrr;
      expect(await ends("2026-02-28T23:58:00Z")).to.equal(35.01);
      expect(await ends("2026-02-28T23:59:00Z")).to.equal(15.01);
    });

    // The engine's days begin anew in June 2149.
    it("should never take for past a price that is announced for centuries ahead", async () => {
      const { clickhouse } = endpoints.service;
      const [begun, announced] = ["2026-01-10 00:00:00.000", "2200-01-15 00:00:00.000"];
      const item = { item: "si", external_id: "prod_a", price: "EUR:500/1", mrr: "5.000000" };
      const change: Change = {
        ...tenant,
        account: `account_${tenant.workspace}`,
        provider: "stripe",
        subscription: "sub",
        change_id: "evt:0",
        revision: 1,
        void: 0,
        at: begun,
        phase: "started",
        event_id: "evt",
        recorded_at: begun,
        currency: "EUR",
        country: "DE",
        steps: [
          { at: begun, items: [item] },
          { at: announced, items: [{ ...item, price: "EUR:1000/1", mrr: "10.000000" }] },
        ],
      };
      await insertChanges(clickhouse, [change]);
      await recordMovements(clickhouse, [change], clickhouse.isShared);
      const { movements } = await bridge({ ...year, interval: "year" });
      expectBridge(
        movements,
        `
        from       | start | new  | more | less | churn | back | end  | accounts
        2026-01-01 |  0.00 | 5.00 | 0.00 | 0.00 |  0.00 | 0.00 | 5.00 | 0 +1 -0 +0 = 1
        `,
      );
    });
  });

  describe("revenue", () => {
    const path = "/v1/metrics/revenue";
    const revenue = async (query: Readonly<Record<string, string>>) =>
      (await read(revenueAnswer, path, query)).data;

    beforeEach(async () => {
      const { clickhouse } = endpoints.service;
      const entry = (at: string, payment: string, more: object) => ({
        payment: `stripe:${payment}`,
        kind: "sale" as const,
        happened_at: momentOf(at),
        recorded_at: momentOf(at),
        amount: 0,
        sales: 0,
        ...more,
      });
      await insertLedger(clickhouse, tenant, [
        entry("2026-01-10", "one", { amount: 11_900, tax: 1_900, fee: 300, sales: 1 }),
        entry("2026-01-31 23:59", "two", { amount: 5_000, sales: 1, country: "DE" }),
        entry("2026-02-01", "one", { kind: "refund", amount: -5_950, tax: -950 }),
        entry("2026-02-02", "two", { kind: "dispute", amount: -5_000, country: "DE" }),
        entry("2026-03-02", "two", { kind: "dispute_won", amount: 5_000, country: "DE" }),
      ]);
      const version = (id: string, at: string, number: number, more: object) => ({
        id,
        version: number,
        timestamp: momentOf(at),
        recorded_at: momentOf(at) + number,
        ...more,
      });
      await insertTransactions(clickhouse, tenant, [
        version("one", "2026-01-10", 1, {}),
        version("one", "2026-01-10", 2, { fee_amount: 300 }),
        version("one", "2026-01-10", 3, { fee_amount: 300 }),
        version("two", "2026-01-31 23:59", 1, { customer_country: "DE" }),
      ]);
    });

    it("should say what was sold, given back and kept, by the time it happened", async () => {
      const { revenue: rows, totals } = await revenue({ from: "2026-01-01", to: "2026-05-01" });
      const table = [...rows, totals].map((row) => [
        row.from,
        row.gross,
        row.refunds,
        row.disputes,
        row.revenue,
        row.tax,
        row.fees,
        row.net,
        row.sales,
        row.sales_without_fee,
      ]);
      expect(table).to.deep.equal([
        ["2026-01-01", 169, 0, 0, 169, 19, 3, 147, 2, 1],
        ["2026-02-01", 0, -59.5, -50, -109.5, -9.5, 0, -100, 0, 0],
        ["2026-03-01", 0, 0, 50, 50, 0, 0, 50, 0, 0],
        ["2026-04-01", 0, 0, 0, 0, 0, 0, 0, 0, 0],
        ["2026-01-01", 169, -59.5, 0, 109.5, 9.5, 3, 97, 2, 1],
      ]);
    });

    it("should compare with the totals of another time, as the summary does", async () => {
      const february = { from: "2026-02-01", to: "2026-03-01" };
      const january = { from: "2026-01-01", to: "2026-02-01" };
      const of = async (query: Readonly<Record<string, string>>) =>
        (await revenue({ ...february, ...query })).compare;
      const { totals } = await revenue(january);
      expect(await of({ compare: "previous_period", group_by: "country" })).to.deep.equal(totals);
      const known = new Date(momentOf("2026-02-01")).toISOString();
      const at = new Date(momentOf("2026-03-01")).toISOString();
      const { totals: then } = await revenue({ ...february, known_at: known, at });
      const knownThen = await of({ compare: "known_then", compare_known_at: known });
      expect(knownThen).to.deep.equal(then);
      expect(await of({})).to.equal(undefined);
      const first = { from: "1970-01-01", to: "1970-02-01", compare: "previous_year" };
      expect((await revenue(first)).compare).to.equal(null);
    });

    it("should group what there is, and report no fee where nobody did", async () => {
      const { revenue: rows } = await revenue({
        from: "2026-01-01",
        to: "2026-02-03",
        interval: "quarter",
        group_by: "country",
      });
      const shown = rows.map((row) => [row.country, row.revenue, row.fees, row.sales_without_fee]);
      expect(shown).to.deep.equal([
        ["DE", 0, null, 1],
        ["US", 59.5, 3, 0],
      ]);
      const longer = { from: "2025-12-31", to: "2026-02-03", interval: "month" };
      const { group_totals: totals = [] } = await revenue({ ...longer, group_by: "country" });
      expect(totals.map((row) => [row.country, row.from, row.to, row.revenue])).to.deep.equal([
        ["DE", "2025-12-31", "2026-02-03", 0],
        ["US", "2025-12-31", "2026-02-03", 59.5],
      ]);
      const most = { ...longer, group_by: "country", groups: "1" };
      expect((await revenue(most)).group_totals?.map(({ country }) => country)).to.have.length(1);
      for (const [group, fields] of [
        ["provider", { provider: "stripe" }],
        ["currency", { original_currency: "USD" }],
        [
          "product",
          {
            product_id: productId(tenant.workspace, "live", "stripe", "prod_a"),
            product_name: "prod_a",
          },
        ],
      ] as const) {
        const grouped = await revenue({ from: "2026-01-01", interval: "year", group_by: group });
        expect(grouped.revenue).to.have.lengthOf(1);
        expect(grouped.revenue[0]).to.include(fields);
        expect(grouped.revenue[0]).to.include({ revenue: 109.5, sales_without_fee: 1 });
      }
    });

    it("should add up all but the largest groups", async () => {
      const span = { from: "2026-01-01", to: "2026-05-01", group_by: "country", groups: "1" };
      const { revenue: rows, others, ungrouped = [] } = await revenue(span);
      expect(new Set(rows.map(({ country }) => country))).to.deep.equal(new Set(["US"]));
      expect(others?.count).to.equal(1);
      const { revenue: germany } = await revenue({ ...span, country: "DE" });
      const shown = (row: object) => ({ ...row, country: undefined });
      expect(others?.rows.map(shown)).to.deep.equal(germany.map(shown));
      for (const whole of ungrouped) {
        const parts = [...rows, ...(others?.rows ?? [])].filter(({ from }) => from === whole.from);
        const sum = parts.reduce((all, { revenue: one }) => all + one, 0);
        expect(sum).to.equal(whole.revenue);
      }
      expect((await revenue({ ...span, groups: "2" })).others).to.deep.equal({
        count: 0,
        rows: [],
      });
    });

    it("should report how many sales nobody reported the tax", async () => {
      const { totals } = await revenue({ from: "2026-01-01" });
      expect(totals.sales_without_tax).to.equal(2);
      await insertTransactions(endpoints.service.clickhouse, tenant, [
        {
          id: "one",
          version: 4,
          timestamp: momentOf("2026-01-10"),
          recorded_at: momentOf("2026-01-11"),
          fee_amount: 300,
          tax_amount: 1_900,
        },
      ]);
      const { totals: now } = await revenue({ from: "2026-01-01" });
      expect([now.sales_without_tax, now.sales_without_fee]).to.deep.equal([1, 1]);
    });

    it("should show of each group what its filter shows, to the last figure", async () => {
      await openSkus(endpoints.service.postgres).see([
        { ...tenant, provider: "stripe", externalId: "prod_a" },
      ]);
      const span = { from: "2026-01-01", to: "2026-05-01" };
      const { revenue: whole } = await revenue(span);
      for (const [group, field] of [
        ["provider", "provider"],
        ["product", "product_id"],
        ["country", "country"],
        ["currency", "original_currency"],
      ] as const) {
        const { revenue: rows, ungrouped } = await revenue({ ...span, group_by: group });
        expect(rows).not.to.deep.equal([]);
        expect(ungrouped).to.deep.equal(whole);
        for (const row of rows) {
          const asked = { ...span, [group]: String(row[field]) };
          const { revenue: shown } = await revenue(asked);
          expect(row).to.deep.include(shown.find(({ from }) => from === row.from));
        }
      }
    });

    it("should be a part of the whole that its groups make up", async () => {
      const span = { from: "2026-01-01", to: "2026-05-01", group_by: "provider" };
      const { totals } = await revenue({ ...span, country: "DE" });
      const { totals: rest } = await revenue({ ...span, country: "US" });
      expect([totals.revenue, rest.revenue]).to.deep.equal([50, 59.5]);
      expect([totals.sales_without_fee, rest.sales_without_fee]).to.deep.equal([1, 0]);
      expect((await revenue({ ...span, country: "FR" })).revenue).to.deep.equal([]);
      const { totals: both } = await revenue({ ...span, country: "DE,FR,US,DE" });
      expect(both).to.deep.equal((await revenue(span)).totals);
      const { totals: some } = await revenue({ ...span, country: "DE,FR" });
      expect(some).to.deep.equal(totals);
    });

    it("should not count the fee of a sale before the sale", async () => {
      // A transaction is listed a moment before the ledger has its sale.
      const [at, early] = [momentOf("2026-01-20"), momentOf("2025-12-20")];
      const listed = { version: 1, recorded_at: at, fee_amount: 30, customer_country: "DE" };
      await insertTransactions(endpoints.service.clickhouse, tenant, [
        { ...listed, id: "three", timestamp: at },
        { ...listed, id: "four", timestamp: at },
        { ...listed, id: "five", timestamp: early },
      ]);
      const grouped = await revenue({ from: "2025-12-01", to: "2026-02-01", group_by: "country" });
      const shown = grouped.revenue.map((row) => [row.from, row.country, row.sales_without_fee]);
      expect(shown).to.deep.equal([
        ["2026-01-01", "DE", 0],
        ["2026-01-01", "US", 0],
      ]);
      expect(grouped.totals.sales_without_fee).to.equal(0);
    });

    it("should be what was known then", async () => {
      const known = { known_at: "2026-02-01T12:00:00Z", from: "2026-01-01" };
      const { totals } = await revenue(known);
      expect([totals.revenue, totals.to]).to.deep.equal([109.5, "2026-02-02"]);
      const { totals: early } = await revenue({ ...known, known_at: "2026-01-10T00:00:00.001Z" });
      expect([early.revenue, early.fees, early.sales_without_fee]).to.deep.equal([119, 3, 1]);
    });
  });

  describe("countries", () => {
    it("should be those of the ledger and of movements, of this environment", async () => {
      const { clickhouse } = endpoints.service;
      const movement = { account: "a", at: 0, recorded_at: 0, kind: "new", mrr: "1" };
      const times = { at: momentOf("2026-01-10"), recorded_at: momentOf("2026-01-10") };
      const of = (country: string) => ({ ...movement, ...times, vintage: "2026-01-01", country });
      await insertMovements(clickhouse, tenant, [of("JP"), of("ZZ"), of("JP")]);
      await insertMovements(clickhouse, { ...tenant, environment: "test" }, [of("FR")]);
      const { at: happened_at, recorded_at } = times;
      const sale = { payment: "p", kind: "sale" as const, happened_at, recorded_at };
      await insertLedger(clickhouse, tenant, [{ ...sale, amount: 5, sales: 1, country: "DE" }]);
      const { data } = await read(countriesAnswer, "/v1/countries", {});
      expect(data.map(({ country }) => country)).to.deep.equal(["DE", "JP", "ZZ"]);
      expect((await get("/v1/countries", { format: "csv" })).text).to.equal(
        "country\r\nDE\r\nJP\r\nZZ\r\n",
      );
    });
  });

  describe("what is asked for", () => {
    for (const path of ["mrr/movements", "revenue"]) {
      describe(path, () => {
        itRefuses(
          (query) => endpoints.get(`/v1/metrics/${path}?${query}`),
          [
            ["from=2026-02-30", 400, "parameter_invalid", "from"],
            ["from=2026-01-01T12:00:00Z", 400, "parameter_invalid", "from"],
            ["to=1767225600000", 400, "parameter_invalid", "to"],
            ["interval=fortnight", 400, "parameter_invalid", "interval"],
            ["surprise=1", 400, "parameter_unknown", "surprise"],
            ["group_by=product&groups=0", 400, "parameter_invalid", "groups"],
            ["group_by=product&groups=1001", 400, "parameter_invalid", "groups"],
            ["from=2026-02-01&to=2026-02-01", 422, "series_empty", "from"],
            ["from=2999-01-01", 422, "series_empty", "from"],
            ["from=1969-12-31", 422, "from_too_early", "from"],
            ["to=1969-12-31", 422, "series_empty", "to"],
            ["from=2000-01-01&interval=day", 422, "series_too_long", "interval"],
            ["at=2999-01-01T00:00:00Z", 422, "moment_in_future", "at"],
            ["product=prod_unf_none", 422, "product_unknown", "product"],
          ],
        );
      });
    }

    itRefuses(
      (url) => endpoints.get(`/v1/metrics${url}`),
      [
        ["/mrr/movements?provider=nobody", 400, "parameter_invalid", "provider"],
        ["/mrr/movements?currency=euro", 400, "parameter_invalid", "currency"],
        ["/mrr/movements?currency=QQQ", 400, "parameter_invalid", "currency"],
        ["/mrr/movements?country=Germany", 400, "parameter_invalid", "country"],
        ["/mrr/movements?country=DE,", 400, "parameter_invalid", "country"],
        ["/mrr/movements?country=DE&country=FR", 400, "parameter_repeated", "country"],
        ["/mrr/movements?group_by=account", 400, "parameter_invalid", "group_by"],
        ["/revenue?compare=known_then", 400, "parameter_missing", "compare_known_at"],
        ["/revenue?group_by=kind", 400, "parameter_invalid", "group_by"],
        ["/revenue?account=somebody", 400, "parameter_unknown", "account"],
      ],
    );
  });
});

/** Each row of the answer as the table writes it, and added up as a person would. */
function expectBridge(rows: readonly MovementsRow[], table: string): void {
  const expected = rowsOf(table).map((row) => ({ ...row }));
  const cents = (amount: number) => Math.round(amount * 100);
  const shown = rows.map((row) => {
    const moved = [
      row.new_mrr,
      row.expansion_mrr,
      row.contraction_mrr,
      row.churn_mrr,
      row.reactivation_mrr,
      row.switch_mrr,
    ];
    const sum = moved.reduce((total, amount) => total + cents(amount), cents(row.start_mrr));
    expect(sum, "start and movements").to.equal(cents(row.end_mrr));
    const [fresh, expansion, contraction, churn, reactivation] = moved.map(money);
    return {
      from: row.from,
      start: money(row.start_mrr),
      new: fresh,
      more: expansion,
      less: contraction,
      churn,
      back: reactivation,
      end: money(row.end_mrr),
      accounts:
        row.start_accounts === null
          ? ""
          : `${row.start_accounts} +${row.new_accounts} -${row.churned_accounts} ` +
            `+${row.reactivated_accounts} = ${row.end_accounts}`,
    };
  });
  expect(shown).to.deep.equal(expected);
}

/** What distinguishes groups. */
const nameless = {
  provider: undefined,
  product_id: undefined,
  product_name: undefined,
  original_currency: undefined,
  country: undefined,
  plan_interval: undefined,
};

/** As the tables write it. */
function money(amount: number): string {
  const cents = Math.round(amount * 100);
  const size = String(Math.abs(cents)).padStart(3, "0");
  return `${cents < 0 ? "-" : ""}${size.slice(0, -2)}.${size.slice(-2)}`;
}
