/** Proofs end to end: made by an admin, read by strangers, verified with node:crypto alone. */
import { execFile } from "node:child_process";
import { createPublicKey, verify } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect } from "chai";
import { signingKeyOf } from "../../api/proofs/keys.js";
import { limits } from "../../config.js";
import { projectFile } from "../../runtime/project-root.js";
import { startOfMonth } from "../../schemas/months.js";
import { utcDay } from "../../schemas/money/rates.js";
import { expectError, suiteEndpoints } from "../harness/endpoints.js";
import { until } from "../harness/promises.js";
import { testFolder } from "../harness/stores.js";

describe("Proofs", function suite() {
  this.timeout(60_000);
  const endpoints = suiteEndpoints();
  let path: string;

  const subscription = (name: string, monthsAgo: number, amount: number) =>
    endpoints.record({
      event_id: `proof-${name}`,
      event_type: "subscription.new",
      occurred_at: `${utcDay(startOfMonth(Date.now(), -monthsAgo))}T10:00:00Z`,
      subscription_id: name,
      customer_id: name,
      interval: "month",
      product_id: "Atlas",
      amount,
    });

  before(async () => {
    path = `${endpoints.path}/proofs`;
    await subscription("first", 3, 1_234.56);
    await subscription("second", 1, 765.43);
    await endpoints.booked();
    // What is known of the sources is the journal's, which follows the figures.
    const { service, workspace } = endpoints;
    const sentBy = Date.now();
    await until(async () => (await service.watermark.completeTo("journaled", workspace)) > sentBy);
  });

  const ask = (body: object) =>
    endpoints.manage("POST", path, { title: "Our figures", figure: "mrr", ...body });

  async function publish(body: object): Promise<string> {
    const { status, text, json } = await ask(body);
    expect(status, text).to.equal(201);
    expect(json.data.url).to.equal(`${endpoints.base}/proofs/${json.data.id}`);
    return `/proofs/${json.data.id}`;
  }

  /** As a stranger would: with the public keys, and with nothing of the service's own code. */
  async function isSigned(jws: string): Promise<boolean> {
    const { json } = await endpoints.call("/.well-known/jwks.json");
    const [head = "", payload = "", signature = ""] = jws.split(".");
    const { kid } = JSON.parse(Buffer.from(head, "base64url").toString());
    const jwk = json.keys.find((each: { readonly kid: string }) => each.kid === kid);
    const key = createPublicKey({ key: jwk, format: "jwk" });
    const signed = Buffer.from(`${head}.${payload}`);
    return verify(null, signed, key, Buffer.from(signature, "base64url"));
  }

  const payloadOf = (jws: string) =>
    JSON.parse(Buffer.from(jws.split(".")[1] ?? "", "base64url").toString());

  async function statementOf(address: string) {
    const { status, text, json } = await endpoints.call(`${address}.json`);
    expect(status, text).to.equal(200);
    return json.statement;
  }

  it("should show the interface's figure to anybody, signed", async () => {
    const address = await publish({ business: "Acme <1>" });
    const page = await endpoints.call(address);
    expect(page.status).to.equal(200);
    expect(page.text).to.include("€1,999.99").and.include("Acme &lt;1&gt;");
    expect(page.text).to.include("entered by the business itself");
    const { json } = await endpoints.call(`${address}.json`);
    const { statement, jws } = json;
    expect(payloadOf(jws)).to.deep.equal(statement);
    expect(await isSigned(jws)).to.equal(true);
    const asked = `/v1/metrics/mrr?at=${statement.at}&known_at=${statement.known_at}`;
    const { current_mrr: mrr } = (await endpoints.get(asked)).json.data;
    expect(statement).to.deep.include({
      iss: endpoints.base,
      sub: endpoints.base + address,
      title: "Our figures",
      business: "Acme <1>",
      figure: "mrr",
      value: mrr,
      text: "€1,999.99",
      currency: "EUR",
      frozen: false,
      period: null,
      filters: {},
    });
    const { events, integrations } = statement.known_by;
    expect(events).to.deep.equal([{ provider: "custom", checked: "api_key", share_pct: 100 }]);
    expect(integrations).to.have.length(1);
    expect(integrations[0]).to.deep.include({ provider: "stripe", reconciliation: null });
    expect(integrations[0].months).to.deep.include({ webhook: 0, none: 1 });

    const [head, payload = "", signature] = jws.split(".");
    const richer = JSON.stringify({ ...statement, value: 1_000_000 });
    for (const tampered of [
      [head, Buffer.from(richer).toString("base64url"), signature],
      [head, `${payload.startsWith("e") ? "f" : "e"}${payload.slice(1)}`, signature],
    ]) {
      expect(await isSigned(tampered.join("."))).to.equal(false);
    }
  });

  it("should be verified by the program in its page of docs/", async () => {
    const page = readFileSync(projectFile("docs", "proofs.md"), "utf8");
    const program = /```js\n(.*?)```/s.exec(page)?.[1] ?? "";
    const file = join(testFolder, "verify-proof.mjs");
    writeFileSync(file, program);
    const url = `${endpoints.base}${await publish({ business: "Acme" })}.json`;
    const { stdout } = await promisify(execFile)(process.execPath, [file, url]);
    expect(stdout)
      .to.match(/^true \{/)
      .and.include("business: 'Acme'");
  });

  it("should say how a month agreed with the provider", async () => {
    const { postgres } = endpoints.service;
    const { json } = await endpoints.manage("GET", `${endpoints.path}/integrations`);
    const month = utcDay(startOfMonth(Date.now(), -1)).slice(0, 7);
    await postgres.query(
      `INSERT INTO reconciliations (integration, month, state, due_at, compared_at, report)
       VALUES ($1, $2, 'done', now(), now(), '{"score_pct": 99.97}')`,
      [json.data[0].id, month],
    );
    const address = await publish({});
    const [integration] = (await statementOf(address)).known_by.integrations;
    expect(integration.reconciliation).to.deep.include({ month, score_pct: 99.97 });
    const { text } = await endpoints.call(address);
    expect(text).to.include(`Of ${month}, 99.97% of the cents agree with the list of Stripe`);
  });

  it("should need no cookie, set none, and show nothing else for a parameter", async () => {
    const address = await publish({ figure: "mrr_over_time", months: 4 });
    for (const form of ["", ".json", "/embed"]) {
      const plain = await endpoints.call(address + form);
      expect(plain.status).to.equal(200);
      expect(plain.headers.get("set-cookie")).to.equal(null);
      expect(plain.headers.get("cache-control")).to.equal("public, max-age=60");
      const etag = plain.headers.get("etag") ?? "";
      // Else fetch asks for a copy that no cache holds.
      const kept = { "if-none-match": etag, "cache-control": "max-age=0" };
      const again = await endpoints.call(address + form, { headers: kept });
      expect([again.status, again.text]).to.deep.equal([304, ""]);
      const headers = { cookie: "session=none", authorization: `Bearer ${endpoints.readKey}` };
      const query = "?at=2020-01-01&figure=revenue&provider=stripe&workspace=other";
      const asked = await endpoints.call(address + form + query, { headers });
      expect(asked.text).to.equal(plain.text);
      expect(plain.text, "loads or runs nothing").to.not.match(/<script|<img|<link|url\(|style="/);
      expect(plain.text).to.not.include(endpoints.workspace);
    }
    const policyOf = async (form: string) =>
      (await endpoints.call(address + form)).headers.get("content-security-policy");
    expect(await policyOf("")).to.match(/default-src 'none'.*frame-ancestors 'none'$/);
    expect(await policyOf("/embed")).to.match(/default-src 'none'.*frame-ancestors \*$/);
  });

  it("should contain no amount where amounts are hidden or rounded", async () => {
    const amounts = /1,?234\.56|1,?999\.99|765\.43/;
    const hidden = await publish({ figure: "mrr_over_time", months: 4, shown_as: "index" });
    const rounded = await publish({ shown_as: "two_digits" });
    const banded = await publish({ figure: "revenue", months: 4, shown_as: "at_least" });
    for (const address of [hidden, rounded, banded]) {
      for (const form of ["", ".json", "/embed"]) {
        const { text } = await endpoints.call(address + form);
        expect(text).to.not.match(amounts);
        if (address === hidden) expect(text).to.not.match(/€|EUR/);
      }
    }
    const { jws } = (await endpoints.call(`${hidden}.json`)).json;
    expect(JSON.stringify(payloadOf(jws))).to.not.match(amounts);
    const { series, currency } = await statementOf(hidden);
    expect(series.map((row: { readonly value: number }) => row.value)).to.deep.equal([
      null,
      100,
      100,
      162,
      162,
    ]);
    expect(currency).to.equal(null);
    expect(await statementOf(rounded)).to.include({ value: 2_000, text: "about €2,000" });
    expect(await statementOf(banded)).to.include({ value: 1_000, text: "at least €1,000" });
  });

  it("should show what the interface shows of each figure, and of a part", async () => {
    const of = async (body: object) => statementOf(await publish(body));
    const { json } = await endpoints.get("/v1/metrics/summary");
    const summary = json.data;
    expect((await of({ figure: "arr" })).value).to.equal(summary.arr);
    expect((await of({ figure: "active_subscribers" })).text).to.equal("2");
    expect((await of({ figure: "arpa" })).value).to.equal(summary.arpa);
    const growth = (await endpoints.get("/v1/metrics/mrr")).json.data.growth_mom_pct;
    expect((await of({ figure: "mrr_growth" })).value).to.equal(growth);
    const [from, to] = [-4, 0].map((months) => utcDay(startOfMonth(Date.now(), months)));
    const rates = (await endpoints.get(`/v1/metrics/rates?from=${from}&to=${to}`)).json.data;
    const churn = await of({ figure: "customer_churn", months: 4 });
    expect(churn.value).to.equal(rates.customer_churn_rate_pct);
    expect(churn.period).to.deep.equal({ from, to });
    const revenue = await of({ figure: "revenue_over_time", months: 4 });
    const asked = `/v1/metrics/revenue?from=${from}&to=${to}`;
    const months = (await endpoints.get(asked)).json.data.revenue;
    expect(revenue.series.map((row: { readonly value: number }) => row.value)).to.deep.equal(
      months.map((row: { readonly revenue: number }) => row.revenue),
    );
    const part = await publish({ filters: { provider: "stripe" } });
    expect(await statementOf(part)).to.deep.include({ value: 0, filters: { provider: "stripe" } });
    expect((await statementOf(part)).known_by.events).to.deep.equal([]);
    for (const form of ["", "/embed"]) {
      const { text } = await endpoints.call(part + form);
      expect(text).to.include("Only a part of it: provider: stripe.");
    }
  });

  it("should stay as it was frozen while a live one follows, once a minute", async () => {
    const [frozen, live] = [await publish({ frozen: true }), await publish({})];
    await subscription("third", 0, 100.01);
    await endpoints.booked();
    expect(await statementOf(frozen)).to.include({ text: "€1,999.99", frozen: true });
    expect(await statementOf(live)).to.include({ text: "€2,100", frozen: false });
    const { text } = await endpoints.call(`${live}.json`);
    await subscription("fourth", 0, 50);
    await endpoints.booked();
    expect((await endpoints.call(`${live}.json`)).text, "held").to.equal(text);
    const monthAgo = await publish({
      figure: "mrr_over_time",
      months: 2,
      frozen: true,
      at: utcDay(startOfMonth(Date.now()) - 1),
    });
    const values = (await statementOf(monthAgo)).series.map(
      (row: { readonly value: number }) => row.value,
    );
    expect(values).to.deep.equal([1_234.56, 1_234.56, 1_999.99]);
  });

  it("should be gone, and say so, once it was revoked or has expired", async () => {
    const { postgres } = endpoints.service;
    const address = await publish({});
    const id = address.replace("/proofs/", "");
    expect((await endpoints.call(address)).status).to.equal(200);
    const other = await endpoints.manage("DELETE", `/workspaces/none/proofs/${id}`);
    expect(other.status).to.equal(404);
    for (const _time of [1, 2]) {
      const { json } = await endpoints.manage("DELETE", `${path}/${id}`);
      expect(json.data.revoked_at).to.be.a("string");
    }
    for (const form of ["", "/embed"]) {
      const { status, text } = await endpoints.call(address + form);
      expect(status).to.equal(410);
      expect(text).to.include("This proof was revoked by the business").and.not.include("€");
    }
    const revoked = await endpoints.call(`${address}.json`);
    expect([revoked.status, revoked.json.error.code]).to.deep.equal([410, "proof_revoked"]);

    const tomorrow = new Date(Date.now() + 86_400_000).toISOString();
    const ending = await publish({ expires_at: tomorrow });
    await postgres.query("UPDATE proofs SET expires_at = now() WHERE id = $1", [
      ending.replace("/proofs/", ""),
    ]);
    const expired = await endpoints.call(ending);
    expect([expired.status, expired.text.includes("has expired")]).to.deep.equal([410, true]);
    expectError(await endpoints.call("/proofs/prf_none"), "404 proof_unknown");
    expectError(await endpoints.call("/proofs/prf_none.json"), "404 proof_unknown");

    const { json } = await endpoints.manage("GET", `${endpoints.path}/activity?limit=200`);
    const done = json.data.filter(({ object }: { readonly object: string }) => object === id);
    expect(done.map(({ action }: { readonly action: string }) => action)).to.deep.equal([
      "proof.revoked",
      "proof.revoked",
      "proof.created",
    ]);
  });

  it("should show what it would say before it is published, to an admin only", async () => {
    const listed = async () => (await endpoints.manage("GET", `${path}?limit=200`)).json.data;
    const before = await listed();
    const asked = { title: "Soon", figure: "mrr", shown_as: "at_least" };
    const { status, json } = await endpoints.manage("POST", `${path}/preview`, asked);
    expect(status).to.equal(200);
    expect(json.data).to.deep.include({ title: "Soon", business: "Endpoints", value: 2_000 });
    expect(await listed()).to.deep.equal(before);
  });

  it("should refuse what says nothing, or misleads", async () => {
    const cases: readonly (readonly [body: object, error: string])[] = [
      [{ shown_as: "index" }, "422 shown_as_unfit shown_as"],
      [{ figure: "customer_churn", shown_as: "at_least" }, "422 shown_as_unfit shown_as"],
      [{ months: 3 }, "422 months_unfit months"],
      [{ at: "2026-01-01" }, "422 at_unfit at"],
      [{ frozen: true, at: "2999-01-01" }, "422 moment_in_future at"],
      [{ expires_at: "2020-01-01T00:00:00Z" }, "422 expires_at_past expires_at"],
      [
        { figure: "active_subscribers", filters: { currency: "EUR" } },
        "422 figure_unavailable figure",
      ],
      [{ filters: { product: "none" } }, "422 product_unknown product"],
      [{ figure: "revenue", filters: { vintage: "2026" } }, "400 parameter_unknown vintage"],
    ];
    for (const [body, error] of cases) expectError(await ask(body), error);
  });

  it("should sign with a new key when all have had time to learn of it", async () => {
    const address = await publish({});
    const { jws } = (await endpoints.call(`${address}.json`)).json;
    const made = await endpoints.manage("POST", "/proof-keys");
    expect(made.status, made.text).to.equal(201);
    const { keys } = (await endpoints.call("/.well-known/jwks.json")).json;
    expect(keys).to.have.length(2);
    expect(keys[0].kid).to.equal(made.json.data.id);
    for (const key of keys) expect(key).to.have.all.keys("kty", "crv", "x", "kid", "use", "alg");
    expect(await isSigned(jws)).to.equal(true);
    const next = (await endpoints.call(`${await publish({})}.json`)).json.jws;
    expect(next.split(".")[0]).to.equal(jws.split(".")[0]);

    const signer = JSON.parse(Buffer.from(jws.split(".")[0], "base64url").toString()).kid;
    const revoke = () => endpoints.manage("DELETE", `/proof-keys/${signer}`);
    expect((await revoke()).status).to.equal(200);
    expectError(await revoke(), "404 proof_key_unknown");
    const left = (await endpoints.call("/.well-known/jwks.json")).json.keys;
    expect(left.map((each: { kid: string }) => each.kid)).to.deep.equal([made.json.data.id]);
    const anew = (await endpoints.call(`${address}.json`)).json.jws;
    expect(await isSigned(anew)).to.equal(true);

    const key = (kid: string, madeAt: number) => ({ kid, madeAt });
    const both = [key("new", 1_000_000), key("old", 0)];
    expect(signingKeyOf(both, 1_119_999)?.kid).to.equal("old");
    expect(signingKeyOf(both, 1_120_000)?.kid).to.equal("new");
    expect(signingKeyOf([key("first", 1_000_000)], 1_000_000)?.kid).to.equal("first");
    expect(signingKeyOf([], 0)).to.equal(null);
  });

  it("should be of a bounded number, of which revoked ones are none", async () => {
    const { postgres } = endpoints.service;
    await postgres.query(
      `INSERT INTO proofs (id, workspace, business, title, figure, filters, shown_as, origin,
         created_at)
       SELECT 'prf_' || n, $1, 'B', 'T', 'mrr', '{}', 'exact', 'http://localhost', now()
       FROM generate_series(1, $2) AS n`,
      [endpoints.workspace, limits.proofsMax],
    );
    expectError(await ask({}), "409 proofs_full");
    await postgres.query("UPDATE proofs SET revoked_at = now() WHERE workspace = $1", [
      endpoints.workspace,
    ]);
    await publish({});
  });
});
