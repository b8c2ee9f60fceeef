/** The queries of the api against brute force over the same rows. */
import { expect } from "chai";
import type { AsOf } from "../../api/reading/as-of.js";
import { growthThen, periodStart } from "../../api/reading/calendar.js";
import { presentCohorts } from "../../api/cohorts/presenter.js";
import { vintagesIn } from "../../api/cohorts/vintages.js";
import { presentMrr } from "../../api/mrr/route.js";
import { type CohortRow, cohortsQuery } from "../../api/cohorts/query.js";
import { movementKindsQuery } from "../../api/summary/movement-kinds.js";
import {
  type MovementSeriesRow,
  movementSeriesQuery,
  movementSizesQuery,
} from "../../api/movement-series/query.js";
import type { MovementGroup } from "../../api/movement-series/schema.js";
import { whatChangedQuery } from "../../api/what-changed/query.js";
import { ratesQuery } from "../../api/rates/query.js";
import { mrrPairQuery, readMrr } from "../../api/mrr/query.js";
import type { Query } from "../../api/reading/query.js";
import { type RevenueSumsRow, revenueQuery, revenueSizesQuery } from "../../api/revenue/query.js";
import {
  type ProductSubscriptionsRow,
  type SkuRevenueRow,
  type SkuSubscriptionsRow,
  productSubscriptionsQuery,
  skuRevenueQuery,
  skuSubscriptionsQuery,
} from "../../api/products/query.js";
import { type MemberSize, largestGroups } from "../../api/reading/groups.js";
import { cellOf } from "../../api/reading/metric-filters.js";
import { readSeries } from "../../api/reading/series.js";
import { type Catalogue, catalogueOf } from "../../workspaces/catalogue/view.js";
import type { ClickHouse } from "../../stores/clickhouse/clickhouse.js";
import { utcDay } from "../../schemas/money/rates.js";
import {
  type TestChange,
  type TestEntry,
  type TestMovement,
  insertChanges,
  insertLedger,
  insertMovements,
  newTenant,
  some,
} from "../harness/query-rows.js";
import { openTestClickHouse } from "../harness/stores.js";

const dayMs = 24 * 60 * 60 * 1000;
const day = (text: string) => Date.parse(`${text}Z`);

describe("the queries of the metrics and lists", () => {
  let clickhouse: ClickHouse;
  before(async () => {
    clickhouse = await openTestClickHouse();
  });
  const rowsOf = <Row>({ sql, params }: Query) => clickhouse.rows<Row>(sql, params);
  const asOf = (tenant: Pick<AsOf, "workspace" | "environment">, at: number, knownAt?: number) => ({
    ...tenant,
    at,
    knownAt: knownAt ?? null,
  });

  /** One group, of one member. */
  const groupsOf = (by: MovementGroup, member: string) =>
    largestGroups(by, [{ member, size: "1" }], 9, catalogueOf([], "ws", "live"));

  describe("MRR", () => {
    it("should be the sum of the movements up to a moment and a month before", async () => {
      const tenant = newTenant();
      const movements = scattered(400);
      await insertMovements(clickhouse, tenant, movements);
      await insertMovements(clickhouse, newTenant(), movements);
      await insertMovements(clickhouse, { ...tenant, environment: "test" }, movements);
      // Before all, at 00:00, in the middle of a day, early and late in a month, at its beginning,
      // its middle and its end, at the moment of a movement, after all.
      const moments = [
        day("2024-12-31T00:00"),
        day("2025-03-01T00:00"),
        day("2025-03-01T13:37"),
        day("2025-03-10T08:00"),
        day("2025-03-16T12:00"),
        day("2025-03-16T12:00:00.001"),
        day("2025-03-20T08:00"),
        day("2025-03-31T23:59:59.999"),
        movements[200]?.at ?? 0,
        day("2026-11-20T00:00"),
      ];
      for (const at of moments) {
        const rows = await readMrr(clickhouse, asOf(tenant, at));
        const providers = rows.map(({ provider }) => provider);
        expect(providers).to.deep.equal(providers.toSorted());
        for (const provider of ["stripe", "apple"]) {
          const row = rows.find((each) => each.provider === provider);
          const upTo = (moment: number) =>
            movements.filter((each) => each.provider === provider && each.at <= moment);
          const mrrAt = (moment: number) => sum(upTo(moment).map(({ mrr }) => micros(mrr)));
          expect(micros(row?.mrr ?? "0")).to.equal(mrrAt(at));
          expect(micros(row?.previous ?? "0")).to.equal(mrrAt(growthThen(at)));
          const accounts = sum(upTo(at).map(({ accounts: moved = 0 }) => BigInt(moved)));
          expect(BigInt(row?.accounts ?? 0)).to.equal(accounts);
        }
      }
    });

    const seriesOf = [
      { from: "2025-03-01", interval: "month", at: "2026-02-10T12:00" },
      { from: "2025-03-01", interval: "quarter", at: "2026-02-20T12:00" },
      { from: "2025-01-01", interval: "year", at: "2026-02-28T23:59:59.999" },
      { from: "2025-03-17", interval: "month", at: "2026-02-10T12:00" },
      { from: "2025-12-31", interval: "day", at: "2026-02-01T00:00" },
      { from: "2025-12-01", interval: "week", at: "2026-02-20T12:00" },
    ] as const;
    for (const { from, interval, at } of seriesOf) {
      it(`should add up the movements of each ${interval} from ${from} to ${at}`, async () => {
        const tenant = newTenant();
        const movements = scattered(400).map((movement) => ({
          ...movement,
          country: movement.accounts === 1 ? "DE" : "US",
        }));
        await insertMovements(clickhouse, tenant, movements);
        const now = asOf(tenant, day(at));
        const series = readSeries({ from: day(`${from}T00:00`), interval }, now);
        const startOf = (moment: number): string =>
          utcDay(series.parts.findLast((part) => part.from <= moment)?.start ?? 0);
        for (const group of [undefined, "provider", "country"] as const) {
          const catalogue = catalogueOf([], tenant.workspace, "live");
          const cell = cellOf({}, catalogue);
          const groups =
            group &&
            largestGroups(
              group,
              await rowsOf(movementSizesQuery(now, series, cell, group)),
              1_000,
              catalogue,
            );
          const rows = await rowsOf<MovementSeriesRow>(
            movementSeriesQuery(now, series, cell, groups, 1_000),
          );
          const keyOf = (start: string, kind: string, of: { [name: string]: unknown }): string =>
            `${start} ${kind} ${group === undefined ? "" : String(of[group])}`;
          const expected = new Map<string, bigint>();
          for (const movement of movements.filter((each) => each.at <= now.at)) {
            const key = keyOf(startOf(movement.at), movement.kind, movement);
            expected.set(key, (expected.get(key) ?? 0n) + micros(movement.mrr));
          }
          const found = rows.map(
            (row) =>
              [
                keyOf(row.start, row.kind, { ...groups?.shown.get(row.place ?? "") }),
                row.mrr,
              ] as const,
          );
          expect(new Map(found.map(([key, mrr]) => [key, micros(mrr)]))).to.deep.equal(expected);
        }
      });
    }

    it("should tell the size of a group by its balances at the end of each interval", async () => {
      const tenant = newTenant();
      const movement = (account: string, at: string, mrr: string, kind = "new") => ({
        account,
        at: day(`${at}T12:00`),
        recorded_at: day(`${at}T12:00`),
        vintage: "2025-01-01",
        kind,
        mrr,
        external_id: account,
      });
      await insertMovements(clickhouse, tenant, [
        movement("before", "2025-01-20", "3"),
        movement("first", "2025-02-20", "5"),
        movement("first", "2025-04-20", "-5", "churn"),
        movement("last", "2025-04-30", "7"),
        movement("after", "2025-05-02", "100"),
      ]);
      const cell = cellOf({}, catalogueOf([], tenant.workspace, "live"));
      for (const [interval, from, before, first, last] of [
        ["month", "2025-02-01", 9, 10, 7],
        ["month", "2025-02-10", 9, 10, 7],
        ["week", "2025-02-12", 36, 40, 7],
        ["quarter", "2025-02-01", 6, 5, 7],
        ["year", "2025-02-01", 3, 0, 7],
      ] as const) {
        const now = asOf(tenant, day("2025-04-30T23:59"));
        const series = readSeries({ from: day(`${from}T00:00`), interval }, now);
        const rows = await rowsOf<MemberSize>(movementSizesQuery(now, series, cell, "product"));
        expect(rows.map(({ member, size }) => [member, Number(size)])).to.deep.equal([
          ["stripe:before", before],
          ["stripe:first", first],
          ["stripe:last", last],
        ]);
      }
    });

    it("should read whole days and months from the aggregate projections", async () => {
      const tenant = newTenant();
      await insertMovements(clickhouse, tenant, scattered(5_000, 80));
      // In parts smaller than a granule every way to read costs the engine the same.
      await clickhouse.write("OPTIMIZE TABLE mrr_movements FINAL");
      const at = day("2025-03-10T12:00");
      const series = (interval: "day" | "quarter") => readSeries({ interval }, asOf(tenant, at));
      const cell = (query: object) => cellOf(query, catalogueOf([], tenant.workspace, "live"));
      const used: readonly [Query, string][] = [
        [mrrPairQuery(asOf(tenant, at), day("2025-02-10T12:00")), "by_month_and_sku"],
        [mrrPairQuery(asOf(tenant, day("2025-02-20T12:00")), 0), "by_month_and_sku"],
        [cohortsQuery(asOf(tenant, at)), "by_vintage"],
        [mrrPairQuery(asOf(tenant, at, at), 0), "by_month_and_sku"],
        [skuSubscriptionsQuery(asOf(tenant, at), cell({})), "by_month_and_sku"],
        [skuSubscriptionsQuery(asOf(tenant, at), cell({ country: some("DE") })), "by_month"],
        [
          movementKindsQuery(asOf(tenant, at), 0, cell({ provider: ["apple"] })),
          "by_month_and_sku",
        ],
        [movementKindsQuery(asOf(tenant, at), 0, cell({ country: some("US") })), "by_month"],
        [cohortsQuery(asOf(tenant, at, at)), "by_vintage"],
        [cohortsQuery(asOf(tenant, at), cell({ vintage: some("2025-Q1") })), "by_vintage"],
        [movementKindsQuery(asOf(tenant, at), 0, cell({ vintage: some("2025") })), "by_vintage"],
        [
          movementSeriesQuery(
            asOf(tenant, at),
            series("quarter"),
            cell({ vintage: some("2025-01") }),
            undefined,
            9,
          ),
          "by_vintage",
        ],
        [movementSeriesQuery(asOf(tenant, at), series("day"), cell({}), undefined, 9), "by_day"],
        ...(["day", "quarter"] as const).flatMap((interval): [Query, string][] => [
          [
            movementSizesQuery(asOf(tenant, at), series(interval), cell({}), "product"),
            "by_month_and_sku",
          ],
          [
            movementSeriesQuery(
              asOf(tenant, at),
              series(interval),
              cell({}),
              groupsOf("product", "stripe:prod_a"),
              9,
            ),
            "by_month_and_sku",
          ],
        ]),
        [
          movementSeriesQuery(
            asOf(tenant, at, at),
            series("quarter"),
            cell({ country: some("US") }),
            groupsOf("currency", "USD"),
            9,
          ),
          "by_month",
        ],
      ];
      for (const [{ sql, params }, projection] of used) {
        const text = await planOf(clickhouse, { sql, params });
        expect(text).to.include(`ReadFromMergeTree (${projection})`);
        expect(text).to.include("(by_moment)");
      }
      // These tell accounts apart, which no sum does.
      const months = readSeries({ interval: "month" }, asOf(tenant, at));
      const span = { from: at - dayMs, to: at };
      const single = [
        whatChangedQuery({ ...asOf(tenant, at), knownAt: at }, span, "account", cell({}), 9),
        ratesQuery(months, cell({})),
      ];
      for (const query of single) {
        expect(await planOf(clickhouse, query)).to.include("(by_moment)");
      }
    });

    it("should show sums rounded once, growth of unrounded ones, and only active providers", () => {
      const shown = presentMrr(
        [
          { provider: "apple", mrr: "0", accounts: "0", previous: "0.1" },
          { provider: "google", mrr: "0.335", accounts: "1", previous: "0.2" },
          { provider: "stripe", mrr: "0.665", accounts: "2", previous: "0" },
        ],
        "USD",
      );
      expect(shown).to.deep.equal({
        current_mrr: 1,
        currency: "USD",
        growth_mom_pct: 233.33,
        previous_mrr: 0.3,
        active_subscribers: 3,
        breakdown_by_provider: { google: 0.34, stripe: 0.67 },
      });
      const none = presentMrr(
        [{ provider: "stripe", mrr: "5", accounts: "1", previous: "0" }],
        "JPY",
      );
      expect([none.growth_mom_pct, none.previous_mrr]).to.deep.equal([0, 0]);
    });

    it("should be what was known then, whatever was learned since", async () => {
      const tenant = newTenant();
      const monday = day("2025-06-02T10:00");
      const tuesday = monday + dayMs;
      const friday = monday + 4 * dayMs;
      const change = (
        account: string,
        change_id: string,
        at: number,
        recorded_at: number,
        mrr: string,
      ): TestChange => ({
        account,
        change_id,
        at,
        recorded_at,
        mrr,
        phase: change_id === "start" ? "started" : mrr === "0" ? "ended" : "changed",
      });
      // a: it is reported on Friday that it went from 10 to 30 on Tuesday already. b: never
      // touched. c: reported on Friday to have begun on Monday. d: reported on Friday, of Friday.
      await insertChanges(clickhouse, tenant, [
        change("a", "start", monday, monday, "10"),
        change("a", "raise", tuesday, friday, "30"),
        change("b", "start", monday, monday, "5"),
        change("c", "start", monday, friday, "7"),
        change("d", "start", friday, friday, "100"),
      ]);
      const moved = (
        account: string,
        at: number,
        recorded_at: number,
        kind: string,
        mrr: string,
        accounts: number,
      ): TestMovement => ({
        account,
        at,
        recorded_at,
        kind,
        mrr,
        accounts,
        vintage: "2025-06-01",
      });
      await insertMovements(clickhouse, tenant, [
        moved("a", monday, monday, "new", "10", 1),
        moved("a", tuesday, friday, "expansion", "20", 0),
        moved("b", monday, monday, "new", "5", 1),
        moved("c", monday, friday, "new", "7", 1),
        moved("d", friday, friday, "new", "100", 1),
      ]);
      const read = async (at: number, knownAt?: number) => {
        const rows = await readMrr(clickhouse, asOf(tenant, at, knownAt));
        const { current_mrr, active_subscribers } = presentMrr(rows, "USD");
        return [current_mrr, active_subscribers];
      };
      expect(await read(friday)).to.deep.equal([142, 4]);
      expect(await read(tuesday)).to.deep.equal([42, 3]);
      expect(await read(friday, friday - 1)).to.deep.equal([15, 2]);
      expect(await read(tuesday, friday - 1)).to.deep.equal([15, 2]);
      expect(await read(tuesday, friday)).to.deep.equal([42, 3]);
      expect(await read(friday, monday - 1)).to.deep.equal([0, 0]);
    });

    it("should count a half-seen booking not at all under known_at", async () => {
      const tenant = newTenant();
      const at = day("2025-06-02T10:00");
      // The movements of a booking are visible, its changes are not yet.
      await insertMovements(clickhouse, tenant, [
        { account: "a", at, recorded_at: at + 5, kind: "new", vintage: "2025-06-01", mrr: "10" },
      ]);
      const rows = await readMrr(clickhouse, asOf(tenant, at + dayMs, at));
      expect(presentMrr(rows, "USD").current_mrr).to.equal(0);
    });
  });

  describe("cohorts", () => {
    it("should follow each vintage to the month of `at`, as brute force does", async () => {
      const tenant = newTenant();
      const movements = scattered(500);
      await insertMovements(clickhouse, tenant, movements);
      for (const at of [
        day("2025-08-31T23:59:59.999"),
        day("2025-09-01T00:00"),
        day("2026-01-15T12:00"),
      ]) {
        const rows = await rowsOf<CohortRow>(cohortsQuery(asOf(tenant, at)));
        expect(cohortsOf(rows, at, "USD")).to.deep.equal(cohortsByHand(movements, at));
      }
    });

    it("should begin with 100 and end with the last value", () => {
      const rows = [
        { vintage: "2025-11-01", month: "2025-11-01", started: "30", change: "45" },
        { vintage: "2025-11-01", month: "2026-01-01", started: "0", change: "-5.01" },
      ];
      expect(cohortsOf(rows, day("2026-02-01T00:00"), "EUR")).to.deep.equal([
        {
          vintage: "2025-11",
          starting_mrr: 30,
          nrr_percentage: 133.3,
          retention_curve: [100, 150, 133.3, 133.3],
        },
      ]);
    });

    it("should not show a vintage whose accounts turned out to have begun elsewhere", () => {
      const rows = [{ vintage: "2025-11-01", month: "2025-11-01", started: "0", change: "0" }];
      expect(cohortsOf(rows, day("2026-02-01T00:00"), "EUR")).to.deep.equal([]);
    });

    it("should be what was known then", async () => {
      const tenant = newTenant();
      const at = day("2025-06-02T10:00");
      const change = { account: "a", at, phase: "started", mrr: "10" } as const;
      await insertChanges(clickhouse, tenant, [
        { ...change, change_id: "late", at: day("2025-04-02T10:00"), recorded_at: at + dayMs },
        { ...change, change_id: "start", recorded_at: at },
      ]);
      const movement = { account: "a", kind: "new", mrr: "10", accounts: 1 };
      await insertMovements(clickhouse, tenant, [
        { ...movement, at, recorded_at: at, vintage: "2025-06-01" },
        {
          ...movement,
          at,
          recorded_at: at + dayMs,
          vintage: "2025-06-01",
          mrr: "-10",
          accounts: -1,
        },
        {
          ...movement,
          at: day("2025-04-02T10:00"),
          recorded_at: at + dayMs,
          vintage: "2025-04-01",
        },
      ]);
      const vintages = async (knownAt?: number) => {
        const rows = await rowsOf<CohortRow>(cohortsQuery(asOf(tenant, at + 2 * dayMs, knownAt)));
        return cohortsOf(rows, at, "USD").map(({ vintage }) => vintage);
      };
      expect(await vintages()).to.deep.equal(["2025-04"]);
      expect(await vintages(at)).to.deep.equal(["2025-06"]);
    });
  });

  describe("revenue over time", () => {
    it("should read days, or months where no day is told apart, from projections", async () => {
      const tenant = newTenant();
      await insertLedger(clickhouse, tenant, scatteredEntries(5_000));
      await clickhouse.write("OPTIMIZE TABLE ledger FINAL");
      const catalogue = catalogueOf([], tenant.workspace, "live");
      const read = [
        { cell: { country: some("US") }, groups: ["none", "product", "country"], of: "by_day" },
        { cell: { provider: ["stripe"] }, groups: ["none", "product"], of: "by_month_and_sku" },
      ] as const;
      for (const { cell, groups, of } of read) {
        for (const at of [day("2026-02-10T12:00"), day("2026-02-20T12:00")]) {
          const series = readSeries({ interval: "quarter" }, asOf(tenant, at));
          for (const name of groups) {
            const group = name === "none" ? undefined : name;
            const rows = cellOf(cell, catalogue);
            const shown = group && groupsOf(group, "stripe:prod_a");
            const queries = [
              revenueQuery(series, rows, shown, 100),
              ...(group === undefined ? [] : [revenueSizesQuery(series, rows, group)]),
            ];
            for (const query of queries) {
              const text = await planOf(clickhouse, query);
              expect(text).to.include(`ReadFromMergeTree (${of})`);
              expect(text).to.include("(by_time)");
            }
          }
        }
      }
    });

    for (const group of [undefined, "provider", "product", "currency"] as const) {
      it(`should be the sums of months by ${group ?? "nothing"}, as known then`, async () => {
        const tenant = newTenant();
        const entries = scatteredEntries(600);
        await insertLedger(clickhouse, tenant, entries);
        const catalogue = catalogueOf([], tenant.workspace, "live");
        const cell = cellOf({}, catalogue);
        const from = day("2025-02-01T00:00");
        // Early and late in a month, at its beginning and its end.
        for (const moment of ["2025-09-05T12:00", "2025-09-25T12:00", "2025-09-01", "2025-10-01"]) {
          for (const knownAt of [undefined, day("2025-09-03T00:00")]) {
            for (const interval of ["month", "quarter", "year"] as const) {
              const at = moment.length > 10 ? day(moment) : day(`${moment}T00:00`) - 1;
              const series = readSeries({ from, interval }, asOf(tenant, at, knownAt));
              // The largest by itself, and all others together; or each by itself.
              const groups =
                group &&
                largestGroups(
                  group,
                  await rowsOf(revenueSizesQuery(series, cell, group)),
                  interval === "year" ? 1 : 500,
                  catalogue,
                );
              const rows = await rowsOf<RevenueSumsRow>(revenueQuery(series, cell, groups, 500));
              const fieldsOf = (place = "") => groups?.shown.get(place) ?? {};
              const found = rows.map((row) => [
                cellName(row.start, fieldsOf(row.place)),
                row.gross,
                row.refunds,
                row.sales,
              ]);
              const shown = new Set([...(groups?.shown.values() ?? [])].map(groupName));
              const sums = new Map<string, [gross: number, refunds: number, sales: number]>();
              for (const entry of entries) {
                const { happened_at: happened, recorded_at: recorded, kind, amount } = entry;
                if (happened < from || happened > at || recorded > (knownAt ?? recorded)) continue;
                const part = series.parts.findLast((each) => each.from <= happened);
                const fields = fieldsIn(entry, group, catalogue);
                const isShown = shown.has(groupName(fields));
                const name = cellName(utcDay(part?.start ?? 0), isShown ? fields : {});
                const [gross, refunds, sales] = sums.get(name) ?? [0, 0, 0];
                const [sold, returned] = kind === "sale" ? [amount, 0] : [0, amount];
                sums.set(name, [gross + sold, refunds + returned, sales + entry.sales]);
              }
              const expected = [...sums].map(([name, all]) => [name, ...all.map(String)]);
              expect(found).to.have.deep.members(expected);
            }
          }
        }
      });
    }

    const fieldsIn = (
      entry: TestEntry,
      group: "provider" | "product" | "currency" | undefined,
      catalogue: Catalogue,
    ) => {
      const { provider = "", external_id: externalId = "" } = entry;
      if (group === "provider") return { provider };
      if (group === "product")
        return { product_id: catalogue.productOf({ provider, externalId }).id };
      return group === undefined ? {} : { original_currency: "USD" };
    };
    interface NamedFields {
      readonly provider?: string | undefined;
      readonly product_id?: string | undefined;
      readonly original_currency?: string | undefined;
    }
    const groupName = (fields: NamedFields) =>
      fields.provider ?? fields.product_id ?? fields.original_currency ?? "";
    const cellName = (start: string, fields: NamedFields) => `${start} ${groupName(fields)}`;

    it("should be right where sums are beyond 64 bits", async () => {
      const tenant = newTenant();
      const days = ["2026-01-05", "2026-01-06", "2026-02-10"];
      // Four in place of ten thousand of the largest amounts: one day is too much by itself.
      const amount = 3_000_000_000_000_000_000;
      const entries = days.flatMap((text) =>
        ["a", "b", "c", "d"].map((name) => ({
          payment: `stripe:${text}:${name}`,
          kind: "sale" as const,
          happened_at: day(`${text}T08:00`),
          recorded_at: day(`${text}T08:00`),
          amount,
          tax: amount,
          fee: amount,
          sales: 1,
        })),
      );
      await insertLedger(clickhouse, tenant, entries);
      const now = asOf(tenant, day("2026-02-10T12:00"));
      const total = "36000000000000000000";
      const series = readSeries({ interval: "year" }, now);
      const all = cellOf({}, catalogueOf([], tenant.workspace, "live"));
      const [year] = await rowsOf<RevenueSumsRow>(revenueQuery(series, all, undefined, 100));
      expect([year?.gross, year?.tax, year?.fees]).to.deep.equal([total, total, total]);
      for (const from of [null, day("2026-01-01T00:00")]) {
        const [sku] = await rowsOf<SkuRevenueRow>(skuRevenueQuery(now, from, all));
        expect(sku?.amount).to.equal(total);
      }
    });
  });

  describe("revenue by SKU", () => {
    const entries = scatteredEntries(600).map((entry, index) => ({
      ...entry,
      country: index % 5 === 0 ? "DE" : "US",
    }));
    const tenant = newTenant();
    before(() => insertLedger(clickhouse, tenant, entries));
    const catalogue = catalogueOf([], tenant.workspace, "live");
    const cells = [
      { cell: cellOf({}, catalogue), isIn: () => true },
      {
        cell: cellOf({ country: some("DE") }, catalogue),
        isIn: ({ country }: (typeof entries)[number]) => country === "DE",
      },
      {
        cell: cellOf({ provider: ["gumroad"] }, catalogue),
        isIn: ({ provider }: (typeof entries)[number]) => provider === "gumroad",
      },
    ];

    for (const period of ["today", "7d", "30d", "3m", "12m", "lifetime"] as const) {
      it(`should be the sum of the ledger over ${period}, as known then`, async () => {
        const known = [null, day("2026-02-20T00:00"), day("2025-01-01T00:00")];
        const moments = [day("2026-02-28T17:45"), day("2026-02-03T08:00")];
        for (const [at, knownAt] of moments.flatMap((moment) =>
          known.map((each) => [moment, each] as const),
        )) {
          const from = periodStart(period, at);
          for (const { cell, isIn } of cells) {
            const rows = await rowsOf<SkuRevenueRow>(
              skuRevenueQuery({ ...tenant, at, knownAt }, from, cell),
            );
            const counted = entries.filter(
              (entry) =>
                isIn(entry) &&
                entry.happened_at <= at &&
                entry.happened_at >= (from ?? 0) &&
                entry.recorded_at <= (knownAt ?? Number.MAX_SAFE_INTEGER),
            );
            expect(nonZero(rows)).to.deep.equal(bySku(counted));
          }
        }
      });
    }
  });

  describe("subscriptions by SKU", () => {
    it("should count each subscription of a product once, and only active ones", async () => {
      const tenant = newTenant();
      const catalogue = catalogueOf([], tenant.workspace, "live");
      const everything = cellOf({}, catalogue);
      const at = day("2025-06-02T10:00");
      const movement = (
        subscription: string,
        external_id: string,
        mrr: string,
        subscriptions: number,
      ): TestMovement => ({
        account: "a",
        subscription,
        external_id,
        mrr,
        subscriptions,
        at,
        recorded_at: at,
        kind: "new",
        vintage: "2025-06-01",
      });
      await insertMovements(clickhouse, tenant, [
        movement("s1", "base", "10", 1),
        movement("s1", "seats", "5", 1),
        movement("s2", "base", "10", 1),
        movement("s3", "seats", "5", 1),
        movement("s3", "seats", "-5", -1),
        movement("s4", "other", "1", 1),
      ]);
      const bySkus = await rowsOf<SkuSubscriptionsRow>(
        skuSubscriptionsQuery(asOf(tenant, at), everything),
      );
      expect(
        bySkus.map((row) => [row.external_id, micros(row.mrr), Number(row.subscriptions)]),
      ).to.deep.equal([
        ["base", 20_000_000n, 2],
        ["other", 1_000_000n, 1],
        ["seats", 5_000_000n, 1],
      ]);
      const skus = [
        { provider: "stripe", externalId: "base", product: "one" },
        { provider: "stripe", externalId: "seats", product: "one" },
        { provider: "stripe", externalId: "other", product: "two" },
      ];
      const byProduct = await rowsOf<ProductSubscriptionsRow>(
        productSubscriptionsQuery(asOf(tenant, at), skus, everything),
      );
      expect(byProduct.map((row) => [row.product, Number(row.subscriptions)])).to.have.deep.members(
        [
          ["one", 2],
          ["two", 1],
        ],
      );
      const before = await rowsOf<ProductSubscriptionsRow>(
        productSubscriptionsQuery(asOf(tenant, at, at - 1), skus, everything),
      );
      expect(before).to.deep.equal([]);
      const elsewhere = await rowsOf<ProductSubscriptionsRow>(
        productSubscriptionsQuery(
          asOf(tenant, at),
          skus,
          cellOf({ provider: ["apple"] }, catalogue),
        ),
      );
      expect(elsewhere).to.deep.equal([]);
    });
  });
});

/** Movements over so many days, two providers, spread without a pattern but the same each run. */
function scattered(count: number, days = 600): (TestMovement & { provider: string })[] {
  const first = day("2025-01-01T00:00");
  return Array.from({ length: count }, (_, index) => {
    const at = first + ((index * 7_919 * 3_600_123) % (days * dayMs));
    const vintage = Math.max(first, at - (index % 5) * 31 * dayMs);
    return {
      account: `acc_${index}`,
      at,
      recorded_at: at + 1_000,
      provider: index % 3 === 0 ? "apple" : "stripe",
      kind: index % 5 === 0 ? "new" : index % 2 === 0 ? "expansion" : "contraction",
      vintage: `${new Date(vintage).toISOString().slice(0, 7)}-01`,
      mrr: index % 5 !== 0 && index % 2 === 1 ? `-${index}.333333` : `${index + 1}.123457`,
      accounts: index % 5 === 0 ? 1 : 0,
    };
  });
}

function cohortsByHand(movements: readonly TestMovement[], at: number) {
  const counted = movements.filter((movement) => movement.at <= at);
  const vintages = [...new Set(counted.map(({ vintage }) => vintage.slice(0, 7)))].sort();
  return vintages.flatMap((vintage) => {
    const mine = counted.filter((movement) => movement.vintage.startsWith(vintage));
    const starting = sum(mine.filter(({ kind }) => kind === "new").map(({ mrr }) => micros(mrr)));
    if (starting === 0n) return [];
    const curve: number[] = [];
    for (let month = vintage; Date.parse(month) <= at; month = monthAfter(month)) {
      const end = Math.min(at + 1, Date.parse(monthAfter(month)));
      const mrr = sum(mine.filter((each) => each.at < end).map((each) => micros(each.mrr)));
      curve.push(curve.length === 0 ? 100 : rounded((Number(mrr) / Number(starting)) * 100, 1));
    }
    return [
      {
        vintage,
        starting_mrr: rounded(Number(starting) / 1e6, 2),
        nrr_percentage: curve.at(-1) ?? 100,
        retention_curve: curve,
      },
    ];
  });
}

/** @param month `YYYY-MM` */
function monthAfter(month: string): string {
  const date = new Date(month);
  date.setUTCMonth(date.getUTCMonth() + 1);
  return date.toISOString().slice(0, 7);
}

/** Half away from zero; doubles will do for a hand's figures that lie on no boundary. */
function rounded(value: number, places: number): number {
  const scale = 10 ** places;
  return (Math.sign(value) * Math.round(Math.abs(value) * scale)) / scale;
}

function scatteredEntries(
  count: number,
): (TestEntry & { provider: string; external_id: string })[] {
  const first = day("2025-01-01T00:00");
  return Array.from({ length: count }, (_, index) => {
    const happened_at = first + ((index * 7_919 * 3_600_123) % (430 * dayMs));
    const isRefund = index % 4 === 3;
    return {
      payment: `stripe:pay_${index}`,
      kind: isRefund ? "refund" : "sale",
      happened_at,
      recorded_at: happened_at + (index % 3) * 10 * dayMs,
      provider: index % 2 === 0 ? "stripe" : "gumroad",
      external_id: ["a", "b", "it's \\ odd", ""][index % 4] ?? "",
      amount: isRefund ? -index : index * 3,
      sales: isRefund ? 0 : 1,
    };
  });
}

function bySku(entries: readonly ReturnType<typeof scatteredEntries>[number][]) {
  const sums: Record<string, [revenue: number, sales: number]> = {};
  for (const entry of entries) {
    const key = `${entry.provider}:${entry.external_id}`;
    const [revenue, sales] = sums[key] ?? [0, 0];
    sums[key] = [revenue + entry.amount, sales + entry.sales];
  }
  return Object.fromEntries(
    Object.entries(sums).filter(([, [one, two]]) => one !== 0 || two !== 0),
  );
}

function nonZero(rows: readonly SkuRevenueRow[]) {
  const sums = rows.map((row): [string, [number, number]] => [
    `${row.provider}:${row.external_id}`,
    [Number(row.amount), Number(row.sales)],
  ]);
  return Object.fromEntries(sums.filter(([, [one, two]]) => one !== 0 || two !== 0));
}

/**
 * Of what one engine, or one shard, does. Not `pretty`, which writes every expression out in every
 * other it stands in: 40 MB and five seconds for the movements as they were known.
 */
async function planOf({ nodes }: ClickHouse, { sql, params }: Query): Promise<string> {
  const plan = await nodes[0]?.rows<{ explain: string }>(`EXPLAIN pretty = 0 ${sql}`, params);
  return (plan ?? []).map(({ explain }) => explain).join("\n");
}

/** Millionths, by hand. */
function micros(text: string): bigint {
  const [whole = "0", part = ""] = text.replace("-", "").split(".");
  const value = BigInt(whole) * 1_000_000n + BigInt(part.padEnd(6, "0"));
  return text.startsWith("-") ? -value : value;
}

function sum(values: readonly bigint[]): bigint {
  return values.reduce((total, value) => total + value, 0n);
}

function cohortsOf(rows: readonly CohortRow[], at: number, currency: string) {
  const vintages = vintagesIn({}, "month");
  return presentCohorts({ rows, gross: null, vintages }, { at, currency });
}
