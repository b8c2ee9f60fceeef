/** Who accounts are, in answers: to members of the workspace as it says, and never to a key. */
import { expect } from "chai";
import { accountsAnswer } from "../../api/accounts/schema.js";
import type { Role } from "../../workspaces/members/roles.js";
import { accountHasher } from "../../stores/vault/account-hash.js";
import { readRawEvent } from "../../stores/vault/vault.js";
import { normalize } from "../../processors/normalize/normalize.js";
import { topics } from "../../schemas/records/records.js";
import { enrichingOver } from "../harness/enriching.js";
import { readAll } from "../log/log-contract.js";
import { type Browser, memberOf } from "../harness/browser.js";
import { type Answer, type Endpoints, expectError, openEndpoints } from "../harness/endpoints.js";

const ada = { customer_name: "Ada Lovelace", customer_email: "Ada@Example.com" };
const shownAda = { id: "c1", name: "Ada Lovelace", email: "Ada@Example.com", provider_url: null };
const nobody = { id: null, name: null, email: null, provider_url: null };

describe("Customers in answers", function suite() {
  this.timeout(60_000);
  let shop: Endpoints;
  let account: string;
  let owner: Browser;
  let viewer: Browser;

  const memberAs = (role: Role): Promise<Browser> => memberOf(shop, role);

  const read = (by: Browser, path: string): Promise<Answer> => {
    const of = `workspace=${shop.workspace}&environment=live`;
    return by.call("GET", `${path}${path.includes("?") ? "&" : "?"}${of}`);
  };
  let sold = 0;
  const sell = async (customer_id: string, more: object): Promise<void> => {
    const event = {
      event_type: "subscription.new",
      subscription_id: `sub_${customer_id}`,
      product_id: "pro",
      amount: 10,
      // Of which a month has fewer by another definition.
      interval: "week",
      occurred_at: "2026-06-01T12:00:00Z",
      customer_id,
      ...more,
    };
    sold += 1;
    await shop.record(event, { "idempotency-key": `sale ${sold}` });
  };
  const set = async (customer_details: string): Promise<void> => {
    const { status, text, json } = await owner.call("PATCH", `/v1/manage${shop.path}`, {
      customer_details,
    });
    expect(status, text).to.equal(200);
    expect(json.data).to.deep.include({ id: shop.workspace, name: "Endpoints", customer_details });
    const settings = await viewer.call("GET", `/v1/manage${shop.path}/settings`);
    expect(settings.json.data).to.deep.equal({ customer_details });
  };

  before(async () => {
    shop = await openEndpoints();
    const { postgres, vault } = shop.service;
    const hash = await accountHasher(postgres, vault);
    account = hash(shop.workspace, "live", "custom", "c1");
    owner = await memberAs("owner");
    viewer = await memberAs("viewer");
    await sell("c1", ada);
    await sell("c2", {});
    await shop.booked();
  });

  const lists = [
    "/v1/accounts",
    "/v1/transactions",
    "/v1/mrr-movements",
    "/v1/metrics/mrr/changes?from_known_at=2000-01-01T00:00:00Z&at=2026-07-01T00:00:00Z",
    "/v1/metrics/mrr/compare?definition=revenuecat",
  ];
  const whatChanged = "/v1/metrics/mrr/what-changed?from=2000-01-01";

  for (const path of lists) {
    it(`should be in ${path} for a member, by account`, async () => {
      const { status, text, json } = await read(viewer, path);
      expect(status, text).to.equal(200);
      const rows: { id: string; account?: string; customer: object }[] = json.data;
      const found = rows.find((row) => [row.id, row.account].includes(account));
      expect(found?.customer).to.deep.equal(shownAda);
      expect(rows.map(({ customer }) => customer)).to.deep.include({ ...nobody, id: "c2" });
    });
  }

  it("should be in one account, one transaction and what changed by account", async () => {
    const details = await read(viewer, `/v1/accounts/${account}`);
    expect(details.json.data.customer).to.deep.equal(shownAda);
    const [{ id }] = (await read(viewer, `/v1/transactions?account=${account}`)).json.data;
    const one = await read(viewer, `/v1/transactions/${id}`);
    expect(one.json.data.customer).to.deep.equal(shownAda);
    const { rows } = (await read(viewer, whatChanged)).json.data;
    const row = rows.find((each: { account: string }) => each.account === account);
    expect(row.customer).to.deep.equal(shownAda);
    const byProduct = (await read(viewer, `${whatChanged}&by=product`)).json.data.rows;
    expect(byProduct[0]).not.to.have.property("customer");
  });

  it("should not be in any answer to a key", async () => {
    const [{ id }] = (await read(viewer, `/v1/transactions?account=${account}`)).json.data;
    const single = [`/v1/accounts/${account}`, `/v1/transactions/${id}`, whatChanged];
    for (const path of [...lists, ...single]) {
      for (const format of ["", "csv", "ndjson"]) {
        const url = path + (format && `${path.includes("?") ? "&" : "?"}format=${format}`);
        const { status, text } = await shop.get(url);
        expect(status, text).to.equal(200);
        expect(text, url).not.to.match(
          /"customer"|customer_(id|name|email|url)|Ada Lovelace|Ada@Example|"c1"/i,
        );
      }
    }
  });

  it("should be found by an exact e-mail, for a member only", async () => {
    for (const search of ["ada@example.com", " ADA@example.com", "c1"]) {
      const { json } = await read(viewer, `/v1/accounts?search=${encodeURIComponent(search)}`);
      expect(json.data.map(({ id }: { id: string }) => id)).to.deep.equal([account]);
    }
    const { json } = await read(viewer, "/v1/accounts?search=example.com");
    expect(json.data).to.deep.equal([]);
    expectError(await shop.get("/v1/accounts?search=ada@example.com"), "403 session_required");
  });

  it("should be columns of an export for a member", async () => {
    for (const path of [...lists, whatChanged]) {
      const url = `${path}${path.includes("?") ? "&" : "?"}format=csv`;
      const { status, text } = await read(viewer, url);
      expect(status, text).to.equal(200);
      const [head = "", ...rows] = text.trim().split("\r\n");
      expect(head).to.match(/customer_id,customer_name,customer_email,customer_url$/);
      expect(rows.some((row) => row.endsWith("c1,Ada Lovelace,Ada@Example.com,"))).to.equal(true);
    }
  });

  it("should be for admins and owners only, where the workspace says so", async () => {
    await set("admins");
    try {
      const admin = await memberAs("admin");
      for (const path of lists) {
        const seen = (await read(admin, path)).json.data;
        expect(JSON.stringify(seen), path).to.include("Ada@Example.com");
        const { data } = (await read(viewer, path)).json;
        expect(data.map(({ customer }: { customer: unknown }) => customer)).to.deep.equal(
          data.map(() => null),
        );
        const csv = await read(viewer, `${path}${path.includes("?") ? "&" : "?"}format=csv`);
        expect(csv.text).not.to.match(/customer_(id|name|email|url)|Ada Lovelace/);
      }
      const details = await read(viewer, `/v1/accounts/${account}`);
      expect(details.json.data.customer).to.equal(null);
      const searched = await read(viewer, "/v1/accounts?search=ada@example.com");
      expect(searched.json.data).to.deep.equal([]);
      const byId = await read(viewer, "/v1/accounts?search=c1");
      expect(byId.json.data, "an id is found by its hash").to.have.lengthOf(1);
    } finally {
      await set("members");
    }
  });

  it("should be changed by owners only", async () => {
    const admin = await memberAs("admin");
    const change = { customer_details: "off" };
    const answer = await admin.call("PATCH", `/v1/manage${shop.path}`, change);
    expectError(answer, "403 role_insufficient");
    const unknown = { customer_details: "everybody" };
    const refused = await owner.call("PATCH", `/v1/manage${shop.path}`, unknown);
    expect(refused.status).to.equal(422);
  });

  it("should be erased by an admin, and not kept again, also when all is read anew", async () => {
    const erase = (by: Browser, of: string) =>
      by.call("DELETE", `/v1/manage${shop.path}/accounts/${of}/customer`);
    expectError(await erase(viewer, account), "403 role_insufficient");
    expectError(await erase(owner, "x"), "404 account_unknown");
    const { status, text } = await erase(owner, account);
    expect(status, text).to.equal(200);
    const activity = (await owner.call("GET", `/v1/manage${shop.path}/activity`)).json.data;
    expect(activity[0]).to.deep.include({ action: "customer.erased", object: account });

    const shown = async () => (await read(viewer, `/v1/accounts/${account}`)).json.data.customer;
    expect(await shown()).to.deep.equal(nobody);
    await sell("c1", { ...ada, customer_name: "Ada Byron" });
    await shop.booked();
    // By a process that remembers nothing, as after a restore.
    const all = await readAll(shop.service.log, topics.raw);
    const own = all.filter(({ value }) => readRawEvent(value)?.meta.workspace === shop.workspace);
    expect(own).to.have.lengthOf(3);
    await normalize(await enrichingOver(shop.service), own);
    expect(await shown()).to.deep.equal(nobody);
    const { json } = await read(viewer, "/v1/accounts?search=ada@example.com");
    expect(json.data).to.deep.equal([]);
  });

  it("should be found without MRR, where nothing else narrows the search", async () => {
    const sale = { event_type: "transaction.sale", subscription_id: undefined };
    await sell("once", { ...sale, customer_email: "once@example.com" });
    await shop.booked();
    for (const search of ["once@example.com", "once"]) {
      const { json } = await read(viewer, `/v1/accounts?search=${search}`);
      expect(json.data).to.deep.equal([]);
      accountsAnswer.parse(json);
      const [found, ...more] = json.without_mrr;
      expect(more).to.deep.equal([]);
      expect(found).to.deep.include({ provider: "custom" });
      expect(found.customer).to.include({ id: "once", email: "once@example.com" });
      const opened = await read(viewer, `/v1/accounts/${found.id}`);
      expect(opened.status, opened.text).to.equal(200);
      const before = await read(viewer, `/v1/accounts?search=${search}&at=2026-05-31T00:00:00Z`);
      expect(before.json.without_mrr, "before its sale").to.deep.equal([]);
    }
    const withMrr = await read(viewer, "/v1/accounts?search=c2");
    expect([withMrr.json.data.length, withMrr.json.without_mrr]).to.deep.equal([1, []]);
    for (const narrowed of ["search=once&active=true", "search=once&provider=custom", "limit=1"]) {
      const { json } = await read(viewer, `/v1/accounts?${narrowed}`);
      expect(json, narrowed).not.to.have.property("without_mrr");
    }
  });

  it("should be nowhere once the workspace keeps nothing", async () => {
    await sell("c3", { customer_email: "grace@example.com" });
    await shop.booked();
    const search = () => read(viewer, "/v1/accounts?search=grace@example.com");
    expect((await search()).json.data).to.have.lengthOf(1);
    await set("off");
    expect((await search()).json.data).to.deep.equal([]);
    const { json } = await read(viewer, "/v1/accounts");
    for (const { customer } of json.data) expect(customer).to.equal(null);
    await sell("c4", { customer_email: "kept@example.com" });
    await shop.booked();
    const rows = await shop.service.postgres.query<{ account: string }>(
      "SELECT account FROM customers WHERE workspace = $1",
      [shop.workspace],
    );
    expect(rows, "only the mark of who was erased").to.deep.equal([{ account }]);
  });
});
