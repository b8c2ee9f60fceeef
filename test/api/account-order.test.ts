/** Accounts in an order, and found by what a provider calls them: asked of the real service. */
import { expect } from "chai";
import { type Account, accountsAnswer } from "../../api/accounts/schema.js";
import { type Browser, memberOf } from "../harness/browser.js";
import { expectError, jsonLines, suiteEndpoints } from "../harness/endpoints.js";
import { movementsIn } from "../harness/movement-table.js";
import { insertMovements } from "../harness/query-rows.js";

type Query = Readonly<Record<string, string>>;

const story = `
  at         | account | kind         | mrr     | accounts | sku | provider
  2026-01-10 | a       | new          |  10.000 |        1 | a   | stripe
  2026-05-01 | a       | contraction  |  -2.000 |        0 | a   | stripe
  2026-02-20 | b       | new          |  20.004 |        1 | b   | stripe
  2026-06-10 | b       | expansion    |  10.000 |        0 | b   | stripe
  2026-04-02 | c       | new          |   8.000 |        1 | a   | apple
  2026-03-01 | d       | new          |   5.000 |        1 | b   | stripe
  2026-07-01 | d       | churn        |  -5.000 |       -1 | b   | stripe
  2026-03-02 | e       | new          |   5.000 |        1 | b   | stripe
  2026-06-30 | e       | churn        |  -5.000 |       -1 | b   | stripe
  2026-07-20 | a       | expansion    |   4.000 |        0 | a   | stripe
  2026-07-20 | a       | expansion    |  -4.000 |        0 | a   | stripe
  2026-01-05 | b       | expansion    |   4.000 |        0 | b   | stripe
  2026-01-05 | b       | expansion    |  -4.000 |        0 | b   | stripe
  2026-02-01 | ghost   | new          |   9.000 |        1 | a   | stripe
  2026-02-01 | ghost   | new          |  -9.000 |       -1 | a   | stripe
  2026-02-02 | e       | expansion    |   4.000 |        0 | a   | stripe
  2026-02-02 | e       | expansion    |  -4.000 |        0 | a   | stripe
`;
const august = "2026-08-01T00:00:00Z";

describe("The order of accounts", () => {
  const endpoints = suiteEndpoints();
  before(() => {
    const { service, tenant } = endpoints;
    return insertMovements(service.clickhouse, tenant, movementsIn(story));
  });

  const get = (query: Query) =>
    endpoints.get(`/v1/accounts?${new URLSearchParams(query).toString()}`);
  async function pageOf(query: Query) {
    const answer = await get(query);
    expect(answer.status, answer.text).to.equal(200);
    return accountsAnswer.parse(answer.json);
  }
  /** @param between done after the first page */
  async function walk(query: Query, between = async () => {}): Promise<Account[]> {
    const first = await pageOf(query);
    const accounts = [...first.data];
    await between();
    for (let next = first.pagination.next_cursor; next !== null;) {
      const { data, pagination } = await pageOf({ cursor: next });
      accounts.push(...data);
      next = pagination.next_cursor;
    }
    return accounts;
  }
  const idsOf = (accounts: readonly Account[]) => accounts.map(({ id }) => id).join(" ");

  const orders: readonly (readonly [query: Query, ids: string])[] = [
    [{}, "b a c d e"],
    [{ sort: "-mrr" }, "b a c d e"],
    [{ sort: "mrr" }, "d e a c b"],
    [{ sort: "-first_at" }, "c e d b a"],
    [{ sort: "first_at" }, "a b d e c"],
    [{ sort: "-last_at" }, "d e b a c"],
    [{ sort: "last_at" }, "c a b e d"],
    [{ sort: "-mrr", active: "true" }, "b a c"],
    [{ sort: "-last_at", active: "false" }, "d e"],
    [{ sort: "-last_at", provider: "stripe", active: "true" }, "b a"],
    [{ sort: "-last_at", vintage: "2026-03" }, "d e"],
    [{ sort: "last_at", at: "2026-06-15T00:00:00Z" }, "d e c a b"],
  ];
  for (const [query, ids] of orders) {
    it(`should be ${ids} by ${JSON.stringify(query)}, page by page and as an export`, async () => {
      const asked = { at: august, ...query };
      expect(idsOf(await walk(asked))).to.equal(ids);
      for (const limit of ["1", "2", "3"]) {
        expect(idsOf(await walk({ ...asked, limit })), limit).to.equal(ids);
      }
      const { text } = await get({ ...asked, format: "ndjson" });
      expect(idsOf(jsonLines(text))).to.equal(ids);
    });
  }

  it("should leave out who has nothing in a part, though it was booked there once", async () => {
    const rows = movementsIn(`
      at         | account | kind      | mrr    | accounts | currency
      2026-06-05 | a       | expansion |  3.000 |        0 | USD
      2026-06-05 | e       | expansion |  4.000 |        0 | USD
      2026-06-05 | e       | expansion | -4.000 |        0 | USD
      2026-06-06 | d       | expansion |  4.000 |        0 | USD
      2026-06-07 | d       | expansion | -4.000 |        0 | USD
    `);
    const vintages: Query = { a: "2026-01-01", e: "2026-03-01", d: "2026-03-01" };
    const { service, tenant } = endpoints;
    await insertMovements(
      service.clickhouse,
      tenant,
      rows.map((row) => ({ ...row, vintage: vintages[row.account] ?? row.vintage })),
    );
    const query = { at: august, currency: "USD" };
    for (const limit of ["1", "50"]) {
      expect(idsOf(await walk({ ...query, limit }))).to.equal("a d");
      expect(idsOf(await walk({ ...query, limit, sort: "mrr" }))).to.equal("d a");
    }
  });

  it("should hold while a walk goes on, whatever is booked meanwhile", async () => {
    for (const [index, sort] of ["-mrr", "first_at", "-last_at"].entries()) {
      const asked = { sort, limit: "2" };
      const before = await walk({ sort });
      const later = new Date(Date.now() + 1_000).toISOString();
      const rows = movementsIn(`
        at         | account        | kind      | mrr     | accounts
        2026-07-25 | c              | expansion | 100.000 |        0
        2026-01-01 | fresh${index} | new       | 500.000 |        1
      `);
      const { service, tenant } = endpoints;
      const shown = await walk(asked, () =>
        insertMovements(
          service.clickhouse,
          tenant,
          rows.map((row) => ({ ...row, recorded_at: Date.parse(later) })),
        ),
      );
      expect(shown).to.deep.equal(before);
      // Recorded ahead of time, it is there for the next walk once that time has come.
      await new Promise((resolve) => setTimeout(resolve, Date.parse(later) - Date.now()));
      await endpoints.ingest(sale(`after ${index}`, "nobody", "EUR"));
      await endpoints.booked();
      expect(idsOf(await walk({ sort }))).to.include(`fresh${index}`);
    }
  });

  it("should refuse another order, and another one beside a cursor", async () => {
    const { status, json } = await get({ sort: "name" });
    expect([status, json.error.param]).to.deep.equal([400, "sort"]);
    const { pagination } = await pageOf({ limit: "1", sort: "mrr" });
    const cursor = String(pagination.next_cursor);
    expectError(await get({ cursor, sort: "-mrr" }), "400 cursor_invalid");
  });

  const sale = (id: string, customer: string, currency: string) => ({
    provider: "stripe",
    event_type: "subscription.new",
    event_id: id,
    transaction_id: `pi_${id}`,
    subscription_id: `sub_${id}`,
    customer_id: customer,
    product_id: "plan",
    amount: 7,
    currency,
  });

  describe("search", () => {
    let member: Browser;
    before(async () => {
      member = await memberOf(endpoints, "viewer");
      await endpoints.ingest(sale("one", "cus_one", "EUR"));
      await endpoints.ingest(sale("two", "cus_two", "EUR"));
      await endpoints.booked();
    });

    const find = (search: string, more: Query = {}) => {
      const { workspace } = endpoints;
      const query = new URLSearchParams({ workspace, environment: "live", search, ...more });
      return member.call("GET", `/v1/accounts?${query.toString()}`);
    };
    async function found(search: string, more: Query = {}): Promise<Account[]> {
      const answer = await find(search, more);
      expect(answer.status, answer.text).to.equal(200);
      return accountsAnswer.parse(answer.json).data;
    }

    it("should find a customer by the provider's own id, and nobody else", async () => {
      const [one, ...others] = await found("cus_one");
      expect(others).to.deep.equal([]);
      const [two] = await found(" cus_two ");
      expect(one).to.include({ mrr: 7, provider: "stripe" });
      expect(one?.id).to.not.equal(two?.id);
      for (const wrong of ["cus_", "CUS_THREE", "cus_one2"]) {
        expect(await found(wrong), wrong).to.deep.equal([]);
      }
    });

    it("should find who paid by the id of the payment, and an account by its own", async () => {
      const [one] = await found("cus_one");
      expect(await found("pi_one")).to.deep.equal([one]);
      expect(await found(String(one?.id))).to.deep.equal([one]);
      expect(idsOf(await found("b", { at: august }))).to.equal("b");
    });

    it("should look in the part that is asked for only", async () => {
      expect(await found("cus_one", { provider: "apple" })).to.deep.equal([]);
      expect(await found("cus_one", { active: "false" })).to.deep.equal([]);
      expect(await found("cus_one", { environment: "test" })).to.deep.equal([]);
    });

    it("should be of members only: a key could try who is a customer", async () => {
      expectError(await get({ search: "cus_one" }), "403 session_required");
    });
  });
});
