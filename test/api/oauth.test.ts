/** OAuth for `POST /mcp`: by the SDK's own client, and what is refused. */
import { createHash, randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createServer } from "node:https";
import { auth } from "@modelcontextprotocol/sdk/client/auth.js";
import type { OAuthClientProvider } from "@modelcontextprotocol/sdk/client/auth.js";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type {
  OAuthClientInformationMixed,
  OAuthTokens,
} from "@modelcontextprotocol/sdk/shared/auth.js";
import { expect } from "chai";
import { limits } from "../../config.js";
import { CallLimits } from "../../http/rate-limits.js";
import { findAssistantCaller } from "../../workspaces/assistants/assistants.js";
import { accessMsMax } from "../../workspaces/assistants/tokens.js";
import { openChatServer } from "../apis/chat-server.js";
import { changeRole, leave } from "../../workspaces/members/memberships.js";
import type { Role } from "../../workspaces/members/roles.js";
import { Browser, type Member, memberOf } from "../harness/browser.js";
import { type Answer, expectError, suiteEndpoints } from "../harness/endpoints.js";
import { makeCertificate } from "../harness/certificate.js";
import { listen } from "../harness/loopback.js";
import { rejection } from "../harness/promises.js";
import { testFolder, testReleases } from "../harness/stores.js";

const redirectUri = "https://assistant.example/callback?from=revenue";

describe("OAuth for /mcp", function suite() {
  this.timeout(60_000);
  const endpoints = suiteEndpoints();
  const opened: Client[] = [];

  const { NODE_TLS_REJECT_UNAUTHORIZED: checksCertificates = "1" } = process.env;
  after(async () => {
    // Others who run in this process rely on it.
    process.env.NODE_TLS_REJECT_UNAUTHORIZED = checksCertificates;
    await Promise.all(opened.map((client) => client.close()));
  });

  /** A member of the workspace, signed in to the dashboard. */
  const memberAs = (role: Role): Promise<Member> => memberOf(endpoints, role);

  /** What a program keeps; `asked` is where it sent the browser. */
  class Program implements OAuthClientProvider {
    readonly redirectUrl = redirectUri;
    readonly clientMetadata = {
      client_name: "Test \u202eassistant\n<b>",
      redirect_uris: [redirectUri],
      token_endpoint_auth_method: "none",
    };
    /** @param clientMetadataUrl of the document it has, if it has one */
    constructor(readonly clientMetadataUrl = "") {}
    asked: URL | undefined;
    #client: OAuthClientInformationMixed | undefined;
    #tokens: OAuthTokens | undefined;
    #verifier = "";
    state = () => "a state & more";
    clientInformation = () => this.#client;
    saveClientInformation = (client: OAuthClientInformationMixed) => void (this.#client = client);
    tokens = () => this.#tokens;
    saveTokens = (tokens: OAuthTokens) => void (this.#tokens = tokens);
    redirectToAuthorization = (url: URL) => void (this.asked = url);
    saveCodeVerifier = (verifier: string) => void (this.#verifier = verifier);
    codeVerifier = () => this.#verifier;
    request = () => this.asked?.search.slice(1) ?? "";
  }

  const serverUrl = () => new URL("/mcp", endpoints.base);

  async function connect(program: Program): Promise<Client> {
    const client = new Client({ name: "test", version: "1" });
    opened.push(client);
    await client.connect(new StreamableHTTPClientTransport(serverUrl(), { authProvider: program }));
    return client;
  }

  const consent = (browser: Browser, request: string, more: object = {}): Promise<Answer> =>
    browser.call("POST", "/v1/session/assistants", {
      request,
      workspace: endpoints.workspace,
      environment: "live",
      may_write: false,
      ...more,
    });

  /** By the SDK: from the first 401 to a connection. */
  async function signedIn(browser: Browser, more: object = {}, program = new Program()) {
    await connect(program).then(
      () => expect.fail("it was let in"),
      (error: Error) => expect(error.message).to.equal("Unauthorized"),
    );
    const answer = await consent(browser, program.request(), more);
    expect(answer.status, answer.text).to.equal(201);
    const to = new URL(answer.json.data.redirect_to);
    const authorizationCode = to.searchParams.get("code") ?? "";
    await auth(program, { serverUrl: serverUrl(), authorizationCode });
    return { program, client: await connect(program), to, id: String(answer.json.data.id) };
  }

  async function toolNames(client: Client): Promise<string[]> {
    return (await client.listTools()).tools.map(({ name }) => name);
  }

  async function ask(client: Client, name: string, given: Record<string, unknown> = {}) {
    const { content, isError = false } = await client.callTool({ name, arguments: given });
    const [part] = Array.isArray(content) ? content : [];
    return { isError, text: String(part?.text) };
  }

  it("should say on the page who asks, and where the browser goes", async () => {
    const program = new Program();
    await connect(program).catch(() => undefined);
    const url = program.asked;
    expect(`${url?.origin}${url?.pathname}`).to.equal(`${endpoints.base}/connect`);
    const page = await endpoints.call(url?.pathname + program.request());
    expect(page.status).to.equal(404);
    const shown = await endpoints.call(`/connect${url?.search}`);
    expect(shown.headers.get("cross-origin-opener-policy")).to.equal("unsafe-none");
    expect(shown.headers.get("content-security-policy")).to.include("frame-ancestors 'none'");
    const viewer = await memberAs("viewer");
    const path = "/v1/session/assistants/request";
    const { json } = await viewer.call("POST", path, { request: program.request() });
    const { denied_to: deniedTo, ...view } = json.data;
    expect(view).to.deep.equal({
      client: "Test assistant <b>",
      client_host: null,
      redirect_host: "assistant.example",
      on_this_computer: false,
      asks_to_write: true,
    });
    const denied = new URL(deniedTo);
    expect(denied.origin + denied.pathname).to.equal("https://assistant.example/callback");
    expect(Object.fromEntries(denied.searchParams)).to.deep.equal({
      from: "revenue",
      error: "access_denied",
      iss: endpoints.base,
      state: "a state & more",
    });
    // By a page of another site, nothing.
    const foreign = { origin: "https://evil.example" };
    const body = { request: program.request() };
    expectError(await viewer.call("POST", path, body, foreign), "403 origin_foreign");
    expectError(await new Browser(endpoints.base).call("POST", path, body), "401 session_missing");
  });

  it("should know a program by the document that its id is the address of", async () => {
    const { url: host, documents, asked } = await openDocuments();
    const id = `${host}/client.json`;
    const known = { client_id: id, client_name: "From a document", redirect_uris: [redirectUri] };
    documents.set("/client.json", known);
    const viewer = await memberAs("viewer");
    const path = "/v1/session/assistants/request";
    const { client, program, id: assistant } = await signedIn(viewer, {}, new Program(id));
    expect(program.clientInformation()?.client_id).to.equal(id);
    expect(await toolNames(client)).to.include("mrr");
    const { json } = await viewer.call("POST", path, { request: program.request() });
    const shown = { client: "From a document", client_host: new URL(host).host };
    expect(json.data).to.include({ ...shown, redirect_host: "assistant.example" });
    // Once, for both questions and the answer.
    expect(asked).to.deep.equal(["/client.json"]);
    // Connected again it is the same program.
    await signedIn(viewer, {}, new Program(id));
    const listed = (await viewer.call("GET", "/v1/session/assistants")).json.data;
    expect(listed).to.have.length(1);
    expect(listed[0].client).to.equal("From a document");
    expect(listed[0].id).not.to.equal(assistant);

    documents.set("/other.json", known);
    documents.set("/no-name.json", { ...known, client_name: undefined });
    documents.set("/large.json", "x".repeat(limits.outboundAnswerBytesMax + 1));
    const wrong: [client: string, said: string][] = [
      [`${host}/other.json`, "It has another client_id."],
      [`${host}/no-name.json`, "It lacks client_id, client_name or redirect_uris."],
      [`${host}/none.json`, "It answered 404."],
      [`${host}/moved.json`, "It answered 302; redirects are not followed."],
      [`${host}/text.json`, "It is not JSON."],
      [`${host}/large.json`, "Its answer is too long, or broke off."],
      ["https://169.254.169.254/client.json", "must not be a private address"],
      [`${host}/`, "does not know the program"],
      [`${host}/a/../client.json`, "does not know the program"],
      [`${host}/client.json#x`, "does not know the program"],
      [id.replace("https", "http"), "does not know the program"],
    ];
    for (const [unknown, said] of wrong) {
      const answer = await viewer.call("POST", path, { request: requestOf(unknown) });
      expectError(answer, "400 invalid_client");
      expect(answer.json.error.message, unknown).to.include(said);
    }
    const elsewhere = { redirect_uri: "https://evil.example/" };
    const answer = await viewer.call("POST", path, { request: requestOf(id, elsewhere) });
    expectError(answer, "400 invalid_redirect_uri");
  });

  it("should answer a viewer's assistant as the interface answers, and write nothing", async () => {
    const viewer = await memberAs("viewer");
    const { client, program, to, id } = await signedIn(viewer);
    expect(to.searchParams.get("state")).to.equal("a state & more");
    const tokens = program.tokens();
    expect(tokens?.scope).to.equal("read");
    expect(tokens?.expires_in).to.equal(accessMsMax / 1000);
    expect(await toolNames(client))
      .to.include("mrr")
      .and.not.include("make_annotation");
    const { text } = await ask(client, "mrr");
    const { json } = await endpoints.get("/v1/metrics/mrr", endpoints.readKey);
    expect(JSON.parse(text).data).to.deep.equal(json.data);
    expect(new URL(JSON.parse(text).proof).searchParams.get("workspace")).to.equal(
      endpoints.workspace,
    );
    const written = await ask(client, "make_annotation", { day: "2026-01-01", text: "x" });
    expect(written.isError).to.equal(true);
    expect(written.text).to.include("assistant_reads_only");
    // For /mcp alone.
    const elsewhere = await endpoints.get("/v1/metrics/mrr", tokens?.access_token);
    expectError(elsewhere, "401 token_elsewhere");
    expectError(
      await consent(viewer, program.request(), { may_write: true }),
      "403 role_insufficient",
    );
    const listed = await viewer.call("GET", "/v1/session/assistants");
    expect(listed.json.data).to.have.length(1);
    expect(listed.json.data[0]).to.include({ id, client: "Test assistant <b>", may_write: false });
    const stored = JSON.stringify(
      await endpoints.service.postgres.query("SELECT * FROM assistants"),
    );
    expect(stored).not.to.include(tokens?.access_token);
    expect(stored).not.to.include(tokens?.refresh_token?.split(".")[1]);
  });

  it("should let an admin's assistant make alerts and annotations, as the screens do", async () => {
    const admin = await memberAs("admin");
    const { client } = await signedIn(admin, { may_write: true });
    expect(await toolNames(client)).to.include.members(["make_annotation", "make_alert"]);
    const given = { day: "2026-06-01", text: "Prices went up" };
    const made = JSON.parse((await ask(client, "make_annotation", given)).text);
    expect(made.data).to.include(given);
    expect(new URL(made.link).pathname).to.equal("/mrr/movements");
    const here = `/v1/manage/workspaces/${endpoints.workspace}`;
    const rows = (await admin.call("GET", `${here}/annotations`)).json.data;
    expect(rows[0]).to.deep.equal(made.data);
    const done = (await admin.call("GET", `${here}/activity`)).json.data;
    expect(done[0]).to.include({ actor: admin.id, action: "annotation.created" });
    expect(done[1]).to.include({ actor: admin.id, action: "assistant.connected" });
    const wrong = await ask(client, "make_annotation", { day: "yesterday", text: "x" });
    expect(wrong).to.include({ isError: true });
    const chat = await openChatServer();
    const rule = { on: "rejects", above: 5 };
    const refused = await ask(client, "make_alert", { rule, tell: "chat" });
    expect(refused.text).to.include("chat_not_set_up");
    const { status } = await admin.call("POST", `${here}/chat`, { url: chat.url });
    expect(status).to.equal(200);
    const alert = JSON.parse((await ask(client, "make_alert", { rule, tell: "chat" })).text);
    expect(alert.data.rule).to.deep.equal(rule);
    expect(new URL(alert.link).pathname).to.equal("/settings/alerts");
    const { postgres } = endpoints.service;
    const query = "SELECT origin FROM alerts WHERE id = $1";
    expect(await postgres.query(query, [alert.data.id])).to.deep.equal([
      { origin: endpoints.base },
    ]);
    // A role that was lowered counts at once.
    await changeRole(postgres, endpoints.workspace, admin.id, "viewer");
    expect((await ask(client, "make_annotation", given)).text).to.include("role_insufficient");
    expect(await toolNames(client)).not.to.include("make_annotation");
  });

  it("should be disconnected by the member, by an admin and with the membership", async () => {
    const { postgres } = endpoints.service;
    const admin = await memberAs("admin");
    const here = `/v1/manage/workspaces/${endpoints.workspace}/assistants`;
    const ends: ((viewer: Member, id: string) => Promise<unknown>)[] = [
      (viewer, id) => viewer.call("DELETE", `/v1/session/assistants/${id}`),
      (_, id) => admin.call("DELETE", `${here}/${id}`),
      (viewer) => leave(postgres, endpoints.workspace, viewer.id),
    ];
    for (const end of ends) {
      const viewer = await memberAs("viewer");
      const { client, id } = await signedIn(viewer);
      const listed = (await admin.call("GET", here)).json.data;
      expect(listed[0]).to.include({ id, member: viewer.id, environment: "live" });
      expectError(
        await admin.call("DELETE", `/v1/session/assistants/${id}`),
        "404 assistant_unknown",
      );
      await end(viewer, id);
      await ask(client, "mrr").then(
        () => expect.fail("it was answered"),
        (error: Error) => expect(error.message).to.include("used before, has expired"),
      );
    }
  });

  /** By hand: what a client that is wrong, or a thief, sends. */
  const form = (path: string, fields: Record<string, string>) =>
    endpoints.call(path, { method: "POST", body: new URLSearchParams(fields) });

  async function registered(uris: readonly string[] = [redirectUri]): Promise<string> {
    const answer = await endpoints.call("/oauth/register", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ client_name: "By hand", redirect_uris: uris }),
    });
    return answer.json.client_id ?? answer.json.error;
  }

  const verifier = randomBytes(32).toString("base64url");
  const requestOf = (client: string, change: Record<string, string> = {}) =>
    new URLSearchParams({
      response_type: "code",
      client_id: client,
      redirect_uri: redirectUri,
      code_challenge: createHash("sha256").update(verifier).digest("base64url"),
      code_challenge_method: "S256",
      ...change,
    }).toString();

  async function codeOf(browser: Browser, client: string): Promise<string> {
    const answer = await consent(browser, requestOf(client));
    return new URL(answer.json.data.redirect_to).searchParams.get("code") ?? "";
  }

  const redeem = (client: string, code: string, change: Record<string, string> = {}) =>
    form("/oauth/token", {
      grant_type: "authorization_code",
      client_id: client,
      code,
      redirect_uri: redirectUri,
      code_verifier: verifier,
      ...change,
    });

  const renew = (client: string, token: string, change: Record<string, string> = {}) =>
    form("/oauth/token", {
      grant_type: "refresh_token",
      client_id: client,
      refresh_token: token,
      ...change,
    });

  const initialize = (token: string) =>
    endpoints.call("/mcp", {
      method: "POST",
      headers: {
        authorization: `Bearer ${token}`,
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" }),
    });

  it("should refuse what is not exactly what was agreed", async () => {
    const viewer = await memberAs("viewer");
    const client = await registered();
    const other = await registered();
    const changes: [change: Record<string, string>, error: string][] = [
      [{ code_verifier: "x".repeat(43) }, "invalid_grant"],
      [{ code_verifier: "short" }, "invalid_request"],
      [{ redirect_uri: "https://assistant.example/callback" }, "invalid_grant"],
      [{ client_id: other }, "invalid_grant"],
      [{ code: "unknown" }, "invalid_grant"],
      [{ resource: "https://elsewhere.example/mcp" }, "invalid_target"],
      [{ grant_type: "password" }, "invalid_request"],
    ];
    for (const [change, error] of changes) {
      const code = await codeOf(viewer, client);
      const { status, json } = await redeem(client, code, change);
      expect([status, json.error], JSON.stringify(change)).to.deep.equal([400, error]);
    }
    const requests: [change: Record<string, string>, error: string][] = [
      [{ client_id: "cli_none" }, "400 invalid_client"],
      [{ redirect_uri: `${redirectUri}&more` }, "400 invalid_redirect_uri"],
      [{ redirect_uri: "https://evil.example/" }, "400 invalid_redirect_uri"],
      [{ code_challenge_method: "plain" }, "400 invalid_request"],
      [{ response_type: "token" }, "400 invalid_request"],
      [{ resource: "https://elsewhere.example/mcp" }, "400 invalid_target"],
    ];
    for (const [change, error] of requests) {
      expectError(await consent(viewer, requestOf(client, change)), error);
    }
    expectError(
      await consent(viewer, requestOf(client), { workspace: "ws_none" }),
      "404 workspace_unknown",
    );
    const uris = [
      "http://assistant.example/",
      "javascript:alert(1)",
      "javascript://a.b/%0aalert(1)",
      "file:///etc/passwd",
      "https://a@b.example/",
      "https://b.example/#x",
      "http://127.0.0.1.evil.example/",
    ];
    for (const uri of uris) expect(await registered([uri]), uri).to.equal("invalid_redirect_uri");
    const many = Array.from({ length: limits.oauthRedirectUrisMax + 1 }, () => redirectUri);
    expect(await registered(many)).to.equal("invalid_redirect_uri");
    // As Cursor registers itself.
    const app = "cursor://anysphere.cursor-mcp/oauth/callback";
    const editor = await registered([app, "com.example.app:/callback", "http://localhost:8787/"]);
    const toApp = await consent(viewer, requestOf(editor, { redirect_uri: app }));
    expect(toApp.json.data.redirect_to).to.match(/^cursor:\/\/anysphere\.cursor-mcp\/.*\?code=/);
    // A program on this computer listens on any port.
    const local = await registered(["http://127.0.0.1/callback"]);
    const change = { redirect_uri: "http://127.0.0.1:49152/callback" };
    expect((await consent(viewer, requestOf(local, change))).status).to.equal(201);
    expectError(
      await consent(viewer, requestOf(local, { redirect_uri: "http://127.0.0.1:49152/else" })),
      "400 invalid_redirect_uri",
    );
  });

  it("should end an assistant whose code or refresh token is used twice", async () => {
    const viewer = await memberAs("viewer");
    const client = await registered();
    const code = await codeOf(viewer, client);
    const first = (await redeem(client, code)).json;
    expect((await initialize(first.access_token)).status).to.equal(200);
    expect((await redeem(client, code)).json.error).to.equal("invalid_grant");
    expectError(await initialize(first.access_token), "401 token_invalid");

    const begun = (await redeem(client, await codeOf(viewer, client))).json;
    const second = (await renew(client, begun.refresh_token)).json;
    const third = (await renew(client, second.refresh_token)).json;
    expect((await initialize(third.access_token)).status).to.equal(200);
    // Two refreshes later: whoever still has it is not who went on.
    expect((await renew(client, begun.refresh_token)).json.error).to.equal("invalid_grant");
    expectError(await initialize(third.access_token), "401 token_invalid");
    expect((await renew(client, third.refresh_token)).json.error).to.equal("invalid_grant");
    const here = `/v1/manage/workspaces/${endpoints.workspace}/activity`;
    const [last] = (await viewer.call("GET", here)).json.data;
    expect(last).to.include({ actor: "assistant", action: "assistant.disconnected" });
  });

  it("should let tokens expire, and be revoked by who has them", async () => {
    const viewer = await memberAs("viewer");
    const { postgres } = endpoints.service;
    const client = await registered();
    const old = await codeOf(viewer, client);
    await postgres.query(
      "UPDATE assistants SET expires_at = now() - interval '1 s' WHERE member = $1",
      [viewer.id],
    );
    expect((await redeem(client, old)).json.error).to.equal("invalid_grant");
    const tokens = (await redeem(client, await codeOf(viewer, client))).json;
    const at = Date.now();
    const found = (ms: number) => findAssistantCaller(postgres, tokens.access_token, new Date(ms));
    expect(await found(at + accessMsMax - 5_000)).to.include({ kind: "assistant" });
    expect(await found(at + accessMsMax + 1_000)).to.equal(null);
    const other = { client_id: await registered(), token: tokens.refresh_token };
    expect((await form("/oauth/revoke", other)).status).to.equal(200);
    expect((await initialize(tokens.access_token)).status).to.equal(200);
    const own = { client_id: client, token: tokens.refresh_token };
    expect((await form("/oauth/revoke", own)).status).to.equal(200);
    const answer = await initialize(tokens.access_token);
    expectError(answer, "401 token_invalid");
    expect(answer.headers.get("www-authenticate")).to.equal(
      `Bearer error="invalid_token", resource_metadata="${endpoints.base}` +
        `/.well-known/oauth-protected-resource/mcp", scope="read write"`,
    );
  });

  it("should register only so many programs from one address at a time", async () => {
    // Not those of the service: all tests call it from one address.
    const calls = new CallLimits(endpoints.service.config);
    const rounds = limits.oauthRegistrationsPerMinuteMax;
    for (let round = 0; round < rounds; round += 1) await calls.countRegistration({ ip: "::1" });
    await calls.countRegistration({ ip: "10.0.0.1" });
    const refused = await rejection(calls.countRegistration({ ip: "::1" }));
    expect(refused).to.include({ status: 429, code: "rate_limited" });
  });
});

/** A host of documents, by path; its certificate is signed by nobody. */
async function openDocuments() {
  const documents = new Map<string, object | string>();
  const asked: string[] = [];
  const files = await makeCertificate(`${testFolder}/documents`);
  const [key, cert] = [await readFile(files.key), await readFile(files.certificate)];
  const server = createServer({ key, cert }, ({ url = "" }, response) => {
    asked.push(url);
    const found = url === "/text.json" ? "a text" : documents.get(url);
    if (url === "/moved.json") response.writeHead(302, { location: "/client.json" });
    else if (found === undefined) response.writeHead(404);
    else response.writeHead(200, { "cache-control": "public, max-age=3600" });
    response.end(typeof found === "string" ? found : JSON.stringify(found));
  });
  const { url, close } = await listen(server);
  testReleases.push("documents", close);
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = "0";
  return { url: url.replace("http:", "https:"), documents, asked };
}
