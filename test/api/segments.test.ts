/** Segments: the same part of the business in every answer, live and frozen. */
import { expect } from "chai";
import { narrower } from "../../api/segments/resolve.js";
import { namesIn } from "../../api/segments/customers.js";
import { accountHasher } from "../../stores/vault/account-hash.js";
import { once } from "node:events";
import { WebSocket } from "ws";
import { until } from "../harness/promises.js";
import { openReceiver } from "../harness/receiver.js";
import { type Browser, memberOf } from "../harness/browser.js";
import { type Endpoints, expectError, openEndpoints } from "../harness/endpoints.js";
import { allBut, some } from "../harness/query-rows.js";

/** Sums say which customers are in them: each is worth twice the one before. */
const sold = [
  { customer_id: "a", amount: 10, day: "2026-01-05", customer_country: "DE" },
  { customer_id: "b", amount: 20, day: "2026-01-20", customer_country: "FR" },
  { customer_id: "c", amount: 40, day: "2026-02-05", customer_country: "DE" },
  { customer_id: "d", amount: 80, day: "2026-03-05", customer_country: "FR" },
  { customer_id: "e", amount: 160, day: "2026-03-20", customer_country: "US" },
];
const at = "2026-03-31T00:00:00Z";
const notApplicable = "422 segment_not_applicable segment";
const range = "from=2026-01-01&to=2026-04-01";

describe("Segments", function suite() {
  // Two shards answer hundreds of calls.
  this.timeout(240_000);
  let shop: Endpoints;
  let owner: Browser;
  let complete: string;
  const accounts = new Map<string, string>();

  before(async () => {
    shop = await openEndpoints();
    const { postgres, vault } = shop.service;
    const hash = await accountHasher(postgres, vault);
    owner = await memberOf(shop, "owner");
    for (const { customer_id, day, ...sale } of sold) {
      accounts.set(customer_id, hash(shop.workspace, "live", "custom", customer_id));
      await shop.record({
        event_type: "subscription.new",
        event_id: customer_id,
        customer_id,
        customer_email: `${customer_id}@example.com`,
        subscription_id: `sub_${customer_id}`,
        transaction_id: `paid_${customer_id}`,
        product_id: customer_id < "c" ? "basic" : "pro",
        occurred_at: `${day}T12:00:00Z`,
        ...sale,
      });
    }
    complete = await shop.booked();
  });

  const url = () => `/v1/manage${shop.path}/segments`;
  async function made(body: object) {
    const { status, text, json } = await owner.call("POST", url(), { name: "Made", ...body });
    expect(status, text).to.equal(201);
    return json.data;
  }
  async function read(path: string) {
    const answer = await shop.get(`/v1/${path}`);
    expect(answer.status, `${path}: ${answer.text}`).to.equal(200);
    return answer.json;
  }
  const sumOf = (rows: readonly Record<string, number>[], name: string) =>
    rows.reduce((sum, row) => sum + (row[name] ?? 0), 0);

  /** What each call says the part is worth: all of them mean the same customers. */
  const asked: Readonly<Record<string, (query: string) => Promise<number>>> = {
    summary: async (query) => (await read(`metrics/summary?${range}&${query}`)).data.mrr,
    "summary over time": async (query) =>
      (await read(`metrics/summary?${range}&interval=month&${query}`)).data.series.at(-1).mrr,
    movements: async (query) =>
      (await read(`metrics/mrr/movements?${range}&${query}`)).data.totals.end_mrr,
    "movements by country": async (query) =>
      sumOf(
        (await read(`metrics/mrr/movements?${range}&interval=year&group_by=country&${query}`)).data
          .movements,
        "end_mrr",
      ),
    rates: async (query) =>
      (await read(`metrics/rates?${range}&at=${at}&${query}`)).data.series.at(-1).mrr,
    "what changed": async (query) =>
      (await read(`metrics/mrr/what-changed?${range}&${query}`)).data.difference,
    "what changed, by row": async (query) =>
      sumOf((await read(`metrics/mrr/what-changed?${range}&${query}`)).data.rows, "difference"),
    "single movements": async (query) => sumOf((await read(`mrr-movements?${query}`)).data, "mrr"),
    accounts: async (query) => sumOf((await read(`accounts?${query}`)).data, "mrr"),
    revenue: async (query) => (await read(`metrics/revenue?${range}&${query}`)).data.totals.revenue,
    "revenue by day": async (query) =>
      sumOf((await read(`metrics/revenue?${range}&interval=day&${query}`)).data.revenue, "revenue"),
    "revenue as known": async (query) =>
      (await read(`metrics/revenue?${range}&known_at=${complete}&${query}`)).data.totals.revenue,
    transactions: async (query) =>
      sumOf((await read(`transactions?${query}`)).data, "gross_amount"),
    products: async (query) =>
      (await read(`products?period=lifetime&${query}`)).totals.total_revenue,
    "products' MRR": async (query) => (await read(`products?${query}`)).totals.mrr,
  };
  const ofAll = Object.keys(asked);
  const ofCohorts = async (query: string) =>
    sumOf((await read(`metrics/cohorts?${query}`)).data.cohorts, "starting_mrr");

  it("should mean the same customers in every call", async () => {
    const german = await made({ filters: { country: "DE" } });
    const listed = await made({ customers: "a\nb@example.com\nsub_none\ne" });
    expect(listed.unmatched).to.deep.equal(["sub_none"]);
    expect(listed.accounts).to.equal(3);
    const both = await made({ filters: { country: "DE,US" }, customers: "a\nb\ne" });
    const priced = await made({ filters: { first_price: "20-80" } });
    const few = await made({
      filters: { first_price: "40-", country: "DE,US" },
      customers: "b\nc",
    });
    const wrong: string[] = [];
    for (const [query, sum] of [
      [`segment=${german.id}`, 50],
      [`segment=${german.id}&country=DE,FR`, 50],
      [`segment=${german.id}&country=FR`, 0],
      [`segment=${german.id}&country=-DE`, 0],
      [`segment=${listed.id}`, 190],
      [`segment=${listed.id}&country=FR`, 20],
      [`segment=${both.id}`, 170],
      [`segment=${priced.id}`, 60],
      [`segment=${priced.id}&country=FR`, 20],
      [`segment=${few.id}`, 40],
    ] as const) {
      const found = await Promise.all(Object.values(asked).map((ask) => ask(query)));
      for (const [index, name] of ofAll.entries()) {
        if (found[index] === sum) continue;
        wrong.push(`${name} ${query}: ${found[index]} instead of ${sum}`);
      }
    }
    expect(wrong).to.deep.equal([]);
    expect(await ofCohorts(`segment=${listed.id}`)).to.equal(190);
    expect(await ofCohorts(`segment=${priced.id}`)).to.equal(60);
    expectError(await shop.get(`/v1/metrics/cohorts?segment=${both.id}`), notApplicable);
  });

  it("should filter by whole vintages, and count accounts of a list", async () => {
    const first = await made({ filters: { vintage: "2026-Q1", product: "-none" } });
    expectError(await shop.get(`/v1/accounts?segment=${first.id}`), "422 product_unknown product");
    const began = await made({ filters: { vintage: "2026-Q1" } });
    const query = `segment=${began.id}&vintage=2026-01,2026-02`;
    expect(await asked.movements?.(query)).to.equal(70);
    expect(await asked.accounts?.(query)).to.equal(70);
    const list = await made({ customers: 'id;name\na;Ada\n"d";"D, the fourth"' });
    const { data } = await read(`metrics/summary?${range}&segment=${list.id}`);
    expect([data.mrr, data.active_subscribers]).to.deep.equal([90, 2]);
    const compared = await read(`metrics/mrr/compare?definition=stripe&segment=${list.id}`);
    expect(compared.comparison.ours).to.equal(90);
    const since = "from_known_at=2026-01-01T00:00:00Z&at=2026-04-01T00:00:00Z";
    const changes = await read(`metrics/mrr/changes?${since}&segment=${list.id}`);
    expect([changes.readings.to.mrr, sumOf(changes.data, "mrr")]).to.deep.equal([90, 90]);
  });

  it("should answer the revision that a link names, also after changes and deletion", async () => {
    const { id } = await made({ filters: { country: "DE" } });
    const frozen = await shop.get(`/v1/metrics/summary?${range}&segment=${id}`);
    expect(frozen.headers.get("segment")).to.equal(`${id}.1`);
    const changed = await owner.call("PATCH", `${url()}/${id}`, { filters: { country: "FR" } });
    expect(changed.json.data.revision).to.equal(2);
    expect(await asked.summary?.(`segment=${id}`)).to.equal(100);
    const renamed = await owner.call("PATCH", `${url()}/${id}`, { name: "French" });
    expect([renamed.json.data.revision, renamed.json.data.name]).to.deep.equal([2, "French"]);
    expect((await owner.call("DELETE", `${url()}/${id}`)).status).to.equal(200);
    expect(await asked.summary?.(`segment=${id}.1`)).to.equal(50);
    expect(await asked.summary?.(`segment=${id}.2`)).to.equal(100);
    expectError(await shop.get(`/v1/accounts?segment=${id}`), "422 segment_unknown segment");
    expectError(await shop.get(`/v1/accounts?segment=${id}.3`), "422 segment_unknown segment");
  });

  it("should keep the pages of a list to the revision of the first", async () => {
    const { id } = await made({ filters: { country: "DE,FR" } });
    const first = await read(`accounts?segment=${id}&limit=2`);
    await owner.call("PATCH", `${url()}/${id}`, { filters: { country: "US" } });
    const next = await read(`accounts?cursor=${first.pagination.next_cursor}&limit=10`);
    expect([...first.data, ...next.data].map(({ mrr }) => mrr)).to.deep.equal([80, 40, 20, 10]);
    const csv = await shop.get(`/v1/accounts?segment=${id}&format=csv`);
    expect(csv.text.trim().split("\r\n")).to.have.length(2);
  });

  it("should be watched by alerts and be sent as digests, at one revision", async () => {
    const { id } = await made({ name: "Germans", filters: { country: "DE" } });
    const condition = { is: "above", value: 40 };
    const rule = { on: "figure", figure: "mrr", interval: "month", condition };
    const alerts = `/v1/manage${shop.path}/alerts/test`;
    const tested = await owner.call("POST", alerts, {
      rule: { ...rule, filters: { segment: id } },
    });
    expect(tested.status, tested.text).to.equal(200);
    const { title, is_true_now: isTrue } = tested.json.data;
    expect([title, isTrue]).to.deep.equal(["MRR (segment Germans) above €40.00", true]);
    const preview = `/v1/manage${shop.path}/digests/preview?frequency=monthly&segment=${id}`;
    const { status, text, json } = await owner.call("GET", preview);
    expect(status, text).to.equal(200);
    expect(json.data.subject).to.match(/^Endpoints \(Germans\), .*: MRR €50.00$/);
    expect(json.data.text).to.include(`segment=${id}.1`);
    const began = await made({ filters: { vintage: "2026-01" } });
    const refused = await owner.call("GET", preview.replace(id, began.id));
    expectError(refused, "422 segment_not_applicable segment");
  });

  it("should refuse what cannot be filtered, and what another workspace has", async () => {
    const { id } = await made({ filters: { vintage: "2026-01" } });
    expectError(await shop.get(`/v1/metrics/revenue?segment=${id}`), notApplicable);
    expectError(await shop.get(`/v1/transactions?segment=${id}`), notApplicable);
    const other = await openEndpoints({ hasStripe: false });
    for (const name of [id, `${id}.1`]) {
      expectError(await other.get(`/v1/accounts?segment=${name}`), "422 segment_unknown segment");
    }
    const { key } = await shop.newKey("Test");
    expectError(await shop.get(`/v1/accounts?segment=${id}.1`, key), "422 segment_unknown segment");
    const unreadable = { name: "Odd", filters: { country: "Germany" } };
    expectError(await owner.call("POST", url(), unreadable), "422 field_invalid filters.country");
    expectError(await owner.call("POST", url(), { name: "None" }), "422 field_invalid body");
    const list = { name: "List", customers: "a" };
    expectError(await shop.manage("POST", `${shop.path}/segments`, list), "403 session_required");
  });

  it("should know first prices as of each reading, in every order and definition", async () => {
    const { id } = await made({ filters: { first_price: "20.5-50" } });
    const query = `segment=${id}`;
    expect(await asked.movements?.(query)).to.equal(40);
    // An earlier start came late: it began with more.
    const earlier = { ...sold[0], amount: 25, day: undefined, occurred_at: "2026-01-02T12:00:00Z" };
    const sale = { event_type: "subscription.new", event_id: "a_first" };
    const ids = { subscription_id: "sub_a", transaction_id: "paid_a_first", product_id: "basic" };
    await shop.record({ ...sale, ...ids, ...earlier });
    const known = await shop.booked();
    expect(await asked.movements?.(query)).to.equal(50);
    expect(await asked["revenue"]?.(query)).to.equal(75);
    const sums = async (path: string) => sumOf((await read(path)).data, "gross_amount");
    expect(await sums(`transactions?${query}&sort=normalized_amount`)).to.equal(75);
    expect(await sums(`transactions?${query}&known_at=${complete}`)).to.equal(40);
    const frozen = `metrics/mrr/movements?${range}&${query}&known_at=${complete}`;
    expect((await read(frozen)).data.totals.end_mrr).to.equal(40);
    const compared = await read(`metrics/mrr/compare?definition=stripe&${query}`);
    expect(compared.comparison.ours).to.equal(50);
    const since = `from_known_at=${complete}&to_known_at=${known}&at=2026-04-01T00:00:00Z`;
    const changes = await read(`metrics/mrr/changes?${since}&${query}`);
    const { from, to } = changes.readings;
    expect([from.mrr, to.mrr, sumOf(changes.data, "mrr")]).to.deep.equal([50, 50, 0]);
    for (const path of ["metrics/trials", "metrics/failed-payments"]) {
      expect((await shop.get(`/v1/${path}?${query}`)).status, path).to.equal(200);
    }
    const wrong = { name: "Odd", filters: { first_price: "50-10" } };
    const refused = await owner.call("POST", url(), wrong);
    expectError(refused, "422 field_invalid filters.first_price");
  });

  it("should pass single events on to sockets and webhooks", async () => {
    const { id } = await made({ filters: { product: await productOf("basic") }, customers: "a" });
    const vintage = await made({ filters: { vintage: "2026" } });
    const receiver = await openReceiver("of a segment");
    const hooks = `/v1/manage${shop.path}/webhooks`;
    const endpoint = { environment: "Production", url: receiver.url };
    const hook = (segment: string) =>
      owner.call("POST", hooks, {
        ...endpoint,
        events: ["transaction.recorded"],
        filters: { segment },
      });
    expectError(await hook(vintage.id), "422 segment_not_applicable segment");
    expectError(await hook(`seg_${"0".repeat(20)}`), "422 segment_unknown segment");
    const { status, text, json } = await hook(id);
    expect(status, text).to.equal(201);
    receiver.secrets = [json.data.secret];
    const stream = `${shop.base.replace("http", "ws")}/v1/events/stream?segment=`;
    const headers = { Authorization: `Bearer ${shop.readKey}` };
    const socket = new WebSocket(stream + id, { headers });
    const upgraded = once(socket, "upgrade");
    const [answer] = await upgraded;
    expect(answer.headers.segment).to.equal(`${id}.1`);
    const messages: string[] = [];
    socket.on("message", (data: Buffer) => messages.push(JSON.parse(data.toString()).gross_amount));
    const refused = new WebSocket(stream + vintage.id, { headers });
    const [, { statusCode }] = await once(refused, "unexpected-response");
    expect(statusCode).to.equal(422);
    let sales = 0;
    const sell = async (customer_id: string, product_id: string) => {
      sales += 1;
      const now = { occurred_at: new Date().toISOString(), amount: sales };
      const ids = { event_id: `sale_${sales}`, transaction_id: `sale_${sales}`, customer_id };
      await shop.record({ event_type: "transaction.sale", product_id, ...ids, ...now });
    };
    for (const [customer, product] of [
      ["b", "basic"],
      ["a", "pro"],
      ["a", "basic"],
    ] as const) {
      await sell(customer, product);
    }
    await until(() => messages.length > 0 && receiver.taken.length > 0);
    expect(receiver.taken.map(({ data }) => data.gross_amount)).to.deep.equal([3]);
    expect(messages).to.deep.equal([3]);
    // An endpoint follows its segment, which keeps to what single events know.
    const unfit = await owner.call("PATCH", `${url()}/${id}`, { filters: { vintage: "2026" } });
    expectError(unfit, "422 segment_not_applicable segment");
    await owner.call("PATCH", `${url()}/${id}`, { filters: {}, customers: "b" });
    await owner.call("DELETE", `${url()}/${id}`);
    await sell("a", "basic");
    await sell("b", "pro");
    await until(() => receiver.taken.length > 1 && messages.length > 1);
    expect(receiver.taken.map(({ data }) => data.gross_amount)).to.deep.equal([3, 5]);
    expect(messages).to.deep.equal([3, 4]);
    socket.terminate();
  });

  it("should be proven as it was when it was published", async () => {
    const content = { filters: { country: "US", first_price: "100-" }, customers: "c\ne" };
    const { id } = await made(content);
    const given = { title: "Ours", figure: "mrr", filters: { segment: id } };
    const published = await owner.call("POST", `/v1/manage${shop.path}/proofs`, given);
    expect(published.status, published.text).to.equal(201);
    await owner.call("PATCH", `${url()}/${id}`, { filters: { country: "DE" } });
    await owner.call("DELETE", `${url()}/${id}`);
    const { pathname } = new URL(published.json.data.url);
    const { statement } = (await shop.call(`${pathname}.json`)).json;
    expect(statement).to.deep.include({
      value: 160,
      filters: { segment: `${id}.1` },
      segment: { filters: content.filters, is_of_list: true },
    });
    const page = await shop.call(pathname);
    expect(page.text).to.include("country: US; first price: 100-; customers of a list");
    expectError(
      await owner.call("POST", `/v1/manage${shop.path}/proofs`, given),
      "422 segment_unknown segment",
    );
  });

  async function productOf(name: string): Promise<string> {
    const { data } = await read("products?period=lifetime");
    return data.find((each: { name: string }) => each.name.toLowerCase() === name).id;
  }

  it("should read lists as text and as CSV", () => {
    const cases: readonly [text: string, names: readonly string[]][] = [
      ["a@b.example\r\nc\n\na@b.example\n", ["a@b.example", "c"]],
      ["\ufeffCustomer ID,Name\ncus_1,Ada\ncus_2,Bob", ["cus_1", "cus_2"]],
      ['"a, b"\tx\n"say ""it"""', ["a, b", 'say "it"']],
    ];
    for (const [text, names] of cases) expect(namesIn(text)).to.deep.equal(names);
    expect(() => namesIn("email\n")).to.throw("empty");
    const tooMany = Array.from({ length: 10_001 }, (_, line) => `c${line}`).join("\n");
    expect(() => namesIn(tooMany)).to.throw("10001 lines");
  });

  it("should leave what passes two filters of one kind", () => {
    const values = ["A", "B", "C", "D"];
    const filters = [some("A", "B"), some("B", "C"), some(), allBut("A"), allBut("B", "C")];
    const passes = (of: (typeof filters)[number], value: string) =>
      of.values.includes(value) !== of.isNot;
    for (const one of filters) {
      for (const other of filters) {
        const both = narrower(one, other);
        const wanted = values.filter((value) => passes(one, value) && passes(other, value));
        expect(values.filter((value) => passes(both, value))).to.deep.equal(wanted);
      }
    }
  });
});
