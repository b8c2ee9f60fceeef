/** The four questions, asked over HTTP of the real service; rows put straight into its tables. */
import { expect } from "chai";
import { openApiDocument } from "../../api/docs/openapi.js";
import { cohortsAnswer } from "../../api/cohorts/schema.js";
import { movementsAnswer } from "../../api/movement-series/schema.js";
import { mrrAnswer } from "../../api/mrr/schema.js";
import { productsAnswer } from "../../api/products/schema.js";
import { ratesAnswer } from "../../api/rates/schema.js";
import { revenueAnswer } from "../../api/revenue/schema.js";
import { summaryAnswer } from "../../api/summary/schema.js";
import { failedPaymentsAnswer } from "../../api/failed-payments/schema.js";
import { trialsAnswer } from "../../api/trials/schema.js";
import { transactionsAnswer } from "../../schemas/http/transactions.js";
import { productId } from "../../schemas/ids.js";
import { trialPrice } from "../../schemas/subscriptions/change.js";
import {
  type Endpoints,
  expectError,
  itRefuses,
  openEndpoints,
  suiteEndpoints,
} from "../harness/endpoints.js";
import { movementsIn } from "../harness/movement-table.js";
import {
  type TestVersion,
  insertChanges,
  insertLedger,
  insertMovements,
  insertTransactions,
} from "../harness/query-rows.js";

const dayMs = 24 * 60 * 60 * 1000;
const shapes = {
  "/v1/metrics/mrr": mrrAnswer,
  "/v1/metrics/cohorts": cohortsAnswer,
  "/v1/metrics/mrr/movements": movementsAnswer,
  "/v1/metrics/revenue": revenueAnswer,
  "/v1/metrics/summary": summaryAnswer,
  "/v1/metrics/rates": ratesAnswer,
  "/v1/metrics/trials": trialsAnswer,
  "/v1/metrics/failed-payments": failedPaymentsAnswer,
  "/v1/products": productsAnswer,
  "/v1/transactions": transactionsAnswer,
};
const paths = Object.keys(shapes);

describe("The read interface", () => {
  const endpoints = suiteEndpoints();

  const get: Endpoints["get"] = (...call) => endpoints.get(...call);
  /** A workspace of its own. */
  const listing = async (versions: readonly TestVersion[]) => {
    const fresh = await openEndpoints();
    await insertTransactions(fresh.service.clickhouse, fresh.tenant, versions);
    return fresh;
  };

  describe("every question", () => {
    it("should be answered in its documented shape, also when nothing was booked", async () => {
      const fresh = await openEndpoints();
      for (const [path, shape] of Object.entries(shapes)) {
        const answer = await get(path, fresh.readKey);
        expect(answer.status, path).to.equal(200);
        shape.parse(answer.json);
        expect(answer.headers.get("x-request-id")).to.match(/^[0-9a-f-]{36}$/);
        expect(answer.headers.get("ratelimit")).to.match(/^"key";r=\d+;t=1$/);
      }
    });

    for (const path of paths) {
      describe(`as ${path}`, () => {
        itRefuses(
          (query) => get(path + query),
          [
            ["?surprise=1", 400, "parameter_unknown", "surprise"],
            ["?at=2026-01-01T00:00:00Z&at=2026-01-01T00:00:00Z", 400, "parameter_repeated", "at"],
            ["?at=yesterday", 400, "parameter_invalid", "at"],
            ["?at=2026-02-29T00:00:00Z", 400, "parameter_invalid", "at"],
            ["?at=2026-01-01T00:00:00", 400, "parameter_invalid", "at"],
            ["?at=1767225600000", 400, "parameter_invalid", "at"],
            ["?at=", 400, "parameter_invalid", "at"],
            ["?at=2999-01-01T00:00:00Z", 422, "moment_in_future", "at"],
            ["?known_at=2999-01-01T00:00:00Z", 422, "moment_in_future", "known_at"],
          ],
        );
      });
    }

    it("should refuse a known_at that is not all booked yet", async () => {
      const receipt = endpoints.service.watermark.receive();
      try {
        // The clock must be past the receipt, else the moment would lie in the future.
        await new Promise((resolve) => setTimeout(resolve, 5));
        const at = new Date(receipt.receivedAt).toISOString();
        for (const path of paths) {
          const answer = await get(`${path}?known_at=${at}`);
          expectError(answer, "422 known_at_incomplete known_at");
        }
      } finally {
        receipt.settle();
      }
    });

    it("should take what it was reported is complete as the next known_at", async () => {
      for (const path of paths) {
        const { json } = await get(path);
        expect((await get(`${path}?known_at=${json.complete_to}`)).status).to.equal(200);
      }
    });

    describe("of what is old by now", () => {
      let fresh: Endpoints;
      before(async () => {
        fresh = await openEndpoints();
        const { tenant: mine } = fresh;
        const { clickhouse } = fresh.service;
        const recorded = { recorded_at: Date.UTC(2026, 0, 10) };
        const when = Date.UTC(2025, 5, 20);
        const begun = { account: "a", at: when, kind: "new", vintage: "2025-06-01", mrr: "100" };
        const left = { account: "b", at: when, vintage: "2025-06-01" };
        await insertMovements(clickhouse, mine, [
          { ...recorded, ...begun, accounts: 1, subscriptions: 1 },
          { ...recorded, ...left, kind: "new", mrr: "50", accounts: 1, subscriptions: 1 },
          { ...recorded, ...left, kind: "churn", mrr: "-50", accounts: -1, subscriptions: -1 },
        ]);
        const sale = { kind: "sale", happened_at: when, amount: 1000, sales: 1 } as const;
        await insertLedger(clickhouse, mine, [{ ...recorded, ...sale, payment: "stripe:pay_a" }]);
        await insertTransactions(clickhouse, mine, [
          { ...recorded, id: "a", timestamp: when, version: 1 },
        ]);
        const trial = {
          account: "a",
          change_id: "trial",
          phase: "started",
          mrr: trialPrice,
        } as const;
        await insertChanges(clickhouse, mine, [{ ...recorded, ...trial, at: when }]);
      });

      const figures = async (query: string) => {
        const found: Record<string, number> = {};
        for (const path of paths) {
          const { status, json, text } = await get(`${path}?${query}`, fresh.readKey);
          expect(status, `${path}?${query}: ${text}`).to.equal(200);
          found[path] = sumOfNumbers(json.data);
        }
        return found;
      };
      const nothing = Object.fromEntries(paths.map((path) => [path, 0]));

      for (const query of [
        // What a script sends whose date is not set, and dates before the engine's own begin.
        "at=1970-01-01T00:00:00Z",
        "at=0001-01-01T00:00:00Z",
        "known_at=1970-01-01T00:00:00Z",
        "at=1900-01-01T00:00:00Z&known_at=1950-01-01T00:00:00%2B02:00",
        // Compared with a month before: the year 1969.
        "at=1970-01-10T00:00:00Z",
        "at=1970-01-31T23:59:59Z",
        "known_at=1970-01-10T00:00:00Z",
      ]) {
        it(`should report nothing with ${query}`, async () => {
          expect(await figures(query)).to.deep.equal(nothing);
        });
      }

      it("should report something of later", async () => {
        const reported = await figures("at=2025-07-01T00:00:00Z");
        expect(Object.keys(reported).filter((path) => (reported[path] ?? 0) <= 0)).to.deep.equal(
          [],
        );
      });
    });

    for (const [who, key, status] of [
      ["nobody", "", 401],
      ["a key that does not exist", `svc_live_${"x".repeat(38)}`, 401],
    ] as const) {
      it(`should not be answered for ${who}`, async () => {
        for (const path of paths) {
          const answer = await get(path, key);
          expect([answer.status, answer.json.error.type]).to.deep.equal([status, "authentication"]);
        }
      });
    }

    it("should know no other method", async () => {
      for (const path of paths) {
        const answer = await endpoints.call(path, { method: "POST" });
        expect([answer.status, answer.headers.get("allow")]).to.deep.equal([405, "GET, HEAD"]);
      }
    });
  });

  describe("GET /v1/metrics/mrr", () => {
    it("should report MRR, growth and subscribers as of a moment", async () => {
      const movements = movementsIn(`
        at               | account | kind      | mrr     | accounts | provider
        2026-02-28 12:00 | a       | new       | 100.004 |        1 | stripe
        2026-02-28 13:00 | a       | expansion |  25.000 |        0 | stripe
        2026-03-31 12:00 | b       | new       |  25.002 |        1 | apple
      `);
      await insertMovements(endpoints.service.clickhouse, endpoints.tenant, movements);
      const { json } = await get("/v1/metrics/mrr?at=2026-03-31T12:00:00Z");
      expect(json.data).to.deep.equal({
        current_mrr: 150.01,
        currency: "EUR",
        growth_mom_pct: 50,
        previous_mrr: 100,
        active_subscribers: 2,
        breakdown_by_provider: { apple: 25, stripe: 125 },
      });
      const before = await get("/v1/metrics/mrr?at=2026-03-31T11:59:59.999Z");
      expect(before.json.data.active_subscribers).to.equal(1);
      const sandbox = await get("/v1/metrics/mrr", (await endpoints.newKey("Test")).key);
      expect(sandbox.json.data.current_mrr).to.equal(0);
    });
  });

  describe("GET /v1/transactions", () => {
    const recorded = Date.UTC(2026, 0, 10);
    const at = (hour: number) => Date.UTC(2026, 0, 1, hour);

    it("should show the newest version of each, and filter by that version", async () => {
      const one = (id: string, hour: number, version: number, more: Partial<TestVersion> = {}) => ({
        id,
        timestamp: at(hour),
        recorded_at: recorded + version,
        version,
        ...more,
      });
      const fresh = await listing([
        one("tx_a", 1, 1),
        one("tx_a", 1, 2, { status: "refunded", refunded_amount: 1999 }),
        one("tx_b", 2, 1, { status: "disputed" }),
        one("tx_b", 2, 2, { status: "succeeded" }),
        one("tx_c", 2, 1, { provider: "custom", gross_amount: 5 }),
        one("tx_d", 0, 1, { status: "disputed" }),
      ]);
      const ids = async (query: string) => {
        const { json } = await get(`/v1/transactions${query}`, fresh.readKey);
        transactionsAnswer.parse(json);
        return json.data.map((row: { id: string }) => row.id);
      };
      expect(await ids("")).to.deep.equal(["tx_c", "tx_b", "tx_a", "tx_d"]);
      expect(await ids("?status=succeeded")).to.deep.equal(["tx_c", "tx_b"]);
      expect(await ids("?status=refunded")).to.deep.equal(["tx_a"]);
      expect(await ids("?status=disputed")).to.deep.equal(["tx_d"]);
      expect(await ids("?provider=custom&status=succeeded")).to.deep.equal(["tx_c"]);
      expect(await ids("?provider=paddle")).to.deep.equal([]);
      expect(await ids(`?at=${new Date(at(1)).toISOString()}`)).to.deep.equal(["tx_a", "tx_d"]);
      const knownAt = `known_at=${new Date(recorded + 1).toISOString()}`;
      expect(await ids(`?${knownAt}&status=disputed`)).to.deep.equal(["tx_b", "tx_d"]);
      expect(await ids(`?${knownAt}&status=refunded`)).to.deep.equal([]);
      expect(await ids(`?at=${new Date(at(9)).toISOString()}&${knownAt}`)).to.have.length(4);
    });

    it("should answer exactly as specified", async () => {
      const fresh = await listing([
        {
          id: "tx_norm_1",
          timestamp: at(1),
          recorded_at: recorded,
          version: 3,
          external_id: "sku",
        },
      ]);
      const { json } = await get("/v1/transactions", fresh.readKey);
      expect(json).to.deep.include({
        status: "success",
        pagination: { has_more: false, next_cursor: null },
      });
      expect(json.data).to.deep.equal([
        {
          id: "tx_norm_1",
          version: 3,
          provider: "stripe",
          product_id: productId(fresh.workspace, "live", "stripe", "sku"),
          product_name: "sku",
          gross_amount: 19.99,
          original_currency: "USD",
          normalized_amount: 19.99,
          base_currency: "USD",
          fx_rate: 1,
          fx_date: "2026-01-01",
          refunded_amount: 0,
          tax_amount: null,
          fee_amount: null,
          account: "acc",
          customer_country: "US",
          type: "one_time",
          status: "succeeded",
          timestamp: "2026-01-01T01:00:00.000Z",
        },
      ]);
    });

    it("should show a status as of `at`: what happened later is taken out again", async () => {
      const version = { timestamp: at(0), recorded_at: recorded, version: 2, gross_amount: 1000 };
      const fresh = await listing([
        { ...version, id: "refunded", status: "refunded", refunded_amount: 1000 },
        { ...version, id: "won", status: "succeeded" },
        { ...version, id: "plain" },
      ]);
      type Kind = "sale" | "refund" | "dispute" | "dispute_won";
      const entry = (id: string, kind: Kind, hour: number, amount: number) => ({
        payment: `stripe:pay_${id}`,
        kind,
        happened_at: at(hour),
        recorded_at: recorded,
        amount,
        sales: kind === "sale" ? 1 : 0,
      });
      await insertLedger(fresh.service.clickhouse, fresh.tenant, [
        ...["refunded", "won", "plain"].map((id) => entry(id, "sale", 0, 1000)),
        entry("refunded", "refund", 1, -400),
        entry("refunded", "refund", 3, -600),
        entry("won", "dispute", 1, -1000),
        entry("won", "dispute_won", 3, 1000),
      ]);
      const shown = async (hour: number, filter = "") => {
        const when = new Date(at(hour)).toISOString();
        const { json } = await get(`/v1/transactions?at=${when}${filter}`, fresh.readKey);
        return json.data
          .map((row: { id: string; status: string; refunded_amount: number }) =>
            [row.id, row.status, row.refunded_amount].join(" "),
          )
          .sort();
      };
      expect(await shown(0)).to.deep.equal([
        "plain succeeded 0",
        "refunded succeeded 0",
        "won succeeded 0",
      ]);
      expect(await shown(2)).to.deep.equal([
        "plain succeeded 0",
        "refunded succeeded 4",
        "won disputed 0",
      ]);
      expect(await shown(3)).to.deep.equal([
        "plain succeeded 0",
        "refunded refunded 10",
        "won succeeded 0",
      ]);
      expect(await shown(2, "&status=disputed")).to.deep.equal(["won disputed 0"]);
      expect(await shown(3, "&status=disputed")).to.deep.equal([]);
      expect(await shown(2, "&status=refunded")).to.deep.equal([]);
      expect(await shown(2, "&status=succeeded")).to.have.length(2);
    });

    it("should show it also of a sale reported anew in another currency", async () => {
      const fresh = await openEndpoints();
      const about = { transaction_id: "P", amount: 9 };
      const day = (of: number, second = 0) => new Date(Date.UTC(2026, 8, of, 0, 0, second));
      const report = (more: object) => fresh.record({ ...about, ...more });
      const sale = { event_type: "transaction.sale" };
      await report({ ...sale, currency: "USD", amount: 10, occurred_at: day(1).toISOString() });
      await report({ ...sale, occurred_at: day(1, 5).toISOString() });
      await report({ event_type: "transaction.refund", occurred_at: day(5).toISOString() });
      const shown = async (query: string) => {
        const { json } = await get(`/v1/transactions?${query}`, fresh.readKey);
        return json.data.map((row: Record<string, unknown>) => [
          row["gross_amount"],
          row["original_currency"],
          row["status"],
          row["refunded_amount"],
        ]);
      };
      const refunded = [[9, "EUR", "refunded", 9]];
      const later = `at=${day(9).toISOString()}`;
      await fresh.booked();
      expect(await shown("")).to.deep.equal(refunded);
      expect(await shown(later)).to.deep.equal(refunded);
      expect(await shown(`${later}&status=refunded`)).to.deep.equal(refunded);
      expect(await shown(`${later}&status=succeeded`)).to.deep.equal([]);
      const before = `at=${day(4).toISOString()}`;
      expect(await shown(before)).to.deep.equal([[9, "EUR", "succeeded", 0]]);
    });

    it("should count what was given back of a sale in another currency", async () => {
      const fresh = await openEndpoints();
      const report = async (more: object) =>
        (await fresh.record({ transaction_id: "P", ...more })).normalized.amount_base;
      const refund = { event_type: "transaction.refund", amount: 40, currency: "GBP" };
      const sale = { event_type: "transaction.sale", amount: 100, currency: "USD" };
      const sold = await report({ ...sale, occurred_at: "2026-09-01T00:00:00Z" });
      const part = await report({ ...refund, occurred_at: "2026-09-05T00:00:00Z" });
      await report({ ...refund, occurred_at: "2026-09-08T00:00:00Z", amount: 60 });
      // The past is read from the ledger, which follows the list.
      await fresh.booked();
      const past = "at=2026-09-06T00:00:00Z";
      const shown = async (query: string) => {
        const { json } = await get(`/v1/transactions?${query}`, fresh.readKey);
        return json.data.map((row: Record<string, unknown>) => [
          row["status"],
          row["refunded_amount"],
        ]);
      };
      const share = Math.floor((10_000 * part) / sold) / 100;
      expect(await shown(past)).to.deep.equal([["succeeded", share]]);
      expect(await shown("at=2026-09-09T00:00:00Z")).to.deep.equal([["refunded", 100]]);
      expect(await shown("")).to.deep.equal([["refunded", 100]]);
    });

    itRefuses(
      (query) => get(`/v1/transactions?${query}`),
      [
        ["limit=0", 400, "parameter_invalid", "limit"],
        ["limit=201", 400, "parameter_invalid", "limit"],
        ["limit=ten", 400, "parameter_invalid", "limit"],
        ["limit=1.5", 400, "parameter_invalid", "limit"],
        ["limit=-1", 400, "parameter_invalid", "limit"],
        ["limit=1e1", 400, "parameter_invalid", "limit"],
        ["provider=venmo", 400, "parameter_invalid", "provider"],
        ["provider=Stripe", 400, "parameter_invalid", "provider"],
        ["status=pending", 400, "parameter_invalid", "status"],
        ["cursor=", 400, "parameter_invalid", "cursor"],
        ["cursor=bm90IGEgY3Vyc29y", 400, "cursor_invalid", "cursor"],
      ],
    );
  });

  describe("a walk over pages", () => {
    it("should see every row that was there once, as it was, whatever arrives", async () => {
      const fresh = await openEndpoints();
      const { tenant: mine } = fresh;
      const { clickhouse } = fresh.service;
      const start = Date.UTC(2026, 0, 1);
      const versions = Array.from({ length: 60 }, (_, index) => ({
        id: `tx_${String((index * 37) % 60).padStart(2, "0")}`,
        // Several at one moment, and up to nine versions.
        timestamp: start + Math.floor(((index * 37) % 60) / 4) * 1_000,
      })).flatMap(({ id, timestamp }, index) =>
        Array.from({ length: 1 + (index % 9) }, (_, version) => ({
          id,
          timestamp,
          version: version + 1,
          recorded_at: start + version,
          refunded_amount: version,
        })),
      );
      await insertTransactions(clickhouse, mine, versions);

      const seen: { id: string; refunded_amount: number }[] = [];
      let cursor: string | null = null;
      let pages = 0;
      do {
        const more = cursor === null ? "?limit=7" : `?cursor=${cursor}`;
        const { json } = await get(`/v1/transactions${more}`, fresh.readKey);
        seen.push(...json.data);
        cursor = json.pagination.next_cursor;
        pages += 1;
        // Newer versions of all, new rows before, between and after.
        const recorded_at = Date.now() + 60_000;
        await insertTransactions(
          clickhouse,
          mine,
          versions.flatMap(({ id, timestamp }) => [
            { id, timestamp, version: 20 + pages, recorded_at, status: "disputed" as const },
            { id: `${id}_${pages}`, timestamp, version: 1, recorded_at },
          ]),
        );
      } while (cursor !== null);

      const newest = new Map(versions.map((row) => [row.id, row]));
      const expected = [...newest.values()]
        .sort((one, two) => two.timestamp - one.timestamp || (one.id < two.id ? 1 : -1))
        .map(({ id, refunded_amount }) => ({ id, refunded_amount: refunded_amount / 100 }));
      expect(seen.map(({ id, refunded_amount }) => ({ id, refunded_amount }))).to.deep.equal(
        expected,
      );
      expect(pages).to.equal(9);
    });

    it("should find the few rows of a status at any depth", async () => {
      const start = Date.UTC(2026, 0, 1);
      const rows = Array.from({ length: 700 }, (_, index) => ({
        id: `tx_${index}`,
        timestamp: start + index,
        version: 1,
        recorded_at: start,
        status: index % 100 === 0 ? ("succeeded" as const) : ("refunded" as const),
      }));
      // Once they all were `succeeded`.
      const before = rows.map((row) => ({ ...row, version: 0, status: "succeeded" as const }));
      const fresh = await listing([...before, ...rows]);
      const page = await get("/v1/transactions?status=succeeded&limit=4", fresh.readKey);
      const rest = await get(
        `/v1/transactions?status=succeeded&cursor=${page.json.pagination.next_cursor}`,
        fresh.readKey,
      );
      const ids = [...page.json.data, ...rest.json.data].map((row: { id: string }) => row.id);
      expect(ids).to.deep.equal(
        ["600", "500", "400", "300", "200", "100", "0"].map((n) => `tx_${n}`),
      );
      expect(rest.json.pagination).to.deep.equal({ has_more: false, next_cursor: null });
    });

    it("should refuse a cursor of another workspace, endpoint, or with other filters", async () => {
      const paid = { timestamp: Date.UTC(2026, 0, 1), recorded_at: Date.UTC(2026, 0, 1) };
      const fresh = await listing(["1", "2", "3"].map((id) => ({ ...paid, id, version: 1 })));
      const first = await get("/v1/transactions?limit=1&provider=stripe", fresh.readKey);
      const { next_cursor: cursor } = first.json.pagination;
      const statusOf = async (path: string, key = fresh.readKey) => {
        const { status, json } = await get(path, key);
        return [status, json.error?.code, json.error?.param];
      };
      const refused = [400, "cursor_invalid", "cursor"];
      const good = [200, undefined, undefined];
      const at = `/v1/transactions?cursor=${cursor}`;
      expect(await statusOf(at)).to.deep.equal(good);
      expect(await statusOf(`${at}&provider=stripe&limit=2`)).to.deep.equal(good);
      expect(await statusOf(`${at}&provider=apple`)).to.deep.equal(refused);
      expect(await statusOf(`${at}&status=succeeded`)).to.deep.equal(refused);
      expect(await statusOf(`${at}&at=2026-01-01T00:00:00Z`)).to.deep.equal(refused);
      expect(await statusOf(at, endpoints.readKey)).to.deep.equal(refused);
      expect(await statusOf(`/v1/products?cursor=${cursor}`)).to.deep.equal(refused);
      expect(await statusOf(`${at.slice(0, -3)}AAA`)).to.deep.equal(refused);
    });
  });

  describe("GET /v1/products", () => {
    it("should list products by revenue, in pages, with what each provider sold", async () => {
      const fresh = await openEndpoints();
      const { tenant: mine } = fresh;
      const { clickhouse, postgres } = fresh.service;
      await postgres.query(
        `INSERT INTO products (id, workspace, environment, name, slug, category) VALUES
           ($2, $1, 'live', 'Pro', 'pro', NULL),
           ($3, $1, 'live', 'Never sold', NULL, 'Desktop App')`,
        [fresh.workspace, `p1_${fresh.workspace}`, `p2_${fresh.workspace}`],
      );
      await postgres.query(
        `INSERT INTO skus (workspace, environment, provider, external_id, product) VALUES
           ($1, 'live', 'stripe', 'base', $2), ($1, 'live', 'stripe', 'seats', $2),
           ($1, 'live', 'apple', 'pro', $2)`,
        [fresh.workspace, `p1_${fresh.workspace}`],
      );
      const yesterday = Date.now() - dayMs;
      const sale = {
        kind: "sale" as const,
        happened_at: yesterday,
        recorded_at: yesterday,
        sales: 1,
      };
      await insertLedger(clickhouse, mine, [
        { ...sale, payment: "1", external_id: "base", amount: 1000 },
        { ...sale, payment: "2", external_id: "seats", amount: 500, sales: 0 },
        {
          ...sale,
          payment: "3",
          external_id: "pro",
          provider: "apple",
          amount: 250,
          country: "FR",
        },
        { ...sale, payment: "4", external_id: "unheard", amount: 300 },
        { ...sale, payment: "5", external_id: "", provider: "gumroad", amount: 20 },
        {
          ...sale,
          payment: "6",
          external_id: "base",
          amount: 9_900,
          happened_at: yesterday - 60 * dayMs,
        },
        // Moved away when the product became known.
        { ...sale, payment: "7", external_id: "", amount: 70 },
        { ...sale, payment: "7", external_id: "", amount: -70, sales: -1 },
      ]);
      const start = { at: yesterday, recorded_at: yesterday, kind: "new", vintage: "2026-01-01" };
      await insertMovements(clickhouse, mine, [
        { ...start, account: "a", external_id: "base", mrr: "10.006", subscriptions: 1 },
        { ...start, account: "a", external_id: "seats", mrr: "5", subscriptions: 1 },
      ]);
      const { json } = await get("/v1/products", fresh.readKey);
      productsAnswer.parse(json);
      const [pro, unheard, unattributed, unsold] = json.data;
      expect(pro).to.deep.equal({
        id: `p1_${fresh.workspace}`,
        name: "Pro",
        slug: "pro",
        category: "Mobile App",
        total_revenue: 17.5,
        total_sales: 2,
        active_subscriptions: 1,
        mrr: 15.01,
        currency: "EUR",
        providers: [
          { provider: "apple", external_id: "pro", revenue: 2.5, sales_count: 1 },
          { provider: "stripe", external_id: "base", revenue: 10, sales_count: 1 },
          { provider: "stripe", external_id: "seats", revenue: 5, sales_count: 0 },
        ],
      });
      expect(unheard).to.deep.include({
        name: "unheard",
        total_revenue: 3,
        category: "SaaS",
      });
      expect(unattributed).to.deep.include({ name: "Unattributed", total_revenue: 0.2 });
      expect(unattributed.providers).to.have.length(1);
      expect(unsold).to.deep.include({ name: "Never sold", slug: "never-sold", total_revenue: 0 });
      expect(json.data).to.have.length(4);

      const names = async (query: string) => {
        const answer = await get(`/v1/products?${query}`, fresh.readKey);
        return answer.json.data.map((row: { name: string }) => row.name);
      };
      expect(await names("category=Mobile App")).to.deep.equal(["Pro"]);
      expect(await names("category=Digital Asset")).to.deep.equal([]);
      expect(await names("category=Digital Asset,Mobile App")).to.deep.equal(["Pro"]);
      expect(await names("category=Desktop App&period=lifetime")).to.deep.equal(["Never sold"]);
      for (const period of ["30d", "lifetime"]) {
        const { json: french } = await get(
          `/v1/products?country=FR&period=${period}`,
          fresh.readKey,
        );
        expect(french.data.map(({ name }: { name: string }) => name)).to.deep.equal(["Pro"]);
        expect(french.totals).to.deep.equal({ total_revenue: 2.5, total_sales: 1, mrr: 0 });
      }
      const { json: sold } = await get("/v1/products?provider=apple", fresh.readKey);
      expect(sold.data).to.have.length(1);
      expect(sold.data[0]).to.deep.include({
        name: "Pro",
        total_revenue: 2.5,
        active_subscriptions: 0,
        mrr: 0,
        providers: [{ provider: "apple", external_id: "pro", revenue: 2.5, sales_count: 1 }],
      });
      // What it is compared with is of the same part: nothing was sold there before.
      const { json: earlier } = await get(
        "/v1/products?country=FR&compare=previous_period",
        fresh.readKey,
      );
      expect(earlier.data[0].compare.total_revenue).to.equal(0);
      const lifetime = await get("/v1/products?period=lifetime&limit=1", fresh.readKey);
      expect(lifetime.json.data[0].total_revenue).to.equal(116.5);
      const next = await get(
        `/v1/products?limit=200&cursor=${lifetime.json.pagination.next_cursor}`,
        fresh.readKey,
      );
      expect(next.json.data.map((row: { name: string }) => row.name)).to.deep.equal([
        "unheard",
        "Unattributed",
        "Never sold",
      ]);
      expect(next.json.pagination.has_more).to.equal(false);

      const compared = async (query: string) =>
        (await get(`/v1/products?${query}`, fresh.readKey)).json;
      for (const [period, compare] of [
        ["30d", "previous_period"],
        ["today", "previous_period"],
        ["12m", "previous_year"],
      ] as const) {
        const at = new Date().toISOString();
        const beside = await compared(`period=${period}&compare=${compare}&at=${at}`);
        const { until, since, totals } = beside.compare;
        const by = await compared(`period=${period}&at=${until}`);
        expect(by.period).to.include({ since, until });
        expect(totals).to.deep.equal(by.totals);
        expect(Date.parse(until) % dayMs).to.equal(Date.parse(at) % dayMs);
        for (const { id, compare: then } of beside.data) {
          const row = by.data.find((each: { id: string }) => each.id === id);
          if (then === null) expect(row).to.equal(undefined);
          else expect(row).to.include(then);
        }
      }
      const never = await compared("period=lifetime&compare=previous_period");
      expect([never.compare, never.data[0].compare]).to.deep.equal([null, null]);

      expect(json.totals).to.deep.equal({ total_revenue: 20.7, total_sales: 4, mrr: 15.01 });
      const orders = {
        "-total_revenue": "Pro,unheard,Unattributed,Never sold",
        total_revenue: "Never sold,Unattributed,unheard,Pro",
        name: "Never sold,Pro,Unattributed,unheard",
        "-name": "unheard,Unattributed,Pro,Never sold",
      };
      for (const [sort, expected] of Object.entries(orders)) {
        expect((await names(`sort=${sort}`)).join(), sort).to.equal(expected);
        const walked: string[] = [];
        for (let query = `sort=${sort}&limit=1`; query !== "";) {
          const page = await get(`/v1/products?${query}`, fresh.readKey);
          walked.push(...page.json.data.map((row: { name: string }) => row.name));
          const cursor: string | null = page.json.pagination.next_cursor;
          query = cursor === null ? "" : `cursor=${cursor}`;
        }
        expect(walked.join(), sort).to.equal(expected);
      }
      // Of equals by id, in both directions; only one has any.
      for (const column of ["mrr", "active_subscriptions"]) {
        const [falling, rising] = [await names(`sort=-${column}`), await names(`sort=${column}`)];
        expect(falling[0]).to.equal("Pro");
        expect(rising).to.deep.equal([...falling.slice(1), "Pro"]);
      }
    });

    itRefuses(
      (query) => get(`/v1/products?${query}`),
      [
        ["period=1d", 400, "parameter_invalid", "period"],
        ["period=", 400, "parameter_invalid", "period"],
        ["category=Games", 400, "parameter_invalid", "category"],
        ["category=saas", 400, "parameter_invalid", "category"],
        ["sort=category", 400, "parameter_invalid", "sort"],
        ["compare=known_then", 400, "parameter_missing", "compare_known_at"],
      ],
    );
  });

  describe("the documentation", () => {
    it("should be open to everybody, as a machine reads it", async () => {
      const answer = await endpoints.call("/openapi.json");
      expect([answer.status, answer.json.openapi]).to.deep.equal([200, "3.1.0"]);
    });

    it("should describe every call there is, and no other", () => {
      // The rest is of the process, the documentation itself, or the dashboard's pages and files.
      const isCall = /^\/(v1|auth|schemas|subjects|config|mode)(\/|$)/;
      const described = Object.entries(openApiDocument().paths).flatMap(([path, methods]) =>
        Object.keys(methods).map((method) => `${method} ${path.replace(/\{\w+\}/g, "{}")}`),
      );
      const mounted = endpoints.service.router.stack.flatMap(({ path, methods }) =>
        methods
          .filter((method) => method !== "HEAD" && isCall.test(String(path)))
          .map((method) => `${method.toLowerCase()} ${String(path).replace(/:\w+/g, "{}")}`),
      );
      expect(mounted).to.have.members(described);
    });

    it("should be a page that loads nothing from elsewhere", async () => {
      const answer = await endpoints.call("/docs");
      expect(answer.status).to.equal(200);
      expect(answer.headers.get("content-type")).to.equal("text/html; charset=utf-8");
      const policy = answer.headers.get("content-security-policy");
      expect(policy).to.match(/^default-src 'none'; script-src 'self'/);
      expect(policy).not.to.match(/script-src[^;]*unsafe-inline|https:/);
    });
  });
});

/** Of all that is in it, however deep; nothing in it is negative. */
function sumOfNumbers(value: unknown): number {
  if (typeof value === "number") return value;
  if (typeof value !== "object" || value === null) return 0;
  return Object.values(value).reduce<number>((sum, part) => sum + sumOfNumbers(part), 0);
}
