/** What a new workspace shows in place of figures, in a real browser. */
import { expect } from "chai";
import type { Page } from "playwright-core";
import { writeLinkFile } from "../../workspaces/members/first-run.js";
import type { Endpoints } from "../harness/endpoints.js";
import { openBrowser, seen, type LookedAt } from "./browser.js";
import { inWorkspace, openWorkspace } from "./workspace.js";

describe("An empty overview", function () {
  this.timeout(180_000);
  let endpoints: Endpoints;
  let looked: LookedAt;
  let page: Page;
  let workspace = "";

  before(async function () {
    ({ endpoints, looked, page, workspace } = await openWorkspace(this, "New here"));
  });
  after(() => page?.context().close());

  const overview = (): string => inWorkspace("/overview", workspace);

  it("should offer three ways to begin, and nothing that is zero", async () => {
    await looked.findNothingWrong(overview());
    const steps = page.locator(".first-steps h3");
    expect(await steps.allTextContents()).to.deep.equal([
      "Connect a provider",
      "Send a test event",
      "Open the demo",
    ]);
    await page.getByRole("button", { name: "Open the demo" }).waitFor();
    expect(await page.locator("p.slow").count()).to.equal(0);
    expect(await page.locator(".figure-cell").count()).to.equal(0);
    await page.getByRole("link", { name: "Connect a provider" }).click();
    await page.getByRole("link", { name: /^Stripe/ }).waitFor();
  });

  it("should open the demo's link without asking anything", async function () {
    const { base, service } = endpoints;
    const browser = await openBrowser(this);
    const another = await browser.newPage();
    const link = writeLinkFile(service.config.DATA_DIR, new Date());
    await another.goto(`${base}/setup?now#${link}`);
    await another.waitForURL(/welcome|overview/);
    // A link counts once; the second time it says so.
    await another.goto(`${base}/setup?now#${link}`);
    await seen(another, "This link was already used");
    await seen(another, "makes a new one");
    await another.goto(`${base}/invite#no-such-invitation`);
    await seen(another, "Ask whoever sent it for a new one.");
    expect(await another.getByText("Sign in again").count()).to.equal(0);
    await another.close();
  });

  it("should send a real event into Test, and keep no key that works", async () => {
    await page.goto(overview());
    await page.getByRole("button", { name: "Send a test event" }).click();
    await seen(page, /^Taken, as \$\d/);
    await page.getByRole("link", { name: "See it in Test" }).click();
    await page.locator(".figure-cell").first().waitFor();
    await page.locator(".figure-cell a.value", { hasText: "$" }).first().waitFor();
    expect(await page.locator(".first-steps").count()).to.equal(0);
    const { json } = await endpoints.manage("GET", `/workspaces/${workspace}/keys`);
    expect(json.data).to.have.length(1);
    expect(json.data[0]).to.include({ environment: "Test", name: "Test event of the dashboard" });
    expect(json.data[0].revoked_at).to.be.a("string");
    // Real figures are as empty as before.
    await page.goto(overview());
    await page.locator(".first-steps").waitFor();
    expect(looked.complaints).to.deep.equal([]);
  });

  it("should say which provider is waited for, once one is connected", async () => {
    const { status } = await endpoints.manage("POST", `/workspaces/${workspace}/integrations`, {
      provider: "stripe",
      environment: "Production",
      credentials: { signing_secret: "whsec_of_the_first_steps" },
    });
    expect(status).to.equal(201);
    await page.goto(overview());
    await page.getByRole("link", { name: "Check the connection" }).click();
    await seen(page, "Waiting for the first event");
  });

  it("should say how to enter the API key without which nothing can be read", async () => {
    await page.getByRole("button", { name: "Compare the last 12 months" }).click();
    await seen(page, /^Not compared\. The integration has no key.*Rotate credentials/);
    await page.getByRole("link", { name: "See what each payout is made of" }).click();
    await seen(page, /has no key.*Rotate credentials/);
    await seen(page, "Check the API key of the integration");
  });

  it("should draw no charts of nothing", async () => {
    for (const path of ["/mrr", "/revenue"]) {
      await page.goto(inWorkspace(path, workspace));
      await seen(page, /^No (recurring revenue|sales) in this time$/);
      expect(await page.locator("figure").count(), path).to.equal(0);
    }
  });
});
