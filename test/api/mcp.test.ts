/** The MCP server, asked by the SDK's own client over HTTP. */
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { expect } from "chai";
import { operations } from "../../api/docs/operations.js";
import { tools } from "../../api/mcp/tools.js";
import { expectError, suiteEndpoints } from "../harness/endpoints.js";

describe("POST /mcp", () => {
  const endpoints = suiteEndpoints();
  let client: Client;

  before(async () => {
    for (const [index, day] of ["2026-05-03", "2026-06-03"].entries()) {
      await endpoints.record({
        event_id: `mcp-${index}`,
        event_type: "subscription.new",
        occurred_at: `${day}T10:00:00Z`,
        subscription_id: `subscription-${index}`,
        customer_id: `customer-${index}`,
        interval: "month",
        product_id: "atlas",
        amount: 30,
      });
    }
    await endpoints.booked();
    client = await connect(endpoints.readKey);
  });

  after(() => client.close());

  async function connect(key: string): Promise<Client> {
    const opened = new Client({ name: "test", version: "1" });
    const headers = { authorization: `Bearer ${key}` };
    const url = new URL("/mcp", endpoints.base);
    await opened.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } }));
    return opened;
  }

  async function ask(name: string, given: Readonly<Record<string, unknown>> = {}) {
    const { content, isError = false } = await client.callTool({ name, arguments: given });
    const [part] = Array.isArray(content) ? content : [];
    return { isError, text: String(part?.text) };
  }

  it("should offer every list and figure a key may read, and say it only reads", async () => {
    const { tools: listed } = await client.listTools();
    const readable = operations.filter(
      ({ right, tag }) => right === "read" && (tag === "Lists" || tag === "Metrics"),
    );
    expect(tools.map(({ path }) => path)).to.have.members(readable.map(({ path }) => path));
    for (const { name, description, inputSchema, annotations } of listed) {
      expect(name).to.match(/^[a-z_]+$/);
      expect(description, name).to.match(/^.{20,}/);
      expect(annotations?.readOnlyHint, name).to.equal(true);
      expect(inputSchema.properties, name).not.to.have.any.keys("workspace", "format");
    }
    const mrr = listed.find(({ name }) => name === "mrr");
    expect(mrr?.inputSchema.properties).to.have.keys("at", "definition", "known_at");
    const account = listed.find(({ name }) => name === "account");
    expect(account?.inputSchema.required).to.deep.equal(["id"]);
  });

  it("should answer what the interface answers, with a frozen link and a definition", async () => {
    const { text, isError } = await ask("mrr", { at: "2026-06-30" });
    expect(isError, text).to.equal(false);
    const { proof, definition, known_at: knownAt, ...answer } = JSON.parse(text);
    const { json } = await endpoints.get("/v1/metrics/mrr?at=2026-06-30", endpoints.readKey);
    expect(answer.data).to.deep.equal(json.data);
    expect(answer.data.current_mrr).to.equal(60);
    const link = new URL(proof);
    expect(link.origin + link.pathname).to.equal(`${endpoints.base}/mrr`);
    expect(Object.fromEntries(link.searchParams)).to.deep.equal({
      workspace: endpoints.workspace,
      environment: "live",
      at: answer.at,
      known_at: answer.complete_to,
    });
    expect(knownAt).to.equal(answer.complete_to);
    expect(definition).to.equal(`${endpoints.base}/docs/definitions.md#mrr`);
    const page = await fetch(definition);
    expect(await page.text()).to.include('id="mrr"');
  });

  it("should say as known when it answers, and find a segment by its name", async () => {
    const { complete_to: now } = JSON.parse((await ask("mrr")).text);
    const earlier = new Date(Date.parse(now) - 1_000).toISOString();
    const asked = await ask("summary", { known_at: earlier });
    expect(JSON.parse(asked.text)).to.include({ known_at: earlier, at: earlier });
    const custom = { name: "Ours", filters: { provider: "custom" } };
    const made = await endpoints.manage("POST", `${endpoints.path}/segments`, custom);
    await endpoints.manage("POST", `${endpoints.path}/segments`, {
      ...custom,
      environment: "Test",
    });
    const { data } = JSON.parse((await ask("segments")).text);
    expect(data).to.deep.equal([made.json.data]);
    const { data: mrr } = JSON.parse((await ask("mrr_movements", { segment: data[0].id })).text);
    expect(mrr.totals.end_mrr).to.equal(60);
    const csv = await endpoints.get("/v1/segments?format=csv", endpoints.readKey);
    expect(csv.text).to.include(`${data[0].id},Ours,`);
  });

  it("should lead to the rules of another definition", async () => {
    const { text } = await ask("mrr", { definition: "chartmogul" });
    const { proof, definition, data } = JSON.parse(text);
    expect(data.definition).to.equal("chartmogul");
    expect(new URL(proof).pathname).to.equal("/mrr/definitions");
    expect(new URL(proof).searchParams.get("definition")).to.equal("chartmogul");
    expect((await fetch(definition)).status).to.equal(200);
  });

  it("should find every definition on its page", async () => {
    const page = await (await fetch(`${endpoints.base}/docs/definitions.md`)).text();
    for (const { name, definition } of tools) expect(page, name).to.include(`id="${definition}"`);
  });

  it("should lead from a customer of a list to what is behind it", async () => {
    const [row] = JSON.parse((await ask("accounts", { limit: 1 })).text).data;
    const account = JSON.parse((await ask("account", { id: row.id })).text);
    expect(account.data.id).to.equal(row.id);
    expect(new URL(account.proof).pathname).to.equal(`/accounts/${row.id}`);
    const list = JSON.parse((await ask("transactions", { search: "nothing", limit: 5 })).text);
    expect(list.data).to.deep.equal([]);
    expect(new URL(list.proof).searchParams.has("limit")).to.equal(false);
  });

  it("should report errors of the interface as results that a model can read", async () => {
    const wrong = await ask("mrr", { at: "yesterday" });
    expect(wrong.isError).to.equal(true);
    expect(wrong.text).to.include('"param":"at"');
    expect(await ask("account")).to.deep.equal({ isError: true, text: "account needs id." });
    expect(await ask("spend")).to.deep.equal({
      isError: true,
      text: "There is no tool spend.",
    });
  });

  it("should refuse who has no key, before it reads anything", async () => {
    const call = { method: "POST", body: "{", headers: { "content-type": "application/json" } };
    expectError(await endpoints.call("/mcp", call), "401 key_missing");
    const authorization = `Bearer ${endpoints.readKey}`;
    const headers = { ...call.headers, authorization };
    expectError(await endpoints.call("/mcp", { ...call, headers }), "400 json_malformed");
    expect((await endpoints.get("/mcp", endpoints.readKey)).status).to.equal(405);
  });
});
