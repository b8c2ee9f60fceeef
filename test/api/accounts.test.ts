/** Accounts, asked over HTTP of the real service: they add up to the figures they stand behind. */
import { expect } from "chai";
import {
  type Account,
  type AccountAnswer,
  accountAnswer,
  accountsAnswer,
} from "../../api/accounts/schema.js";
import { showMrr } from "../../api/reading/amounts.js";
import { mrrOf } from "../../schemas/money/monthly.js";
import { expectError, jsonLines, suiteEndpoints } from "../harness/endpoints.js";
import { movementsIn } from "../harness/movement-table.js";
import { insertMovements, newTenant } from "../harness/query-rows.js";

type Query = Readonly<Record<string, string>>;

const story = `
  at         | account | kind         | mrr     | accounts | sku | provider | currency
  2026-01-10 | a       | new          |  10.000 |        1 | a   | stripe   | EUR
  2026-02-05 | a       | expansion    |   5.000 |        0 | b   | stripe   | EUR
  2026-02-20 | b       | new          |  20.004 |        1 | b   | stripe   | USD
  2026-03-15 | b       | churn        | -20.004 |       -1 | b   | stripe   | USD
  2026-04-02 | c       | new          |   8.000 |        1 | b   | apple    | USD
  2026-05-01 | a       | contraction  |  -7.000 |        0 | a   | stripe   | EUR
  2026-06-10 | b       | reactivation |  30.001 |        1 | c   | stripe   | USD
  2026-07-01 | c       | churn        |  -8.000 |       -1 | b   | apple    | USD
`;

describe("Accounts", () => {
  const endpoints = suiteEndpoints();
  before(async () => {
    const { service, tenant } = endpoints;
    const { clickhouse } = service;
    await insertMovements(clickhouse, tenant, movementsIn(story));
    // Of another workspace.
    await insertMovements(clickhouse, newTenant(), movementsIn(story));
    // What was booked first and taken back when more was known: another account, another vintage.
    const taken = `
      at         | account | kind | mrr    | accounts | sku | provider | currency
      2025-12-05 | ghost   | new  |  9.000 |        1 | z   | stripe   | EUR
      2025-12-05 | ghost   | new  | -9.000 |       -1 | z   | stripe   | EUR
      2025-12-05 | b       | new  |  9.000 |        1 | z   | stripe   | EUR
      2025-12-05 | b       | new  | -9.000 |       -1 | z   | stripe   | EUR
    `;
    await insertMovements(clickhouse, tenant, movementsIn(taken));
  });

  const get = (path: string, query: Query = {}) =>
    endpoints.get(`/v1/${path}?${new URLSearchParams(query).toString()}`);
  async function walk(query: Query): Promise<Account[]> {
    const accounts: Account[] = [];
    for (let next: Query | null = query; next !== null;) {
      const answer = await get("accounts", next);
      expect(answer.status, answer.text).to.equal(200);
      const { data, pagination } = accountsAnswer.parse(answer.json);
      accounts.push(...data);
      next = pagination.next_cursor === null ? null : { cursor: pagination.next_cursor };
    }
    return accounts;
  }
  const august = "2026-08-01T00:00:00Z";

  describe("GET /v1/accounts", () => {
    it("should list who ever had MRR, with what it is now", async () => {
      const shown = (await walk({ at: august })).map((row) => {
        const { id, provider, vintage, first_at, last_at, active, mrr, starting_mrr } = row;
        const days = [first_at, last_at].map((at) => at.slice(0, 10));
        return [id, provider, vintage, ...days, active, mrr, starting_mrr];
      });
      expect(shown).to.deep.equal([
        ["b", "stripe", "2026-02", "2026-02-20", "2026-06-10", true, 30, 20],
        ["a", "stripe", "2026-01", "2026-01-10", "2026-05-01", true, 8, 10],
        ["c", "apple", "2026-04", "2026-04-02", "2026-07-01", false, 0, 8],
      ]);
    });

    it("should be the same page by page, and as an export", async () => {
      const all = await walk({ at: august });
      for (const limit of ["1", "2"]) expect(await walk({ at: august, limit })).to.deep.equal(all);
      const { text, headers } = await get("accounts", { at: august, format: "ndjson" });
      expect(headers.get("x-total-count")).to.equal("3");
      expect(jsonLines(text)).to.deep.equal(all);
    });

    const filters: readonly (readonly [query: Query, ids: string])[] = [
      [{ provider: "apple" }, "c"],
      [{ currency: "USD" }, "b c"],
      [{ currency: "USD", active: "true" }, "b"],
      [{ active: "false" }, "c"],
      [{ vintage: "2026-01" }, "a"],
      [{ vintage: "2026-Q1" }, "b a"],
      [{ vintage: "2026" }, "b a c"],
      [{ vintage: "2025-12" }, ""],
      [{ vintage: "2026", at: "2026-03-01T00:00:00Z" }, "b a"],
      [{ active: "true", at: "2026-04-01T00:00:00Z" }, "a"],
      [{ vintage: "-2026-01" }, "b c"],
      [{ vintage: "2026-01,2025", provider: "-apple" }, "a"],
      [{ provider: "apple,stripe", currency: "-EUR" }, "b c"],
      [{ country: "FR" }, ""],
    ];
    for (const [query, ids] of filters) {
      it(`should find ${ids || "nobody"} by ${JSON.stringify(query)}`, async () => {
        const found = await walk({ at: august, ...query });
        expect(found.map(({ id }) => id).join(" ")).to.equal(ids);
      });
    }

    const cells: readonly Query[] = [{}, { provider: "stripe" }, { currency: "USD" }];
    for (const cell of cells) {
      it(`should add up to MRR and accounts: ${JSON.stringify(cell)}`, async () => {
        for (const day of ["2026-02-28", "2026-04-15", "2026-07-15"]) {
          const at = `${day}T12:00:00Z`;
          const accounts = await walk({ at, ...cell });
          const sum = accounts.reduce((all, row) => all + mrrOf(row.mrr_exact), 0n);
          const { json } = await get("metrics/mrr/movements", { at, from: "2026-01-01", ...cell });
          const { end_mrr: mrr, end_accounts: active } = json.data.totals;
          expect(showMrr(sum, "EUR")).to.equal(mrr);
          const counted = accounts.filter((row) => row.active).length;
          expect([null, counted]).to.include(active);
        }
      });
    }

    it("should be those behind every cell of retention", async () => {
      const { json } = await get("metrics/cohorts", { at: august, basis: "accounts" });
      expect(json.data.cohorts).to.have.length(3);
      for (const { vintage, starting_accounts: began, retention_curve } of json.data.cohorts) {
        for (const [index, percent] of retention_curve.entries()) {
          const month = Number(String(vintage).slice(5)) + index;
          const end = new Date(Date.UTC(2026, month) - 1).toISOString();
          const at = end < august ? end : august;
          const active = await walk({ vintage, at, active: "true" });
          expect(active.length).to.equal((percent * began) / 100);
        }
        expect(await walk({ vintage, at: august })).to.have.length(began);
      }
    });

    const refused: readonly (readonly [query: Query, status: number, param: string])[] = [
      [{ vintage: "2026-13" }, 400, "vintage"],
      [{ vintage: "2026-Q5" }, 400, "vintage"],
      [{ active: "yes" }, 400, "active"],
      [{ product: "prod_unf_none" }, 422, "product"],
      [{ limit: "10", format: "csv" }, 400, "limit"],
    ];
    for (const [query, status, param] of refused) {
      it(`should refuse ${JSON.stringify(query)} with ${status}`, async () => {
        const { status: got, json } = await get("accounts", query);
        expect([got, json.error.param]).to.deep.equal([status, param]);
      });
    }
  });

  describe("GET /v1/accounts/{id}", () => {
    const at = Math.floor(Date.now() / 1000 - 40 * 86_400) * 1000;
    const day = (days: number) => new Date(at + days * 86_400_000).toISOString();
    let id: string;
    before(async () => {
      const ids = { subscription_id: "sub", customer_id: "somebody", product_id: "plan" };
      const plain = { amount: 10, ...ids };
      const reported = [
        { event_type: "subscription.new", occurred_at: day(0), transaction_id: "one" },
        { event_type: "transaction.sale", occurred_at: day(10), transaction_id: "two" },
        {
          event_type: "transaction.refund",
          amount: 4,
          occurred_at: day(12),
          transaction_id: "two",
        },
        // Later than its start: its MRR moves there.
        { event_type: "transaction.sale", occurred_at: day(15), customer_country: "DE" },
        // Of a payment nobody reported.
        { event_type: "transaction.refund", amount: 3, occurred_at: day(16) },
        { event_type: "subscription.churn", occurred_at: day(20) },
      ];
      for (const [index, event] of reported.entries()) {
        await endpoints.record({ ...plain, event_id: `account ${index}`, ...event });
      }
      await endpoints.booked();
      const [row] = await walk({ provider: "custom" });
      id = row?.id ?? "";
    });

    async function details(query: Query = {}): Promise<AccountAnswer> {
      const answer = await get(`accounts/${id}`, query);
      expect(answer.status, answer.text).to.equal(200);
      return accountAnswer.parse(answer.json);
    }
    const texts = (timeline: AccountAnswer["data"]["timeline"]) =>
      timeline.map((item) => [item.happened_at, item.type, item.detail, item.amount].join(" "));

    it("should be never the name its sender chose", () => {
      expect(id)
        .to.match(/^\S{20,}$/)
        .and.not.contain("somebody");
    });

    it("should show its subscriptions and all that happened, newest first", async () => {
      const { data } = await details();
      expect(data).to.include({ id, provider: "custom", mrr: 0, active: false, starting_mrr: 10 });
      expect(data.subscriptions).to.have.length(1);
      expect(data.subscriptions[0]).to.include({ subscription: "sub", mrr: 0, first_at: day(0) });
      const shown = texts(data.timeline).map((text) => text.replace(/tx_norm_\S+/, "tx"));
      expect(shown).to.deep.equal([
        `${day(20)} movement churn -10`,
        `${day(16)} refund tx -3`,
        `${day(15)} payment succeeded 10`,
        `${day(15)} country DE `,
        `${day(12)} refund tx -4`,
        `${day(10)} payment succeeded 10`,
        `${day(0)} payment succeeded 10`,
        `${day(0)} movement new 10`,
      ]);
    });

    it("should lead from each line to the event that reported it", async () => {
      const { timeline } = (await details()).data;
      const events = timeline.map(({ event_id: event }) => event ?? "none");
      // Start and payment are one event, and so are the payment and the country it told.
      expect(new Set(events).size).to.equal(6);
      for (const event of events) expect((await get(`events/${event}`)).status).to.equal(200);
      const [churned, , , , , , , started] = timeline;
      expect([churned?.change, started?.change]).to.deep.equal(["ended", "started"]);
    });

    it("should show what moved at one moment as one line, however it is called", async () => {
      const upgraded = `
        at         | account  | kind      | mrr     | accounts | sku   | provider | currency
        2026-01-10 | upgraded | new       |  20.000 |        1 | team  | stripe   | EUR
        2026-02-10 | upgraded | switch    | -20.000 |        0 | team  | stripe   | EUR
        2026-02-10 | upgraded | switch    |  20.000 |        0 | firm  | stripe   | EUR
        2026-02-10 | upgraded | expansion |  40.000 |        0 | firm  | stripe   | EUR
        2026-03-10 | upgraded | expansion | -60.000 |        0 | firm  | stripe   | EUR
        2026-03-10 | upgraded | expansion |  75.000 |        0 | group | stripe   | EUR
        2026-04-10 | upgraded | switch    | -75.000 |        0 | group | stripe   | EUR
        2026-04-10 | upgraded | switch    |  75.000 |        0 | firm  | stripe   | EUR
        2026-05-10 | upgraded | churn     | -75.000 |       -1 | firm  | stripe   | EUR
      `;
      const { service, tenant } = endpoints;
      const rows = movementsIn(upgraded);
      // Its country became known later: what was recorded without it is taken back.
      const moved = rows.slice(0, 1).flatMap((row) => [
        { ...row, country: "ZZ" },
        { ...row, country: "ZZ", mrr: "-20.000" },
      ]);
      await insertMovements(service.clickhouse, tenant, [...rows, ...moved]);
      const { json } = await get("accounts/upgraded", { at: august });
      const { timeline } = accountAnswer.parse(json).data;
      const shown = timeline.map(({ happened_at: time, type, detail, amount, parts }) => {
        const moves = parts.map(({ external_id: sku, mrr }) => `${sku} ${mrr}`).join(", ");
        return `${time.slice(0, 10)} ${type} ${detail} ${amount}: ${moves}`;
      });
      expect(shown).to.deep.equal([
        "2026-05-10 movement churn -75: prod_firm -75",
        "2026-04-10 movement switch 0: prod_firm 75, prod_group -75",
        "2026-03-10 movement expansion 15: prod_group 75, prod_firm -60",
        "2026-02-10 movement expansion 40: prod_firm 60, prod_team -20",
        "2026-01-10 movement new 20: prod_team 20",
      ]);
    });

    it("should show what began and ended without MRR, each once", async () => {
      const trial = { subscription_id: "trial", customer_id: "on trial", product_id: "plan" };
      const plain = { amount: 0, ...trial };
      for (const [index, event] of [
        { event_type: "subscription.new", occurred_at: day(1) },
        { event_type: "subscription.churn", occurred_at: day(3) },
        { event_type: "subscription.churn", occurred_at: day(4) },
        { event_type: "transaction.sale", amount: 5, occurred_at: day(3), product_id: "poster" },
      ].entries()) {
        await endpoints.record({ ...plain, event_id: `trial ${index}`, ...event });
      }
      await endpoints.booked();
      const { json } = await get("transactions", { provider: "custom", limit: "200" });
      const paid = json.data.find((row: { gross_amount: number }) => row.gross_amount === 5);
      const answer = await get(`accounts/${paid.account}`);
      expect(texts(accountAnswer.parse(answer.json).data.timeline)).to.deep.equal([
        `${day(3)} change ended `,
        `${day(3)} payment succeeded 5`,
        `${day(1)} change started `,
      ]);
    });

    it("should be the same page by page, and as an export", async () => {
      const whole = (await details()).data.timeline;
      for (const limit of ["1", "3"]) {
        const shown = [];
        for (let next: Query | null = { limit }; next !== null;) {
          const { data, pagination }: AccountAnswer = await details(next);
          shown.push(...data.timeline);
          next = pagination.next_cursor === null ? null : { cursor: pagination.next_cursor };
        }
        expect(shown).to.deep.equal(whole);
      }
      const { headers } = await get(`accounts/${id}`, { format: "csv" });
      expect(headers.get("x-total-count")).to.equal(String(whole.length));
    });

    it("should be as it was at a moment", async () => {
      const then = await details({ at: day(11) });
      expect(then.data).to.include({ mrr: 10, active: true });
      expect(texts(then.data.timeline).map((text) => text.split(" ")[1])).to.deep.equal([
        "payment",
        "payment",
        "movement",
      ]);
    });

    it("should know nobody of another workspace, environment or time", async () => {
      for (const [name, query] of [
        ["nobody", {}],
        [id, { at: day(-1) }],
      ] as const) {
        const answer = await get(`accounts/${name}`, query);
        expectError(answer, "404 account_not_found");
      }
    });
  });
});
