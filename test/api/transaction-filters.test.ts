/** Filters of the transaction list against brute force over the same versions, page by page. */
import { expect } from "chai";
import {
  type TransactionPosition,
  type TransactionsWanted,
  listKey,
  transactionColumns,
} from "../../api/transactions/query.js";
import { PassingRows } from "../../api/transactions/filter-selectivity.js";
import type { OrderPosition } from "../../api/transactions/candidates-query.js";
import type { TransactionRow } from "../../api/transactions/listed-row.js";
import {
  readAllOrderedTransactions,
  readOrderedTransactions,
} from "../../api/transactions/ordered-pages.js";
import { readTransactions } from "../../api/transactions/pages.js";
import type { TransactionOrder } from "../../api/transactions/schema.js";
import type { ClickHouse } from "../../stores/clickhouse/clickhouse.js";
import { expectError, itRefuses, suiteEndpoints } from "../harness/endpoints.js";
import {
  type Tenant,
  type TestVersion,
  allBut,
  insertTransactions,
  newTenant,
  some,
} from "../harness/query-rows.js";
import type { Several } from "../../schemas/http/several.js";

const first = Date.UTC(2026, 0, 1);
const hourMs = 3_600_000;
const allRecorded = first + 10_000 * hourMs;

describe("Filters of transactions", () => {
  const endpoints = suiteEndpoints();
  let tenant: Tenant;
  let versions: readonly Version[];
  before(async () => {
    tenant = newTenant();
    versions = scattered(400);
    await insertTransactions(endpoints.service.clickhouse, tenant, versions);
    await insertTransactions(endpoints.service.clickhouse, newTenant(), versions);
  });

  const cases: readonly (readonly [title: string, wanted: Omit<TransactionsWanted, "isPast">])[] = [
    ["nothing but the newest versions", {}],
    ["a provider", { provider: ["apple"] }],
    ["a type", { type: ["refund"] }],
    ["a type most versions once had", { type: ["one_time"] }],
    ["a currency", { currency: some("JPY") }],
    ["a country few have", { country: some("IS") }],
    ["a country nobody has", { country: some("AQ") }],
    ["several countries", { country: some("IS", "AQ", "US") }],
    ["the products of two providers", { skus: some("stripe:prod_b", "apple:prod_a") }],
    ["any product but some", { skus: allBut("stripe:prod_b", "apple:prod_a", "stripe:") }],
    ["what no product was reported", { skus: some("stripe:", "apple:") }],
    ["two types", { type: ["refund", "one_time"] }],
    ["any currency but one", { currency: allBut("USD") }],
    ["any country but two", { country: allBut("US", "DE") }],
    ["two statuses", { status: ["disputed", "refunded"] }],
    ["both providers", { provider: ["apple", "stripe"] }],
    ["an account", { account: "acc_1" }],
    ["some accounts", { accounts: { listed: ["acc_1", "acc_late", "acc_none"] } }],
    ["accounts and a country", { accounts: { listed: ["acc_1"] }, country: allBut("US") }],
    ["an account only later versions know", { account: "acc_late" }],
    ["some ids", { ids: ["tx_0919_1", "tx_0838_2", "tx_none"] }],
    ["some ids of a country", { ids: ["tx_0919_1", "tx_0838_2"], country: some("US") }],
    ["a status", { status: ["disputed"] }],
    ["the time from a moment on", { from: first + 100 * hourMs }],
    ["the time before a moment", { to: first + 100 * hourMs }],
    ["one moment", { from: first + 100 * hourMs, to: first + 100 * hourMs + 1 }],
    ["no time at all", { from: first + 100 * hourMs, to: first + 100 * hourMs }],
    ["a country and a status", { country: some("US"), status: ["refunded"] }],
    [
      "all at once",
      {
        provider: ["stripe"],
        type: ["subscription"],
        currency: some("USD"),
        country: some("US"),
        status: ["succeeded"],
        skus: some("stripe:prod_a", "stripe:prod_c"),
        from: first + 20 * hourMs,
        to: first + 350 * hourMs,
      },
    ],
  ];
  for (const [title, wanted] of cases) {
    it(`should show ${title}, as brute force does`, async () => {
      for (const knownAt of [allRecorded, first + 300 * hourMs]) {
        const expected = bruteForce(versions, wanted, knownAt);
        const short = knownAs(wanted, 0);
        short.learnShort(listKey(tenant, { ...wanted, isPast: false }));
        const known = [new PassingRows(), knownAs(wanted, 0), knownAs(wanted, 0.6), short];
        for (const passing of known) {
          const shown = await walk(endpoints.service.clickhouse, wanted, knownAt, passing);
          expect(shown).to.deep.equal(expected);
        }
      }
    });
  }

  for (const sort of ["timestamp", "-normalized_amount", "normalized_amount"] as const) {
    it(`should show the same rows by ${sort}, page by page and all at once`, async () => {
      const { clickhouse } = endpoints.service;
      for (const knownAt of [allRecorded, first + 300 * hourMs]) {
        const asOf = { ...tenant, at: allRecorded, knownAt };
        for (const [title, filters] of cases) {
          const expected = sorted(shownOf(versions, filters, knownAt), sort);
          const list = { clickhouse, asOf, wanted: { ...filters, isPast: false }, sort };
          const walked: TransactionRow[] = [];
          let after: OrderPosition | null = null;
          do {
            const page: Awaited<ReturnType<typeof readOrderedTransactions>> =
              await readOrderedTransactions(list, after, 60);
            walked.push(...page.rows);
            after = page.last;
          } while (after !== null);
          expect(walked.map(nameOf), title).to.deep.equal(expected.map(nameOf));
          const all: TransactionRow[] = [];
          for await (const rows of readAllOrderedTransactions(list)) all.push(...rows);
          expect(all.map(nameOf), title).to.deep.equal(expected.map(nameOf));
        }
      }
    });
  }

  it("should have rows to choose from", () => {
    const shown = cases.map(([, wanted]) => bruteForce(versions, wanted, allRecorded).length);
    expect(shown.filter((rows) => rows === 0)).to.have.length(2);
  });

  async function walk(
    clickhouse: ClickHouse,
    wanted: Omit<TransactionsWanted, "isPast">,
    knownAt: number,
    passing: PassingRows,
  ): Promise<string[]> {
    const shown: string[] = [];
    let after: TransactionPosition | null = null;
    do {
      const asOf = { ...tenant, at: allRecorded, knownAt };
      const page: Awaited<ReturnType<typeof readTransactions>> = await readTransactions(
        clickhouse,
        asOf,
        { ...wanted, isPast: false },
        after,
        60,
        passing,
      );
      shown.push(...page.rows.map((row) => `${row.id} ${row.version}`));
      after = page.last;
    } while (after !== null);
    return shown;
  }

  /** @param share of the rows, which pass */
  function knownAs(wanted: Omit<TransactionsWanted, "isPast">, share: number): PassingRows {
    const passing = new PassingRows();
    passing.learn(listKey(tenant, { ...wanted, isPast: false }), share, 1);
    return passing;
  }

  const statements: readonly (readonly [
    title: string,
    wanted: Omit<TransactionsWanted, "isPast">,
    atFirst: number,
    later: number,
  ])[] = [
    ["many pass", { type: ["subscription"] }, 1, 1],
    ["few pass", { country: some("IS") }, 3, 2],
    ["nobody passes", { country: some("AQ") }, 2, 1],
    ["versions do not differ in", { provider: ["apple"] }, 1, 1],
  ];
  for (const [title, wanted, atFirst, later] of statements) {
    it(`should ask ${atFirst} and then ${later} for a page of a filter ${title}`, async () => {
      const asked: number[] = [];
      const clickhouse: Pick<ClickHouse, "rows"> = {
        rows: (sql, params) => {
          asked.push(asked.length);
          return endpoints.service.clickhouse.rows(sql, params);
        },
      };
      const asOf = { ...tenant, at: allRecorded, knownAt: allRecorded };
      const passing = new PassingRows();
      const counts: number[] = [];
      for (let page = 0; page < 2; page += 1) {
        asked.length = 0;
        await readTransactions(clickhouse, asOf, { ...wanted, isPast: false }, null, 20, passing);
        counts.push(asked.length);
      }
      expect(counts).to.deep.equal([atFirst, later]);
    });
  }

  it("should keep no order while it looks for the rows of a list it has read at once", async () => {
    const asked: string[] = [];
    const clickhouse: Pick<ClickHouse, "rows"> = {
      rows: (sql, params) => {
        asked.push(/SETTINGS (\w*order\w* = 0)/.exec(sql)?.[1] ?? "");
        return endpoints.service.clickhouse.rows(sql, params);
      },
    };
    const asOf = { ...tenant, at: allRecorded, knownAt: allRecorded };
    const wanted = { country: some("IS"), isPast: false };
    const passing = new PassingRows();
    passing.learn(listKey(tenant, wanted), 0, 1);
    for (const _page of [1, 2]) await readTransactions(clickhouse, asOf, wanted, null, 20, passing);
    const [inOrder, inAnyOrder] = ["read_in_order_use_buffering = 0", "optimize_read_in_order = 0"];
    expect(asked).to.deep.equal([inOrder, inAnyOrder, inAnyOrder, inAnyOrder]);
  });

  it("should show of a version what its columns hold", async () => {
    const mine = newTenant();
    const { clickhouse } = endpoints.service;
    const place = { timestamp: first, recorded_at: first, version: 7 };
    await insertTransactions(clickhouse, mine, [
      {
        ...place,
        id: "tx_all",
        provider: "apple",
        payment: 'pay "quoted"\t/\\n',
        external_id: "Größe 大\n\u2028",
        gross_amount: 101,
        original_currency: "JPY",
        normalized_amount: 9_007_199_254_740_993n,
        base_currency: "GBP",
        fx_rate: "0.0051234567890123456",
        fx_date: "2025-12-31",
        refunded_amount: 103,
        tax_amount: 104,
        fee_amount: -105,
        customer_country: "IS",
        type: "subscription",
        status: "disputed",
      },
      { ...place, id: "tx_none", external_id: "", customer_country: "" },
    ]);
    const columns = await clickhouse.rows(
      `SELECT ${transactionColumns} FROM transactions
       WHERE workspace = {workspace:String} ORDER BY id DESC`,
      { workspace: mine.workspace },
    );
    const asOf = { ...mine, at: allRecorded, knownAt: allRecorded };
    for (const wanted of [{}, { skus: some("apple:Größe 大\n\u2028", "stripe:") }]) {
      const list = { ...wanted, isPast: false };
      const page = await readTransactions(clickhouse, asOf, list, null, 50, new PassingRows());
      expect(page.rows).to.deep.equal(columns);
    }
  });

  const get = (query: string) => endpoints.get(`/v1/transactions?${query}`);

  it("should take dates and date-times, and pin the filters in the cursor", async () => {
    const { tenant: mine } = endpoints;
    await insertTransactions(endpoints.service.clickhouse, mine, [
      { id: "tx_1", timestamp: first - 1, recorded_at: first, version: 1 },
      { id: "tx_2", timestamp: first, recorded_at: first, version: 1 },
      { id: "tx_3", timestamp: first + 1, recorded_at: first, version: 1 },
      {
        id: "tx_4",
        timestamp: first + 2,
        recorded_at: first,
        version: 1,
        customer_country: "FR",
      },
      { id: "tx_5", timestamp: first + 24 * hourMs, recorded_at: first, version: 1 },
    ]);
    const ids = (json: { data: { id: string }[] }) => json.data.map(({ id }) => id);
    const day = "from=2026-01-01&to=2026-01-02&country=US";
    const page = await get(`${day}&limit=1`);
    expect(ids(page.json)).to.deep.equal(["tx_3"]);
    const cursor = String(page.json.pagination.next_cursor);
    const second = await get(`cursor=${cursor}`);
    expect(ids(second.json)).to.deep.equal(["tx_2"]);
    expect(second.json.pagination.has_more).to.equal(false);
    expect(ids((await get(`cursor=${cursor}&${day}`)).json)).to.deep.equal(["tx_2"]);
    const same = await get(`cursor=${cursor}&country=US,US`);
    expect(ids(same.json)).to.deep.equal(["tx_2"]);
    const other = await get(`cursor=${cursor}&country=DE`);
    expectError(other, "400 cursor_invalid cursor");
    const offset = await get("from=2026-01-01T01:00:00%2B01:00&to=2026-01-01T00:00:00.001Z");
    expect(ids(offset.json)).to.deep.equal(["tx_2"]);
  });

  it("should keep its order in the cursor", async () => {
    const ids = (json: { data: { id: string }[] }) => json.data.map(({ id }) => id);
    const whole = await get("sort=timestamp");
    const page = await get("sort=timestamp&limit=2");
    expect(ids(page.json)).to.deep.equal(["tx_1", "tx_2"]);
    const cursor = String(page.json.pagination.next_cursor);
    const rest = await get(`cursor=${cursor}&limit=200`);
    expect([...ids(page.json), ...ids(rest.json)]).to.deep.equal(ids(whole.json));
    expectError(await get(`cursor=${cursor}&sort=-timestamp`), "400 cursor_invalid");
    expect(ids((await get("sort=-timestamp")).json)).to.deep.equal(ids((await get("")).json));
  });

  itRefuses(get, [
    ["sort=amount", 400, "parameter_invalid", "sort"],
    ["from=yesterday", 400, "parameter_invalid", "from"],
    ["from=2026-01-02&to=2026-01-01", 422, "range_backwards", "from"],
    ["to=2026-02-30", 400, "parameter_invalid", "to"],
    ["type=gift", 400, "parameter_invalid", "type"],
    ["currency=usd", 400, "parameter_invalid", "currency"],
    ["currency=QQQ", 400, "parameter_invalid", "currency"],
    ["country=Germany", 400, "parameter_invalid", "country"],
    ["provider=stripe,-apple", 400, "parameter_invalid", "provider"],
    ["country=DE,", 400, "parameter_invalid", "country"],
    ["currency=-EUR,-QQQ", 400, "parameter_invalid", "currency"],
    ["product=prod_unf_of_nobody", 422, "product_unknown", "product"],
  ]);
});

/** Every field the filters look at is reported. */
type Version = TestVersion &
  Required<
    Pick<
      TestVersion,
      | "status"
      | "provider"
      | "external_id"
      | "type"
      | "customer_country"
      | "original_currency"
      | "account"
      | "normalized_amount"
    >
  >;

/** One to three versions of each id, that differ in everything but the provider and the time. */
function scattered(ids: number): Version[] {
  return Array.from({ length: ids }, (_, index) => index).flatMap((index) =>
    Array.from({ length: (index % 3) + 1 }, (_none, turn): Version => {
      const drawn = (index * 7 + turn * 5) % 97;
      return {
        id: `tx_${String((index * 7_919) % 1_000).padStart(4, "0")}_${index}`,
        // Two at the same moment now and then.
        timestamp: first + (index - (index % 10 === 9 ? 1 : 0)) * hourMs,
        recorded_at: first + (index + turn * 30) * hourMs,
        version: turn + 1,
        provider: index % 4 === 0 ? "apple" : "stripe",
        external_id: pick(["prod_a", "prod_b", "prod_c", ""], drawn),
        original_currency: pick(["USD", "USD", "EUR", "JPY"], drawn * 3),
        // Many have the same, and a later version another one or the same.
        normalized_amount: BigInt((drawn % 20) * 100 - (turn > 1 ? 0 : 5)),
        customer_country: drawn === 50 ? "IS" : pick(["US", "DE", "US"], drawn),
        account: index % 50 === 2 ? (turn > 0 ? "acc_late" : "") : `acc_${index % 40}`,
        type: drawn % 11 === 0 ? "refund" : turn > 0 ? "subscription" : "one_time",
        status: drawn % 13 === 0 ? "disputed" : drawn % 6 === 0 ? "refunded" : "succeeded",
      };
    }),
  );
}

function pick(values: readonly string[], index: number): string {
  return values[index % values.length] ?? "";
}

function bruteForce(
  versions: readonly Version[],
  wanted: Omit<TransactionsWanted, "isPast">,
  knownAt: number,
): string[] {
  return shownOf(versions, wanted, knownAt)
    .sort((one, other) => other.timestamp - one.timestamp || (one.id < other.id ? 1 : -1))
    .map(nameOf);
}

function nameOf({ id, version }: { readonly id: string; readonly version: number }): string {
  return `${id} ${version}`;
}

function sorted(rows: readonly Version[], sort: TransactionOrder): Version[] {
  const keyOf = (row: Version) =>
    sort === "timestamp" ? row.timestamp : Number(row.normalized_amount);
  const sign = sort.startsWith("-") ? -1 : 1;
  return rows.toSorted(
    (one, other) => sign * (keyOf(one) - keyOf(other)) || (one.id < other.id ? -1 : 1),
  );
}

function shownOf(
  versions: readonly Version[],
  wanted: Omit<TransactionsWanted, "isPast">,
  knownAt: number,
): Version[] {
  const newest = new Map<string, Version>();
  for (const version of versions) {
    if (version.recorded_at > knownAt) continue;
    const known = newest.get(version.id);
    if (known === undefined || known.recorded_at < version.recorded_at) {
      newest.set(version.id, version);
    }
  }
  return [...newest.values()].filter(
    (row) =>
      isAmong(wanted.provider, row.provider) &&
      isAmong(wanted.type, row.type) &&
      passes(wanted.currency, row.original_currency) &&
      passes(wanted.country, row.customer_country) &&
      isAmong(wanted.status, row.status) &&
      (wanted.account ?? row.account) === row.account &&
      (wanted.accounts?.listed?.includes(row.account) ?? true) &&
      (wanted.ids?.includes(row.id) ?? true) &&
      passes(wanted.skus, `${row.provider}:${row.external_id}`) &&
      row.timestamp >= (wanted.from ?? 0) &&
      row.timestamp < (wanted.to ?? Infinity),
  );
}

function isAmong(wanted: readonly string[] | undefined, value: string | undefined): boolean {
  return wanted === undefined || (value !== undefined && wanted.includes(value));
}

function passes(wanted: Several | undefined, value: string | undefined): boolean {
  return wanted === undefined || isAmong(wanted.values, value) !== wanted.isNot;
}
