/** The page where a member lets a program in, and where it is disconnected. */
import { createHash } from "node:crypto";
import { expect } from "chai";
import { serveHttp } from "../harness/loopback.js";
import { openPage, seen } from "./browser.js";
import { type OpenWorkspace, inWorkspace, openWorkspace } from "./workspace.js";

const verifier = "v".repeat(43);

describe("A program that asks to be connected", function () {
  this.timeout(120_000);
  let opened: OpenWorkspace;
  let program: string;

  before(async function () {
    opened = await openWorkspace(this, "Atlas");
    program = await serveHttp("a program", (_request, response) => {
      response.setHeader("content-type", "text/html");
      response.end("<!doctype html><html lang='en'><title>Program</title>Back in the program");
    });
  });
  after(() => opened?.context.close());

  async function register(name: string): Promise<string> {
    const { status, json } = await opened.endpoints.call("/oauth/register", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ client_name: name, redirect_uris: [program] }),
    });
    expect(status).to.equal(201);
    return json.client_id;
  }

  function addressOf(client: string, change: Readonly<Record<string, string>> = {}): string {
    const query = new URLSearchParams({
      response_type: "code",
      client_id: client,
      redirect_uri: program,
      code_challenge: createHash("sha256").update(verifier).digest("base64url"),
      code_challenge_method: "S256",
      state: "kept",
      ...change,
    });
    return `${opened.endpoints.base}/connect?${query.toString()}`;
  }

  it("should be let in, listed and disconnected", async () => {
    const { endpoints, looked, open, page, workspace } = opened;
    const client = await register("My <b>assistant</b>");
    await looked.findNothingWrong(addressOf(client));
    await page.getByRole("heading", { name: "Connect My <b>assistant</b>?" }).waitFor();
    await seen(page, "A program on this computer asks");
    await page.getByLabel("Workspace").selectOption(workspace);
    await page.getByLabel(/make alerts and annotations/).check();
    await page.getByRole("button", { name: "Allow" }).click();
    await seen(page, "Back in the program");
    const url = new URL(page.url());
    expect(url.searchParams.get("state")).to.equal("kept");
    const fields = {
      grant_type: "authorization_code",
      client_id: client,
      code: url.searchParams.get("code") ?? "",
      redirect_uri: program,
      code_verifier: verifier,
    };
    const body = new URLSearchParams(fields);
    const tokens = await endpoints.call("/oauth/token", { method: "POST", body });
    expect(tokens.json.scope).to.equal("read write");

    await looked.findNothingWrong(inWorkspace(`${endpoints.base}/settings/assistants`, workspace));
    await page.getByRole("row", { name: /My <b>assistant<\/b> Atlas/ }).waitFor();
    const all = page.getByRole("region", { name: "Assistants of the workspace" });
    await all.getByRole("row").filter({ hasText: "My <b>assistant</b>" }).waitFor();
    await page.getByRole("button", { name: "Disconnect" }).first().click();
    await page.getByRole("dialog").getByRole("button", { name: "Disconnect" }).click();
    await seen(page, "You have connected none");
    await seen(page, "No member has connected one.");
    await open("/settings/activity");
    await page.getByRole("row").filter({ hasText: "Assistant disconnected" }).waitFor();
    await page.getByRole("row").filter({ hasText: "Assistant connected" }).waitFor();
  });

  it("should be told no, and get nothing by an address that is wrong", async () => {
    const { page } = opened;
    const client = await register("Another");
    await page.goto(addressOf(client));
    await page.getByRole("button", { name: "Deny" }).click();
    await seen(page, "Back in the program");
    expect(new URL(page.url()).searchParams.get("error")).to.equal("access_denied");
    await page.goto(addressOf(client, { redirect_uri: "https://evil.example/" }));
    await seen(page, "did not register this redirect URI");
    expect(await page.getByRole("button").count()).to.equal(0);
  });

  it("should have who is not signed in sign in first, and come back", async function () {
    const { page } = await openPage(this);
    const address = addressOf(await register("Third"));
    await page.goto(address);
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    expect(page.url()).to.equal(address);
    await page.context().addCookies(await opened.context.cookies());
    await page.goto(address);
    await page.getByRole("heading", { name: "Connect Third?" }).waitFor();
    await page.context().close();
  });

  it("should find, register and ask from a page of its own, without a session", async () => {
    const { endpoints, page } = opened;
    // The browser has a session here, which no page elsewhere may use.
    await page.goto(program);
    const asked = await page.evaluate(
      async ({ base, key, uri }) => {
        const json = { "content-type": "application/json" };
        const ask = async (path: string, init: RequestInit = {}) => {
          const response = await fetch(base + path, init);
          const { status, headers } = response;
          return { status, pointer: headers.get("www-authenticate"), body: await response.text() };
        };
        const list = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" });
        const accept = "application/json, text/event-stream";
        const call = { method: "POST", body: list, headers: { ...json, accept } };
        const authorization = `Bearer ${key}`;
        const version = { "mcp-protocol-version": "2025-11-25" };
        const registration = JSON.stringify({ client_name: "Page", redirect_uris: [uri] });
        return {
          unknown: await ask("/mcp", call),
          known: await ask("/mcp", {
            ...call,
            headers: { ...call.headers, ...version, authorization },
          }),
          stream: await ask("/mcp", { headers: { accept: "text/event-stream", authorization } }),
          resource: await ask("/.well-known/oauth-protected-resource/mcp"),
          server: await ask("/.well-known/oauth-authorization-server", { headers: version }),
          registered: await ask("/oauth/register", {
            method: "POST",
            body: registration,
            headers: json,
          }),
          token: await ask("/oauth/token", {
            method: "POST",
            body: new URLSearchParams({ a: "b" }),
          }),
          withSession: await ask("/mcp", { ...call, credentials: "include" }).catch(String),
          figures: await ask("/v1/metrics/mrr", { headers: { authorization } }).catch(String),
        };
      },
      { base: endpoints.base, key: endpoints.readKey, uri: program },
    );
    const statuses = Object.entries(asked).map(([name, answer]) => [
      name,
      typeof answer === "string" ? answer : answer.status,
    ]);
    expect(Object.fromEntries(statuses)).to.deep.equal({
      unknown: 401,
      known: 200,
      stream: 405,
      resource: 200,
      server: 200,
      registered: 201,
      token: 400,
      withSession: "TypeError: Failed to fetch",
      figures: "TypeError: Failed to fetch",
    });
    expect(asked.unknown.pointer).to.include("/.well-known/oauth-protected-resource/mcp");
    expect(JSON.parse(asked.known.body).result.tools).to.be.an("array");
    const { client_id_metadata_document_supported: knowsDocuments } = JSON.parse(asked.server.body);
    expect(knowsDocuments).to.equal(true);
  });
});
