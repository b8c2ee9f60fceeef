/** Sessions of the dashboard: how they begin and end, and who may do what with one. */
import { once } from "node:events";
import { expect } from "chai";
import { WebSocket } from "ws";
import { limits } from "../../config.js";
import { Sample } from "../../api/stream/subscriber.js";
import { drawLink } from "../../workspaces/members/one-time-tokens.js";
import { writeLinkFile } from "../../workspaces/members/first-run.js";
import { manageRoutes } from "../../api/manage/routes.js";
import { type Role, roles } from "../../workspaces/members/roles.js";
import { Browser, memberOf, ownerBrowser } from "../harness/browser.js";
import { expectError } from "../harness/endpoints.js";
import { type TestService, openTestService } from "../harness/service.js";

let opened: TestService;
let owner: Browser;
let workspace: string;
let here: string;

before(async function open() {
  this.timeout(60_000);
  opened = await openTestService();
  owner = await ownerBrowser(opened);
  workspace = await newWorkspace();
  here = `/v1/manage/workspaces/${workspace}`;
});

async function newWorkspace(): Promise<string> {
  const given = { name: "Sessions", base_currency: "EUR" };
  const answer = await owner.call("POST", "/v1/manage/workspaces", given);
  expect(answer.status, answer.text).to.equal(201);
  return String(answer.json.data.id);
}

/** Somebody with a role in the workspace; null: a member of another one. */
async function memberAs(role: Role | null): Promise<Browser> {
  const joined = role === null ? await newWorkspace() : workspace;
  return memberOf({ ...opened, workspace: joined }, role ?? "owner");
}

const idOf = async (browser: Browser): Promise<string> =>
  String((await browser.call("GET", "/v1/session")).json.data.user.id);

describe("A link that signs in", () => {
  it("should count once, and only when it is right", async () => {
    const token = await drawLink(opened.service.postgres, "sign-in", new Date());
    const path = "/v1/session/setup";
    const first = await new Browser(opened.base).call("POST", path, { token });
    expect(first.status).to.equal(201);
    expect(first.headers.get("set-cookie")).to.match(
      /^session=[\w-]{43}; Path=\/; Max-Age=604800; HttpOnly; SameSite=Lax$/,
    );
    for (const wrong of [token, "x"]) {
      const answer = await new Browser(opened.base).call("POST", path, { token: wrong });
      expectError(answer, "401 link_invalid");
      expect(answer.headers.get("set-cookie")).to.equal(null);
    }
  });

  it("should not count any more after an hour, or for a second owner", async () => {
    const { postgres } = opened.service;
    const old = await drawLink(postgres, "sign-in", new Date(Date.now() - 3_600_001));
    const setup = await drawLink(postgres, "setup", new Date());
    for (const token of [old, setup]) {
      const answer = await owner.call("POST", "/v1/session/setup", { token });
      expectError(answer, "401 link_invalid");
    }
  });

  it("should be read from the data folder of an embedded installation", async function run() {
    const { config } = opened.service;
    if (config.DATABASE_URL !== undefined) this.skip();
    const token = writeLinkFile(config.DATA_DIR, new Date());
    const call = () => new Browser(opened.base).call("POST", "/v1/session/setup", { token });
    expect((await call()).json.data.user.owns_installation).to.equal(true);
    expect((await call()).status).to.equal(401);
  });
});

describe("A session", function suite() {
  this.timeout(60_000);

  it("should read a workspace by its two parameters, which a key may not give", async () => {
    const viewer = await memberAs("viewer");
    const query = `workspace=${workspace}&environment=live`;
    expect((await viewer.call("GET", `/v1/metrics/mrr?${query}`)).status).to.equal(200);
    const wrong: [query: string, error: string][] = [
      ["", "400 parameter_missing"],
      [`workspace=${workspace}`, "400 parameter_missing"],
      [`workspace=${workspace}&environment=x`, "400 parameter_invalid"],
      [`${query}&workspace=x`, "400 parameter_repeated"],
      ["workspace=ws_none&environment=live", "404 workspace_unknown"],
    ];
    for (const [given, error] of wrong) {
      expectError(await viewer.call("GET", `/v1/metrics/mrr?${given}`), error);
    }
    const stranger = await memberAs(null);
    const answer = await stranger.call("GET", `/v1/metrics/mrr?${query}`);
    expectError(answer, "404 workspace_unknown");
    const key = await owner.call("POST", `${here}/keys`, {
      environment: "Production",
      scope: "Read-only",
    });
    const bearer = { authorization: `Bearer ${key.json.data.key}` };
    const nobody = new Browser(opened.base);
    expectError(
      await nobody.call("GET", `/v1/metrics/mrr?${query}`, undefined, bearer),
      "400 parameter_unknown",
    );
    expectError(
      await viewer.call("GET", "/v1/metrics/mrr", undefined, bearer),
      "400 credentials_ambiguous",
    );
    expectError(await viewer.call("POST", "/v1/events/ingest", {}), "403 session_insufficient");
  });

  const foreign: [title: string, headers: Record<string, string>][] = [
    ["another origin", { origin: "https://evil.example" }],
    ["no origin", { origin: "" }],
    ["a page of another site", { "sec-fetch-site": "cross-site" }],
    ["another page of the same site", { "sec-fetch-site": "same-site" }],
  ];
  for (const [title, headers] of foreign) {
    it(`should write nothing for ${title}`, async () => {
      const given = { day: "2026-01-01", text: "x" };
      const answer = await owner.call("POST", `${here}/annotations`, given, headers);
      expectError(answer, "403 origin_foreign");
    });
  }

  it("should open a socket for its own page only", async () => {
    const query = `workspace=${workspace}&environment=live`;
    const url = `${opened.base.replace("http", "ws")}/v1/events/stream?${query}`;
    const cookie = `session=${(await memberAs("viewer")).session}`;
    for (const headers of [{ cookie }, { cookie, origin: "https://evil.example" }]) {
      const socket = new WebSocket(url, { headers });
      const [error]: Error[] = await once(socket, "error");
      expect(error?.message).to.include("403");
    }
    const socket = new WebSocket(`${url}&sample=20`, { headers: { cookie, origin: opened.base } });
    await once(socket, "open");
    socket.terminate();
  });

  it("should get a new id when a role changes", async () => {
    const viewer = await memberAs("viewer");
    const [before, id] = [viewer.session, await idOf(viewer)];
    const changed = await owner.call("PATCH", `${here}/members/${id}`, { role: "admin" });
    expect(changed.json.data.role).to.equal("admin");
    const { data } = (await viewer.call("GET", "/v1/session")).json;
    expect(data.workspaces[0].role).to.equal("admin");
    expect(viewer.session).to.not.equal(before);
    expect((await viewer.call("GET", "/v1/session")).status).to.equal(200);
  });

  it("should be listed, and ended one by one", async () => {
    const one = await ownerBrowser(opened);
    const { session_id: id } = (await one.call("GET", "/v1/session")).json.data;
    const { data } = (await owner.call("GET", "/v1/session/sessions")).json;
    const found = data.find((row: { readonly id: string }) => row.id === id);
    expect(found).to.include({ current: false, began_by: "link" });
    const other = await memberAs("owner");
    expect((await other.call("DELETE", `/v1/session/sessions/${id}`)).status).to.equal(404);
    expect((await owner.call("DELETE", `/v1/session/sessions/${id}`)).status).to.equal(200);
    expectError(await one.call("GET", "/v1/session"), "401 session_missing");
    expect((await owner.call("GET", "/v1/session")).status).to.equal(200);
  });
});

type Least = Role | "installation" | "anybody";

/** The least who may, where it is not as `leastOf` says. */
const exceptions: Readonly<Record<string, Least>> = {
  "get /providers": "anybody",
  "get /workspaces": "anybody",
  "patch /workspaces/{workspace}": "owner",
  "get …/invitations": "admin",
  "get …/assistants": "admin",
  "get …/webhooks": "admin",
  "get …/webhooks/{endpoint}/deliveries": "admin",
  "delete …/members/{member}": "viewer",
  "post …/views": "viewer",
  "patch …/views/{view}": "viewer",
  "delete …/views/{view}": "viewer",
  "post …/alerts/test": "viewer",
  "post …/digests/email": "viewer",
  "delete …/digests/email": "viewer",
};

/** Who belongs to a workspace reads, who administers it writes; the rest is the installation's. */
function leastOf(method: string, path: string): Least {
  const short = path.replace("/v1/manage", "").replace("/workspaces/{workspace}/", "…/");
  const found = exceptions[`${method} ${short}`];
  if (found !== undefined) return found;
  if (!path.includes("{workspace}")) return "installation";
  return method === "get" ? "viewer" : "admin";
}

describe("Roles", function suite() {
  this.timeout(120_000);

  it("should let each role do what it may, and nothing else", async () => {
    const callers: [who: Role | null, browser: Browser][] = [];
    for (const role of [...roles, null]) callers.push([role, await memberAs(role)]);
    for (const { method, path } of manageRoutes) {
      const needed = leastOf(method, path);
      const url = path.replace("{workspace}", workspace).replace(/\{\w+\}/g, "none");
      for (const [role, browser] of callers) {
        // What is let in is refused for its body or its ids, so that nothing is changed.
        const body = method === "get" ? undefined : { no: 1 };
        const answer = await browser.call(method.toUpperCase(), url, body);
        const code = answer.json?.error?.code ?? "";
        const refusal = refusalOf(role, needed, path);
        const refusals = ["role_insufficient", "workspace_unknown"];
        const call = `${method} ${path} of ${role}`;
        expect(refusals.includes(code) ? code : "", call).to.equal(refusal);
        const status = { role_insufficient: 403, workspace_unknown: 404, "": null }[refusal];
        if (status !== null) expect(answer.status).to.equal(status);
      }
    }
  });

  it("should give and take roles up to one's own, and keep an owner", async () => {
    const [admin, viewer] = [await memberAs("admin"), await memberAs("viewer")];
    const [ownerId, viewerId] = [await idOf(owner), await idOf(viewer)];
    const change = (by: Browser, id: string, role: Role) =>
      by.call("PATCH", `${here}/members/${id}`, { role });
    expect((await change(admin, viewerId, "owner")).status).to.equal(403);
    expect((await change(admin, ownerId, "viewer")).status).to.equal(403);
    expect((await admin.call("DELETE", `${here}/members/${ownerId}`)).status).to.equal(403);
    const invited = await admin.call("POST", `${here}/invitations`, { role: "owner" });
    expect(invited.status).to.equal(403);
    expect((await change(admin, viewerId, "admin")).status).to.equal(200);
    const other = await newWorkspace();
    for (const [method, body] of [["PATCH", { role: "viewer" }], ["DELETE"]] as const) {
      const path = `/v1/manage/workspaces/${other}/members/${ownerId}`;
      expectError(await owner.call(method, path, body), "409 last_owner");
    }
    expect((await viewer.call("DELETE", `${here}/members/${viewerId}`)).status).to.equal(200);
    expect((await viewer.call("GET", "/v1/session")).status).to.equal(401);
  });

  it("should show the URL of a webhook to those who may connect a provider", async () => {
    await owner.call("POST", `${here}/integrations`, {
      provider: "stripe",
      environment: "Production",
      credentials: { signing_secret: "whsec_of_the_session_tests" },
    });
    const shown = async (by: Browser) =>
      String((await by.call("GET", `${here}/integrations`)).json.data[0].webhook_path);
    expect(await shown(await memberAs("viewer"))).to.equal("/v1/webhooks/…");
    expect(await shown(await memberAs("admin"))).to.match(/^\/v1\/webhooks\/\w{32}$/);
  });
});

function refusalOf(role: Role | null, needed: string, route: string) {
  if (needed === "anybody") return "";
  if (needed === "installation") return "role_insufficient";
  if (role === null) return route.includes("{workspace}") ? "workspace_unknown" : "";
  const isEnough =
    roles.findIndex((one) => one === role) >= roles.findIndex((one) => one === needed);
  return isEnough ? "" : "role_insufficient";
}

describe("The activity log", () => {
  it("should have one row for each change, by whoever made it, and no secret", async () => {
    const other = await newWorkspace();
    const path = `/v1/manage/workspaces/${other}`;
    const given = { environment: "Test", scope: "Read-only" };
    const made = await owner.call("POST", `${path}/keys`, given);
    const { id, key } = made.json.data;
    const bearer = { authorization: `Bearer ${opened.adminToken}` };
    await new Browser(opened.base).call("DELETE", `${path}/keys/${id}`, undefined, bearer);
    await owner.call("DELETE", `${path}/keys/none`);
    const invited = await owner.call("POST", `${path}/invitations`, {
      role: "viewer",
      email: "ann@example.com",
    });
    const answer = await owner.call("GET", `${path}/activity`);
    const me = await idOf(owner);
    const rows = answer.json.data.map(
      ({ actor, action, object }: Record<string, string>) => `${actor} ${action} ${object}`,
    );
    expect(rows).to.deep.equal([
      `${me} invitation.created ${invited.json.data.id}`,
      `administrator key.revoked ${id}`,
      `${me} key.created ${id}`,
      `${me} workspace.created ${other}`,
    ]);
    expect(answer.json.data[2].request_id).to.equal(made.headers.get("x-request-id"));
    expect(answer.text).to.not.include(key).and.not.include("ann@example.com");
    const page = await owner.call("GET", `${path}/activity?limit=1`);
    expect(page.json.pagination.has_more).to.equal(true);
  });

  it("should never be edited", async () => {
    const { postgres } = opened.service;
    for (const sql of ["UPDATE activity SET actor = 'x'", "DELETE FROM activity"]) {
      const failure = await postgres.query(sql).then(String, String);
      expect(failure).to.include("append-only");
    }
  });
});

describe("Saved views and annotations", () => {
  it("should keep private views private, and shared ones to admins", async () => {
    const [admin, viewer] = [await memberAs("admin"), await memberAs("viewer")];
    const save = (by: Browser, shared: boolean) =>
      by.call("POST", `${here}/views`, { name: "Mine", path: "/mrr?range=12m", shared });
    const own = (await save(viewer, false)).json.data;
    expect(own).to.include({ own: true, shared: false, path: "/mrr?range=12m" });
    expect((await save(viewer, true)).status).to.equal(403);
    const shared = (await save(admin, true)).json.data;
    const seen = async (by: Browser) =>
      (await by.call("GET", `${here}/views`)).json.data.map(({ id }: { id: string }) => id);
    expect(await seen(viewer)).to.have.members([own.id, shared.id]);
    expect(await seen(admin)).to.deep.equal([shared.id]);
    const rename = (by: Browser, id: string) =>
      by.call("PATCH", `${here}/views/${id}`, { name: "Other" });
    expect((await rename(admin, own.id)).status).to.equal(404);
    expect((await rename(viewer, shared.id)).status).to.equal(403);
    expect((await rename(viewer, own.id)).json.data.name).to.equal("Other");
    expect((await viewer.call("DELETE", `${here}/views/${own.id}`)).status).to.equal(200);
    const outside = { name: "x", path: "//evil.example" };
    expect((await viewer.call("POST", `${here}/views`, outside)).status).to.equal(422);
  });

  it("should note what happened on a day", async () => {
    const path = `${here}/annotations`;
    const made = (await owner.call("POST", path, { day: "2026-02-03", text: "Launch" })).json.data;
    await owner.call("PATCH", `${path}/${made.id}`, { text: "Relaunch" });
    const { data } = (await (await memberAs("viewer")).call("GET", path)).json;
    expect(data).to.deep.equal([{ ...made, text: "Relaunch" }]);
    await owner.call("DELETE", `${path}/${made.id}`);
    expect((await owner.call("GET", path)).json.data).to.deep.equal([]);
  });

  it("should have one goal for each figure and month, in the base currency", async () => {
    const path = `${here}/goals`;
    const set = (goal: object) => owner.call("POST", path, goal);
    const first = { figure: "mrr", month: "2026-12", amount: 5_000.5 };
    const made = await set(first);
    expect(made.status, made.text).to.equal(201);
    const { currency, ...shown } = made.json.data;
    expect(shown).to.include(first);
    expect(currency).to.match(/^[A-Z]{3}$/);
    expectError(await set(first), "409 goal_exists");
    expect((await set({ ...first, figure: "revenue" })).status).to.equal(201);
    await owner.call("PATCH", `${path}/${shown.id}`, { amount: 6_000 });
    const { data } = (await (await memberAs("viewer")).call("GET", path)).json;
    expect(
      data.map((row: { figure: string; amount: number }) => [row.figure, row.amount]),
    ).to.have.deep.members([
      ["revenue", 5_000.5],
      ["mrr", 6_000],
    ]);
    for (const wrong of [
      { amount: 0.001 },
      { amount: 1e21 },
      { amount: -1 },
      { month: "2026-13" },
    ]) {
      const refused = await set({ figure: "mrr", month: "2027-01", amount: 1, ...wrong });
      expect(refused.status, JSON.stringify(wrong)).to.equal(422);
    }
    expectError(await owner.call("PATCH", `${path}/goa_none`, { amount: 1 }), "404 goal_unknown");
    for (const { id } of data) await owner.call("DELETE", `${path}/${id}`);
    expect((await owner.call("GET", path)).json.data).to.deep.equal([]);
  });

  it("should refuse notes and goals that one page has no room for", async () => {
    const fill = `INSERT INTO annotations (id, workspace, day, text, created_at)
      SELECT 'ann_' || n, $1, '2026-01-01', 'x', now() FROM generate_series(1, $2::int) n`;
    const { postgres } = opened.service;
    await postgres.query(fill, [workspace, limits.annotationsMax]);
    const note = { day: "2026-02-03", text: "One more" };
    expectError(await owner.call("POST", `${here}/annotations`, note), "409 annotations_full");
    await postgres.query("DELETE FROM annotations WHERE workspace = $1", [workspace]);
    expect((await owner.call("POST", `${here}/annotations`, note)).status).to.equal(201);
    await postgres.query("DELETE FROM annotations WHERE workspace = $1", [workspace]);
  });
});

describe("A sample of the stream", () => {
  it("should send so many a second, say how many it left out, and end with the last", async () => {
    const sent: { n: number; skipped: number }[] = [];
    const sample = new Sample(2, (text) => sent.push(JSON.parse(text)));
    for (let n = 1; n <= 10; n += 1) sample.take(JSON.stringify({ n }));
    await new Promise((resolve) => setTimeout(resolve, 1_200));
    sample.end();
    expect(sent).to.deep.equal([
      { n: 1, skipped: 0 },
      { n: 2, skipped: 0 },
      { n: 10, skipped: 7 },
    ]);
  });
});
