/** Sign-in by both kinds of identity provider, against real ones on this machine. */
import { setTimeout as pause } from "node:timers/promises";
import { once } from "node:events";
import { expect } from "chai";
import { WebSocket } from "ws";
import { type GitHubServer, serveGitHub } from "../apis/identity-servers.js";
import { type OidcServer, serveOidc } from "../apis/oidc-server.js";
import { Browser, ownerBrowser } from "../harness/browser.js";
import { type Answer, expectError } from "../harness/endpoints.js";
import { type TestService, openTestService } from "../harness/service.js";

let opened: TestService;
let owner: Browser;
let workspace: string;
let oidc: OidcServer;
let gitHub: GitHubServer;
let drawn = 0;

before(async function open() {
  this.timeout(60_000);
  opened = await openTestService();
  owner = await ownerBrowser(opened);
  const given = { name: "Sign-in", base_currency: "EUR" };
  const answer = await owner.call("POST", "/v1/manage/workspaces", given);
  workspace = String(answer.json.data.id);
  oidc = serveOidc(opened.identityServers, opened.base);
  gitHub = serveGitHub(opened.identityServers);
});

async function invite(more: object = {}): Promise<string> {
  const path = `/v1/manage/workspaces/${workspace}/invitations`;
  const answer = await owner.call("POST", path, { role: "viewer", ...more });
  expect(answer.status, answer.text).to.equal(201);
  expect(answer.json.data.url).to.include(`${opened.base}/invite#`);
  return String(answer.json.data.url).split("#")[1] ?? "";
}

/** The next to sign in there is somebody nobody has seen before. */
function stranger(email = "") {
  drawn += 1;
  const address = email === "" ? `new-${drawn}@example.com` : email;
  const [sub, name] = [`subject-${drawn}`, `Person ${drawn}`];
  oidc.account = { sub, name, email: address, email_verified: true };
  gitHub.user = { id: drawn, login: `login-${drawn}`, name, email: address };
  return { sub, name, email: address };
}

const people = async () =>
  (await opened.service.postgres.query<{ id: string }>("SELECT id FROM users")).length;

describe("An invitation", () => {
  const read = (token: string) =>
    new Browser(opened.base).call("POST", "/v1/session/invitation", { token });

  it("should say by name who invites to what, and count afterwards", async () => {
    const token = await invite({ role: "admin" });
    const { user, workspaces } = (await owner.call("GET", "/v1/session")).json.data;
    const own = workspaces.find((one: { id: string }) => one.id === workspace);
    for (const _time of [1, 2]) {
      const { status, json, text } = await read(token);
      expect(status, text).to.equal(200);
      expect(json.data).to.include({ workspace: own.name, role: "admin", inviter: user.name });
      expect(Date.parse(json.data.expires_at)).to.be.greaterThan(Date.now());
    }
  });

  it("should name nobody where the administrator token made it", async () => {
    const made = await fetch(`${opened.base}/v1/manage/workspaces/${workspace}/invitations`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${opened.adminToken}`,
        "content-type": "application/json",
      },
      body: JSON.stringify({ role: "viewer" }),
    });
    const { data }: { data: { url: string } } = JSON.parse(await made.text());
    const { json } = await read(data.url.split("#")[1] ?? "");
    expect(json.data).to.include({ role: "viewer", inviter: null });
  });

  it("should say nothing to who guesses", async () => {
    const { status, json } = await read("x".repeat(43));
    expect([status, json.error.code]).to.deep.equal([401, "invitation_invalid"]);
  });
});

async function member(provider: string): Promise<Browser> {
  stranger();
  const browser = new Browser(opened.base);
  await browser.visit(`/auth/${provider}?invitation=${await invite()}`, `${opened.base}/auth/done`);
  expect((await browser.call("GET", "/v1/session")).status).to.equal(200);
  return browser;
}

function expectPage(answer: Answer, status: number, words: RegExp): void {
  expect(answer.status, answer.text).to.equal(status);
  expect(answer.headers.get("content-type")).to.include("text/html");
  expect(answer.headers.get("content-security-policy")).to.include("frame-ancestors 'none'");
  expect(answer.text).to.match(words);
}

describe("Sign-in by an identity provider", function suite() {
  this.timeout(30_000);

  it("should offer the providers of the settings to everybody", async () => {
    const answer = await new Browser(opened.base).call("GET", "/v1/session/providers");
    expect(answer.json.data).to.deep.equal([
      { name: "github", label: "GitHub" },
      { name: "oidc", label: "Single sign-on" },
    ]);
  });

  for (const provider of ["oidc", "github"]) {
    describe(`by ${provider}`, () => {
      it("should show a stranger a page, and make no account", async () => {
        stranger();
        const before = await people();
        const browser = new Browser(opened.base);
        expectPage(await browser.visit(`/auth/${provider}`), 403, /account belongs to no member/);
        expect(browser.session).to.equal("");
        expect(await people()).to.equal(before);
      });

      it("should let who is invited in, once, and back in without an invitation", async () => {
        const { name } = stranger();
        const token = await invite({ role: "admin" });
        const browser = new Browser(opened.base);
        const path = `/auth/${provider}?invitation=${token}&return_to=/overview?range=12m`;
        const { url } = await browser.visit(path, `${opened.base}/overview`);
        expect(url.href).to.equal(`${opened.base}/overview?range=12m`);
        const { data } = (await browser.call("GET", "/v1/session")).json;
        expect(data.user.name).to.equal(name);
        expect(data.workspaces).to.deep.equal([
          { id: workspace, name: "Sign-in", base_currency: "EUR", role: "admin" },
        ]);

        const spent = await new Browser(opened.base).visit(`/auth/${provider}?invitation=${token}`);
        expectPage(spent, 401, /already used/);

        const first = browser.session;
        await browser.visit(`/auth/${provider}`, `${opened.base}/`);
        const again = await browser.visit(
          `/auth/${provider}?return_to=/live`,
          `${opened.base}/live`,
        );
        expect(again.url.pathname).to.equal("/live");
        expect(browser.session).to.not.equal(first);
        const now = (await browser.call("GET", "/v1/session")).json.data;
        expect(now.user.id).to.equal(data.user.id);
        const old = new Browser(opened.base);
        old.setCookie("session", first);
        expect((await old.call("GET", "/v1/session")).status).to.equal(401);
      });

      it("should never join by e-mail", async () => {
        const { email } = stranger();
        const browser = new Browser(opened.base);
        await browser.visit(`/auth/${provider}?invitation=${await invite()}`, `${opened.base}/x`);
        stranger(email);
        expectPage(
          await new Browser(opened.base).visit(`/auth/${provider}`),
          403,
          /belongs to no member/,
        );
      });

      it("should keep an invitation to the e-mail or domain it is for", async () => {
        const cases: [given: object, email: string, status: number][] = [
          [{ email: "ann@example.com" }, "bob@example.com", 403],
          [{ email: "ann@example.com" }, "Ann@Example.com", 200],
          [{ domain: "example.org" }, "ann@notexample.org", 403],
          [{ domain: "example.org" }, "ann@example.org", 200],
        ];
        for (const [given, email, status] of cases) {
          stranger(email);
          const browser = new Browser(opened.base);
          const path = `/auth/${provider}?invitation=${await invite(given)}&return_to=/live`;
          const answer = await browser.visit(path, `${opened.base}/live`);
          expect(answer.status, `${JSON.stringify(given)} ${email}`).to.equal(
            status === 200 ? 302 : status,
          );
          expect(browser.session === "").to.equal(status !== 200);
        }
      });

      const wrong: [title: string, change: (browser: Browser, url: URL) => string | URL][] = [
        ["a wrong state", (_, url) => changed(url, "state", "x".repeat(43))],
        ["no state", (_, url) => changed(url, "state", null)],
        ["the state of another browser", (browser, url) => (browser.setCookie("sign-in", ""), url)],
        ["a wrong code", (_, url) => changed(url, "code", "wrong")],
        [
          "the callback of another provider",
          (_, url) => url.href.replace(provider, provider === "oidc" ? "github" : "oidc"),
        ],
      ];
      for (const [title, change] of wrong) {
        it(`should refuse ${title}`, async () => {
          await member(provider);
          const browser = new Browser(opened.base);
          const callback = `${opened.base}/auth/${provider}/callback`;
          const { url } = await browser.visit(`/auth/${provider}`, callback);
          const answer = await browser.visit(String(change(browser, url)));
          expectPage(answer, 400, /start again/);
          expect(browser.session).to.equal("");
        });
      }

      it("should refuse a callback that was used", async () => {
        await member(provider);
        const browser = new Browser(opened.base);
        const callback = `${opened.base}/auth/${provider}/callback`;
        const { url } = await browser.visit(`/auth/${provider}`, callback);
        const held = browser.cookie("sign-in") ?? "";
        await browser.visit(url.href, `${opened.base}/`);
        expect((await browser.call("GET", "/v1/session")).status).to.equal(200);
        const thief = new Browser(opened.base);
        thief.setCookie("sign-in", held);
        expectPage(await thief.visit(url.href), 400, /already used/);
        expect(thief.session).to.equal("");
      });
    });
  }

  it("should refuse an ID token with another nonce", async () => {
    await member("oidc");
    const browser = new Browser(opened.base);
    const { url } = await browser.visit("/auth/oidc", opened.identityServers.oidcUrl);
    url.searchParams.set("nonce", "another");
    expectPage(await browser.visit(url.href), 400, /did not confirm/);
    expect(browser.session).to.equal("");
  });

  it("should know a GitHub user by the number, whatever the login", async () => {
    const browser = await member("github");
    const { id } = (await browser.call("GET", "/v1/session")).json.data.user;
    gitHub.user = { ...gitHub.user, login: "renamed", name: "Renamed", email: "other@example.com" };
    const again = new Browser(opened.base);
    await again.visit("/auth/github?return_to=/live", `${opened.base}/live`);
    expect((await again.call("GET", "/v1/session")).json.data.user.id).to.equal(id);
  });

  it("should return to own paths only", async () => {
    for (const path of ["https://evil.example", "//evil.example", "/\\evil.example", "/%09/evil"]) {
      const answer = await new Browser(opened.base).visit(`/auth/oidc?return_to=${path}`, "http");
      const isOwn = answer.status === 302;
      expect(isOwn, path).to.equal(false);
      expectPage(answer, 400, /return_to/);
    }
  });

  it("should say so where there is no such provider, invitation or parameter", async () => {
    const browser = new Browser(opened.base);
    expectPage(await browser.visit("/auth/google"), 404, /no such provider/);
    expectPage(await browser.visit("/auth/oidc?invitation=x"), 401, /is invalid/);
    expectPage(await browser.visit("/auth/oidc?more=x"), 400, /Unknown parameter more/);
  });

  it("should end a session that is too old, or idle for too long", async () => {
    const { postgres, sessions } = opened.service;
    for (const column of ["expires_at", "last_seen_at"]) {
      const browser = await member("github");
      const { session_id: id } = (await browser.call("GET", "/v1/session")).json.data;
      const then = new Date(Date.now() - (column === "expires_at" ? 1 : 12 * 3_600_000 + 1));
      await pause(20);
      await postgres.query(`UPDATE sessions SET ${column} = $2 WHERE id = $1`, [id, then]);
      sessions.forget();
      expectError(await browser.call("GET", "/v1/session"), "401 session_missing");
    }
  });

  it("should keep who was removed out, with their sockets and their name", async () => {
    const browser = await member("oidc");
    const { id } = (await browser.call("GET", "/v1/session")).json.data.user;
    const { closed } = await openSocket(browser);
    const path = `/v1/manage/workspaces/${workspace}/members/${id}`;
    expect((await owner.call("DELETE", path)).status).to.equal(200);
    expect(await closed).to.equal(1008);
    expectError(await browser.call("GET", "/v1/session"), "401 session_missing");
    expectPage(await new Browser(opened.base).visit("/auth/oidc"), 403, /belongs to no member/);
    const rows = await opened.service.postgres.query("SELECT 1 FROM users WHERE id = $1", [id]);
    expect(rows).to.deep.equal([]);
  });

  it("should add another provider to who is signed in, and to nobody else", async () => {
    const browser = await member("oidc");
    const { id } = (await browser.call("GET", "/v1/session")).json.data.user;
    const given = { provider: "github", return_to: "/settings" };
    const begun = await browser.call("POST", "/v1/session/identities", given);
    const { url } = await browser.visit(begun.json.data.url, `${opened.base}/settings`);
    expect(url.pathname).to.equal("/settings");
    const other = new Browser(opened.base);
    await other.visit("/auth/github", `${opened.base}/`);
    await other.visit("/auth/github?return_to=/live", `${opened.base}/live`);
    expect((await other.call("GET", "/v1/session")).json.data.user.id).to.equal(id);

    const another = await member("oidc");
    gitHub.user = { ...gitHub.user, id: drawn - 1 };
    const taken = await another.call("POST", "/v1/session/identities", given);
    expectPage(await another.visit(taken.json.data.url), 409, /Another member signs in/);
  });
});

describe("Sign-out", function suite() {
  this.timeout(30_000);

  it("should end the session here, and name where the provider ends its own", async () => {
    const browser = await member("oidc");
    const held = browser.session;
    const { closed } = await openSocket(browser);
    const answer = await browser.call("POST", "/auth/sign-out");
    expect(answer.json.data.redirect_to).to.include(
      `${opened.identityServers.oidcUrl}/session/end`,
    );
    expect(answer.json.data.redirect_to).to.include("id_token_hint=");
    expect(browser.session).to.equal("");
    browser.setCookie("session", held);
    expect((await browser.call("GET", "/v1/session")).status).to.equal(401);
    expect(await closed).to.equal(1008);
  });

  it("should know no such place of GitHub", async () => {
    const browser = await member("github");
    const answer = await browser.call("POST", "/auth/sign-out");
    expect(answer.json.data).to.deep.equal({ redirect_to: null });
  });

  it("should follow the provider's own sign-out, reported behind the browser's back", async () => {
    const browser = await member("oidc");
    const other = await member("oidc");
    const { closed } = await openSocket(browser);
    await signOutAtProvider(browser);
    expect(await closed).to.equal(1008);
    expect((await browser.call("GET", "/v1/session")).status).to.equal(401);
    expect((await other.call("GET", "/v1/session")).status).to.equal(200);
  });

  it("should take no other token for a sign-out", async () => {
    const path = "/auth/oidc/backchannel-logout";
    for (const logout of ["", "x", "eyJhbGciOiJub25lIn0.e30."]) {
      const answer = await fetch(opened.base + path, {
        method: "POST",
        body: new URLSearchParams({ logout_token: logout }),
      });
      expect(answer.status).to.equal(400);
    }
    const gone = await fetch(`${opened.base}/auth/github/backchannel-logout`, { method: "POST" });
    expect(gone.status).to.equal(404);
  });
});

/** As its page does: a form is shown, and sent by the person. */
async function signOutAtProvider(browser: Browser): Promise<void> {
  const { oidcUrl } = opened.identityServers;
  const page = await browser.visit(`${oidcUrl}/session/end`);
  const xsrf = /name="xsrf" value="([^"]+)"/.exec(page.text)?.[1] ?? "";
  await browser.submit(`${oidcUrl}/session/end/confirm`, { xsrf, logout: "yes" });
}

/** @returns what resolves to the code it is closed with; wrapped, since that is later */
async function openSocket(browser: Browser): Promise<{ readonly closed: Promise<number> }> {
  const query = `workspace=${workspace}&environment=live`;
  const url = `${opened.base.replace("http", "ws")}/v1/events/stream?${query}`;
  const headers = { cookie: `session=${browser.session}`, origin: opened.base };
  const socket = new WebSocket(url, { headers });
  const closed = new Promise<number>((resolve) => socket.once("close", resolve));
  await once(socket, "open");
  return { closed };
}

function changed(url: URL, name: string, value: string | null): URL {
  const next = new URL(url);
  if (value === null) next.searchParams.delete(name);
  else next.searchParams.set(name, value);
  return next;
}
