/** MRR by our definition beside those of other tools: what differs, of whom, by which rule. */
import { expect } from "chai";
import * as fc from "fast-check";
import { type MrrCompareAnswer, mrrCompareAnswer } from "../../api/mrr-compare/schema.js";
import { definedCohorts } from "../../api/cohorts/defined.js";
import { accountCohortsAnswer, cohortsAnswer } from "../../api/cohorts/schema.js";
import { definedMovements, definedMrr } from "../../api/mrr-compare/defined.js";
import { beforeAll } from "../../api/movement-series/query.js";
import { movementsAnswer } from "../../api/movement-series/schema.js";
import { showMrr } from "../../api/reading/amounts.js";
import { readSeries } from "../../api/reading/series.js";
import { mrrAnswer } from "../../api/mrr/schema.js";
import { limits } from "../../config.js";
import { insertChanges } from "../../processors/book/subscriptions/changes.js";
import { recordMovements } from "../../processors/book/subscriptions/movements.js";
import { definitionNames } from "../../schemas/definitions/index.js";
import { bookedNow } from "../../schemas/booked-at.js";
import { fraction, monthlyToMrr, mrrOf } from "../../schemas/money/monthly.js";
import type { Change } from "../../schemas/subscriptions/change.js";
import { clickhouseTime } from "../../stores/clickhouse/rows.js";
import { literal } from "../../stores/clickhouse/sql-text.js";
import { type Endpoints, expectError, itRefuses, openEndpoints } from "../harness/endpoints.js";
import { insertLedger, insertTransactions } from "../harness/query-rows.js";

const path = "/v1/metrics/mrr/compare";
const moved = "/v1/metrics/mrr/movements?definition=stripe";
const retainedPath = "/v1/metrics/cohorts?definition=stripe";
const at = "2026-06-15T12:00:00Z";

describe("GET /v1/metrics/mrr/compare", () => {
  let endpoints: Endpoints;
  beforeEach(async () => {
    endpoints = await openEndpoints();
  });

  async function ask(query: Readonly<Record<string, string>>): Promise<MrrCompareAnswer> {
    const answer = await endpoints.get(
      `${path}?${new URLSearchParams({ at, ...query }).toString()}`,
    );
    expect(answer.status, answer.text).to.equal(200);
    return mrrCompareAnswer.parse(answer.json);
  }

  async function all(query: Readonly<Record<string, string>>) {
    const first = await ask(query);
    const rows = [...first.data];
    for (let cursor = first.pagination.next_cursor; cursor !== null;) {
      const page: MrrCompareAnswer = await ask({ ...query, cursor });
      rows.push(...page.data);
      expect(page.comparison).to.deep.equal(first.comparison);
      cursor = page.pagination.next_cursor;
    }
    return { ...first, data: rows };
  }

  async function book(changes: readonly Change[]): Promise<void> {
    const { clickhouse } = endpoints.service;
    await insertChanges(clickhouse, changes);
    await recordMovements(clickhouse, changes, clickhouse.isShared);
  }

  interface Told {
    readonly account: string;
    readonly day: string;
    readonly provider?: string;
    readonly phase?: Change["phase"];
    /** In minor units; none: it counts nothing. */
    readonly monthly?: bigint;
    readonly interval?: string;
    readonly currency?: string;
    /** From this day on twice as much: a discount ends. */
    readonly discountEnds?: string;
  }

  let events = 0;
  function changeOf(told: Told): Change {
    const { account, day, monthly, currency = "EUR", interval = "month", discountEnds } = told;
    const time = `${day} 00:00:00.000`;
    const { rates } = endpoints.service;
    const rate = rates.quote(currency, "EUR", Date.parse(`${day}T00:00:00Z`))?.rate ?? "1";
    const itemsOf = (amount: bigint) => [
      {
        item: "item",
        external_id: "plan",
        price: `${currency}:${amount}/1:${interval}`,
        mrr: monthlyToMrr(fraction(amount), rate, currency),
      },
    ];
    const steps = [{ at: time, items: monthly === undefined ? [] : itemsOf(monthly) }];
    if (monthly !== undefined && discountEnds !== undefined) {
      steps.push({ at: `${discountEnds} 00:00:00.000`, items: itemsOf(2n * monthly) });
    }
    events += 1;
    const event = `evt ${String(events).padStart(5, "0")}`;
    return {
      ...endpoints.tenant,
      account,
      provider: told.provider ?? "stripe",
      subscription: `sub ${account}`,
      change_id: `${event}:0`,
      revision: 1,
      void: 0,
      at: time,
      phase: told.phase ?? "changed",
      event_id: event,
      recorded_at: time,
      currency,
      country: "",
      steps,
    };
  }

  const months = { from: "2025-11-01", interval: "month", at };
  async function movementsOf(query: Readonly<Record<string, string>>) {
    const asked = new URLSearchParams({ ...months, ...query }).toString();
    const answer = await endpoints.get(`/v1/metrics/mrr/movements?${asked}`);
    expect(answer.status, answer.text).to.equal(200);
    return movementsAnswer.parse(answer.json).data;
  }

  async function retained(query: Readonly<Record<string, string>>) {
    const asked = new URLSearchParams({ at, ...query }).toString();
    const answer = await endpoints.get(`/v1/metrics/cohorts?${asked}`);
    expect(answer.status, answer.text).to.equal(200);
    return answer.json;
  }

  const mrrNow = async (): Promise<number> => {
    const answer = await endpoints.get(`/v1/metrics/mrr?at=${at}`);
    return mrrAnswer.parse(answer.json).data.current_mrr;
  };

  const story: readonly Told[] = [
    { account: "same", day: "2026-01-10", monthly: 1_000n },
    { account: "weekly", day: "2026-01-10", monthly: 5_200n, interval: "week" },
    { account: "discounted", day: "2026-01-10", monthly: 2_000n, discountEnds: "2026-09-01" },
    { account: "pauses", day: "2026-01-10", monthly: 3_000n },
    { account: "pauses", day: "2026-05-10" },
    { account: "apple", day: "2026-01-10", monthly: 4_000n, provider: "apple" },
    { account: "apple", day: "2026-05-10", provider: "apple" },
    { account: "passes", day: "2026-06-02", monthly: 700n },
    { account: "passes", day: "2026-06-20", phase: "ended" },
    { account: "refunded", day: "2026-01-10", monthly: 900n },
  ];

  async function bookStory(): Promise<void> {
    await book(story.map(changeOf));
    const { clickhouse } = endpoints.service;
    const sale = { payment: "stripe:ch", sales: 1, amount: 900, external_id: "plan" } as const;
    const [paid, back] = [Date.parse("2026-06-10"), Date.parse("2026-06-12")];
    await insertTransactions(clickhouse, endpoints.tenant, [
      {
        id: "tx",
        payment: "ch",
        account: "refunded",
        type: "subscription",
        external_id: "plan",
        timestamp: paid,
        recorded_at: paid,
        version: 1,
      },
    ]);
    await insertLedger(clickhouse, endpoints.tenant, [
      { ...sale, kind: "sale", happened_at: paid, recorded_at: paid },
      { ...sale, kind: "refund", amount: -900, sales: 0, happened_at: back, recorded_at: back },
    ]);
  }

  it("should name the accounts that make the difference, with the rule for each", async () => {
    await bookStory();
    const shown = async (definition: string) => {
      const { data, comparison } = await ask({ definition });
      return {
        ours: comparison.ours,
        theirs: comparison.theirs,
        rows: data.map(({ account, difference, rules }) =>
          [account, difference, ...rules.map(({ rule }) => rule)].join(" "),
        ),
      };
    };
    const ours = 10 + 52 + 20 + 7 + 9;
    expect(await mrrNow()).to.equal(ours);
    expect(await shown("ours")).to.deep.equal({ ours, theirs: ours, rows: [] });
    expect(await shown("stripe")).to.deep.equal({
      ours,
      theirs: ours + 20,
      rows: ["discounted 20 finite_discounts"],
    });
    expect(await shown("chartmogul")).to.deep.equal({
      ours,
      theirs: ours + 30,
      rows: ["pauses 30 paused_counts"],
    });
    expect(await shown("profitwell")).to.deep.equal({
      ours,
      theirs: ours - 7,
      rows: ["passes -7 first_month_leavers"],
    });
    expect(await shown("revenuecat")).to.deep.equal({
      ours,
      theirs: ours - 9 - 4,
      rows: ["refunded -9 refund_ends", "weekly -4 months_of_four_weeks"],
    });
  });

  it("should say how MRR moved by another definition", async () => {
    await bookStory();
    const ends = async (definition: string) =>
      (await movementsOf({ definition })).movements
        .slice(-2)
        .map((row) => [row.new_mrr, row.churn_mrr, row.reactivation_mrr, row.end_accounts]);
    // Ours: two pause in May, and one comes in June who leaves within the month.
    expect(await ends("ours")).to.deep.equal([
      [0, -70, 0, 4],
      [7, 0, 0, 5],
    ]);
    expect(await ends("chartmogul")).to.deep.equal([
      [0, -40, 0, 5],
      [7, 0, 0, 6],
    ]);
    expect(await ends("profitwell")).to.deep.equal([
      [0, -70, 0, 4],
      [0, 0, 0, 4],
    ]);
    const { movements, compare } = await movementsOf({
      definition: "chartmogul",
      provider: "apple",
      compare: "previous_year",
    });
    expect(movements.map((row) => row.end_mrr)).to.deep.equal([0, 0, 40, 40, 40, 40, 0, 0]);
    expect(compare?.end_mrr).to.equal(0);
  });

  it("should say what is retained by another definition", async () => {
    await bookStory();
    const curves = async (query: Readonly<Record<string, string>>) => {
      const { cohorts, definition } = cohortsAnswer.parse(await retained(query)).data;
      expect(definition).to.equal(query.definition === "ours" ? undefined : query.definition);
      return cohorts.map(({ vintage, starting_mrr: start, retention_curve: curve, ...gross }) =>
        [
          vintage,
          start,
          ...curve.slice(-2),
          ...(gross.gross_retention_curve?.slice(-2) ?? []),
        ].join(" "),
      );
    };
    // In May two pause; in June one is refunded, and another comes who leaves within the month.
    const june = "2026-06 7 100";
    expect(await curves({ definition: "ours" })).to.deep.equal(["2026-01 161 56.5 56.5", june]);
    const paused = "2026-01 161 75.2 75.2";
    expect(await curves({ definition: "chartmogul" })).to.deep.equal([paused, june]);
    expect(await curves({ definition: "stripe" })).to.deep.equal(["2026-01 181 61.3 61.3", june]);
    expect(await curves({ definition: "profitwell" })).to.deep.equal(["2026-01 161 56.5 56.5"]);
    const refunded = "2026-01 157 55.4 49.7";
    expect(await curves({ definition: "revenuecat" })).to.deep.equal([refunded, june]);

    const stripe = { definition: "chartmogul", provider: "stripe" };
    expect(await curves(stripe)).to.deep.equal(["2026-01 121 100 100", june]);
    const gross = await curves({ ...stripe, gross: "true" });
    expect(gross).to.deep.equal(["2026-01 121 100 100 100 100", `${june} 100`]);
    expect(await curves({ definition: "chartmogul", interval: "quarter" })).to.deep.equal([
      "2026-Q1 161 100 75.2",
      "2026-Q2 7 100",
    ]);
    // Of the first day that is asked for nobody is new who began before, paused or not.
    expect(await curves({ definition: "profitwell", from: "2026-05-01" })).to.deep.equal([]);
    expect(await curves({ definition: "chartmogul", from: "2026-05-01" })).to.deep.equal([june]);

    const accounts = { definition: "chartmogul", basis: "accounts", compare: "previous_period" };
    const of = { ...accounts, from: "2026-04-01" };
    const { cohorts, compare } = accountCohortsAnswer.parse(await retained(of)).data;
    expect(cohorts.map(({ starting_accounts: count }) => count)).to.deep.equal([1]);
    expect(compare).to.deep.include({ vintages: 1, starting_accounts: 6 });
    expect(compare?.retention_curve.slice(-2)).to.deep.equal([100, 83.3]);
  });

  it("should retain at any moment what MRR by that definition is then", async () => {
    await bookStory();
    const { service, tenant } = endpoints;
    const clocks = { completeTo: Date.now(), now: Date.now(), reach: Date.now() };
    for (const name of definitionNames) {
      for (const moment of ["2026-04-30", "2026-05-31", "2026-06-15"]) {
        const asOf = { ...tenant, at: Date.parse(`${moment}T12:00:00Z`), knownAt: null };
        const defined = { service, name, currency: "EUR", clocks };
        const each = { interval: "month", first: -Infinity } as const;
        const [mrr = [], accounts = []] = await definedCohorts(defined, asOf, each, [
          "mrr",
          "accounts",
        ]);
        const expected = await definedMrr(defined, asOf);
        const sumOf = (amounts: readonly string[]) =>
          amounts.reduce((sum, amount) => sum + mrrOf(amount), 0n);
        const what = `${name} on ${moment}`;
        expect(sumOf(mrr.map(({ change }) => change)), what).to.equal(
          sumOf(expected.map((row) => row.mrr)),
        );
        expect(sumOf(accounts.map(({ change }) => change)), what).to.equal(
          sumOf(expected.map((row) => row.accounts)),
        );
      }
    }
  });

  it("should refuse cohorts of more intervals than accounts can be read at", async () => {
    await book([changeOf({ account: "old", day: "2020-01-10", monthly: 1_000n })]);
    const url = (more: string) => `${retainedPath}&at=${at}${more}`;
    expectError(await endpoints.get(url("")), "422 series_too_long interval");
    expect((await endpoints.get(url("&interval=quarter"))).status).to.equal(200);
    expect((await endpoints.get(url("&from=2024-01-01"))).status).to.equal(200);
  });

  it("should count what had happened, and what was known, by then", async () => {
    await bookStory();
    const differences = async (definition: string, query: Readonly<Record<string, string>>) =>
      (await ask({ definition, ...query })).data.map(({ account }) => account);
    // Before the refund; before it was known who leaves.
    expect(await differences("revenuecat", { at: "2026-06-11" })).to.deep.equal(["weekly"]);
    const early = { known_at: "2026-06-16T00:00:00Z" };
    expect(await differences("profitwell", early)).to.deep.equal([]);
  });

  it("should convert at the rates that each tool takes", async () => {
    const dollars = { account: "dollars", monthly: 10_000n, currency: "USD" };
    await book([
      changeOf({ ...dollars, day: "2025-01-10" }),
      changeOf({ ...dollars, day: "2026-02-10" }),
    ]);
    const { rates } = endpoints.service;
    const mrrOn = (moment: string) =>
      mrrOf(
        monthlyToMrr(
          fraction(10_000n),
          rates.quote("USD", "EUR", Date.parse(moment))?.rate ?? "",
          "USD",
        ),
      );
    const first = mrrOn("2025-01-10");
    for (const [definition, moment] of [
      ["stripe", at],
      ["chartmogul", "2026-02-10"],
      ["revenuecat", "2026-02-10"],
    ] as const) {
      const { comparison } = await ask({ definition });
      expect(mrrOf(comparison.difference_exact), definition).to.equal(mrrOn(moment) - first);
      expect(comparison.difference, definition).not.to.equal(0);
    }
    expect((await ask({ definition: "profitwell" })).comparison.accounts).to.equal(0);
  });

  it("should add up to the last digit over all pages, with our side as MRR has it", async () => {
    const days = ["2025-11-03", "2026-01-31", "2026-05-01", "2026-06-01", "2026-06-09"];
    const told = fc.record({
      account: fc.integer({ min: 1, max: 12 }).map((number) => `account ${number}`),
      day: fc.constantFrom(...days, "2026-06-25"),
      provider: fc.constant("stripe"),
      phase: fc.constantFrom("started", "changed", "ended", "expired"),
      monthly: fc.option(fc.constantFrom(333n, 1_000n, 99_999n), { nil: undefined }),
      interval: fc.constantFrom("week", "month", "year"),
      currency: fc.constantFrom("EUR", "USD", "JPY"),
      discountEnds: fc.constantFrom(undefined, "2026-06-10", "2026-12-01"),
    } as const);
    const [history = []] = fc.sample(fc.array(told, { minLength: 150, maxLength: 150 }), {
      numRuns: 1,
      seed: 33,
    });
    const given = history.map(({ monthly, discountEnds, ...each }) => ({
      ...each,
      ...(monthly === undefined || each.phase === "ended" ? {} : { monthly }),
      ...(discountEnds === undefined || discountEnds <= each.day ? {} : { discountEnds }),
    }));
    await book(given.map(changeOf));
    const expected = await mrrNow();
    for (const definition of definitionNames) {
      const { data, comparison } = await all({ definition, limit: "2" });
      const sum = (amounts: readonly { readonly difference_exact: string }[]) =>
        amounts.reduce((total, amount) => total + mrrOf(amount.difference_exact), 0n);
      const difference = mrrOf(comparison.difference_exact);
      expect(comparison.ours, definition).to.equal(expected);
      expect(comparison.accounts, definition).to.equal(data.length);
      expect(sum(data), definition).to.equal(difference);
      expect(sum(comparison.rules), definition).to.equal(difference);
      for (const row of data) expect(sum(row.rules)).to.equal(mrrOf(row.difference_exact));
      const sizes = data.map((row) => Math.abs(row.difference));
      expect(sizes, definition).to.deep.equal(sizes.toSorted((one, other) => other - one));
      expect(new Set(data.map(({ account }) => account)).size).to.equal(data.length);
    }
    const { comparison } = await ask({ definition: "stripe" });
    expect(comparison.accounts, "the story has differences").to.be.greaterThan(2);

    for (const definition of definitionNames) {
      const shown = await endpoints.get(`/v1/metrics/mrr?at=${at}&definition=${definition}`);
      const mrr = mrrAnswer.parse(shown.json).data;
      const beside = (await ask({ definition })).comparison;
      expect(mrr.current_mrr, definition).to.equal(beside.theirs);
      expect(mrr.definition).to.equal(definition === "ours" ? undefined : definition);
      const { movements } = await movementsOf({ definition });
      for (const { to, end_mrr } of movements) {
        const end = new Date(Math.min(Date.parse(to) - 1, Date.parse(at))).toISOString();
        const there = (await ask({ definition, at: end })).comparison;
        expect(end_mrr, `${definition} at ${end}`).to.equal(there.theirs);
      }
    }
    const asRead = await definedMovements(
      {
        service: endpoints.service,
        name: "ours",
        currency: "EUR",
        clocks: { completeTo: Date.now(), now: Date.now(), reach: Date.now() },
      },
      readSeries(
        { from: Date.parse(months.from), interval: "month" },
        { ...endpoints.tenant, at: Date.parse(at), knownAt: null },
      ),
    );
    const { movements } = await movementsOf({});
    const balances = movements.map((row) => {
      const upTo = asRead.filter(({ start }) => start === beforeAll || start <= row.from);
      const sum = upTo.reduce((total, each) => total + mrrOf(each.mrr), 0n);
      const accounts = upTo.reduce((total, each) => total + Number(each.accounts), 0);
      return [row.from, showMrr(sum, "EUR"), accounts];
    });
    expect(balances).to.deep.equal(
      movements.map(({ from, end_mrr, end_accounts }) => [from, end_mrr, end_accounts]),
    );
  });

  it("should be narrowed to a provider, and come as a table", async () => {
    await bookStory();
    const { comparison } = await ask({ definition: "stripe", provider: "apple" });
    expect([comparison.ours, comparison.accounts]).to.deep.equal([0, 0]);
    const query = new URLSearchParams({ definition: "revenuecat", at, format: "csv" });
    const { text } = await endpoints.get(`${path}?${query.toString()}`);
    const [head = "", ...lines] = text.trim().split(/\r?\n/);
    expect(head).to.match(/^account,provider,ours,theirs,difference,difference_exact,rules$/);
    expect(lines.map((line) => line.split(",")[0])).to.deep.equal(["refunded", "weekly"]);
  });

  it("should refuse to go over more changes than one answer may", async () => {
    const { workspace, environment } = endpoints.tenant;
    await endpoints.service.clickhouse.write(
      `INSERT INTO subscription_changes (workspace, environment, account, provider, subscription,
         change_id, revision, void, at, phase, event_id, recorded_at, currency, steps, booked_at)
       SELECT ${literal(workspace)}, ${literal(environment)}, toString(number % 1000), 'paddle',
         toString(number % 1000), toString(number), 1, 0, ${literal("2026-01-01 00:00:00.000")},
         'changed', toString(number), ${literal(clickhouseTime(Date.parse("2026-01-01")))}, 'EUR',
         [], ${bookedNow}
       FROM numbers(${limits.comparedChangesMax + 1})`,
    );
    const answer = await endpoints.get(`${path}?definition=stripe&at=${at}`);
    expect(answer.status, answer.text).to.equal(422);
    expect(answer.json.error.code).to.equal("comparison_too_large");
    await ask({ definition: "stripe", provider: "stripe" });
  });

  describe("refusing", () => {
    itRefuses(
      (asked) => endpoints.get(asked),
      [
        [path, 400, "parameter_invalid", "definition"],
        [`${path}?definition=theirs`, 400, "parameter_invalid", "definition"],
        [`${path}?definition=stripe&at=2999-01-01`, 422, "moment_in_future", "at"],
        [`${path}?definition=stripe&cursor=x`, 400, "cursor_invalid", "cursor"],
        ["/v1/metrics/mrr?definition=theirs", 400, "parameter_invalid", "definition"],
        [`${moved}&country=DE`, 400, "parameter_invalid", "country"],
        [`${retainedPath}&product=prod_unf_1`, 400, "parameter_invalid", "product"],
        [`${retainedPath}&vintage=2026-01`, 400, "parameter_invalid", "vintage"],
        [`${retainedPath}&basis=accounts&gross=true`, 422, "gross_of_accounts", "gross"],
        [`${moved}&group_by=product`, 400, "parameter_invalid", "group_by"],
        [`${moved}&interval=day&from=2020-01-01`, 422, "series_too_long", "interval"],
      ],
    );
  });
});
