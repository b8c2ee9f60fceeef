/** The dashboard in a real browser, from the first link on; figures are those of the API. */
import { readFileSync } from "node:fs";
import { expect } from "chai";
import type { Page } from "playwright-core";
import { writeLinkFile } from "../../workspaces/members/first-run.js";
import { type Endpoints, openEndpoints } from "../harness/endpoints.js";
import { until } from "../harness/promises.js";
import { openPage, seen, type LookedAt } from "./browser.js";
import { inWorkspace } from "./workspace.js";

describe("The dashboard", function () {
  this.timeout(180_000);
  let endpoints: Endpoints;
  let looked: LookedAt;
  let page: Page;
  let workspace = "";
  let key = "";

  before(async function () {
    looked = await openPage(this);
    endpoints = await openEndpoints();
    page = looked.page;
    await firstRun();
    await playSome();
  });
  after(() => page?.context().close());

  async function firstRun(): Promise<void> {
    const token = writeLinkFile(endpoints.service.config.DATA_DIR, new Date());
    await page.goto(`${endpoints.base}/setup#${token}`);
    await page.getByLabel("Your name").fill("Ada");
    await page.getByRole("button", { name: "Open the dashboard" }).click();
    await page.waitForURL(/welcome|overview/);
    await page.goto(`${endpoints.base}/welcome`);
    await page.getByLabel("Name").fill("Looked at");
    await page.getByRole("button", { name: "Create" }).click();
    await page.waitForURL(/workspace=/);
    workspace = new URL(page.url()).searchParams.get("workspace") ?? "";
    const { json } = await endpoints.manage("POST", `/workspaces/${workspace}/keys`, {
      environment: "Production",
      scope: "Full Ingress",
    });
    key = json.data.key;
  }

  async function playSome(): Promise<void> {
    const day = (before: number): string =>
      new Date(Date.now() - before * 24 * 60 * 60 * 1000).toISOString();
    const event = (type: string, amount: number, before: number, more: object): object => ({
      provider: "stripe",
      event_type: type,
      amount,
      currency: "USD",
      occurred_at: day(before),
      ...more,
    });
    const started = (id: string, amount: number, before: number): object =>
      event("subscription.new", amount, before, {
        event_id: `start-${id}`,
        subscription_id: id,
        customer_id: `customer-${id}`,
        product_id: "plan",
        product_name: '<img src=x onerror="document.title=1">',
      });
    const events = [
      started("one", 40, 200),
      started("two", 25, 100),
      started("three", 60, 20),
      event("subscription.churn", 25, 10, {
        event_id: "end-two",
        subscription_id: "two",
        customer_id: "customer-two",
        product_id: "plan",
      }),
      event("transaction.sale", 99.5, 15, { event_id: "sale-1", product_id: "poster" }),
      event("transaction.refund", 99.5, 3, { event_id: "back-1", transaction_id: "sale-1" }),
    ];
    for (const body of events) {
      const { status, text } = await ingest(body);
      expect(status, text).to.equal(202);
    }
    await endpoints.booked();
  }

  const ingest = (body: object) =>
    endpoints.call("/v1/events/ingest", {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });

  // oxlint-disable-next-line typescript/no-explicit-any -- answers are asserted on
  async function read(path: string): Promise<any> {
    const { json, status, text } = await endpoints.call(path, {
      headers: { authorization: `Bearer ${key}` },
    });
    expect(status, text).to.equal(200);
    return json;
  }

  const at = (path: string): string => endpoints.base + inWorkspace(path, workspace);
  const usd = (amount: number): string =>
    new Intl.NumberFormat("en-US", { style: "currency", currency: "USD" }).format(amount);

  it("should show on the overview what the summary and the revenue call answer", async () => {
    await page.goto(at("/overview"));
    const from = await shownRange();
    const { data } = await read(`/v1/metrics/summary?${from}`);
    const { data: revenue } = await read(`/v1/metrics/revenue?${from}`);
    const figure = (name: string) =>
      page
        .locator(".figure-cell")
        .filter({ has: page.getByRole("button", { name, exact: true }) })
        .locator("a.value");
    await page
      .getByRole("link", { name: usd(data.mrr), exact: true })
      .first()
      .waitFor();
    // It comes by a call of its own.
    await page
      .locator(`a.value[title="${usd(revenue.totals.revenue)}"]`)
      .first()
      .waitFor();
    expect(await figure("MRR").getAttribute("title")).to.equal(usd(data.mrr));
    expect(await figure("ARR").getAttribute("title")).to.equal(usd(data.arr));
    expect(await figure("Active subscribers").textContent()).to.equal(
      String(data.active_subscribers),
    );
    expect(await figure("Revenue").getAttribute("title")).to.equal(usd(revenue.totals.revenue));
    expect(data.mrr).to.equal(100);
  });

  /** The days of the default range, as the dashboard asks for them. */
  async function shownRange(): Promise<string> {
    const request = await page.waitForRequest(/\/v1\/metrics\/summary/);
    const { searchParams } = new URL(request.url());
    return `from=${searchParams.get("from")}&to=${searchParams.get("to")}`;
  }

  it("should open a step of the waterfall down to the event behind it", async () => {
    await page.goto(at("/mrr"));
    await page.getByRole("link", { name: /^Churn: -\$25\.00/ }).press("Enter");
    await page.waitForURL(/\/mrr\/movements.*kind=churn/);
    const row = page.getByRole("row").filter({ hasText: "-$25.00" });
    await row.getByRole("link", { name: /evt_norm/ }).click();
    await page.waitForURL(/\/events\/evt_norm/);
    await seen(page, "subscription.churn");
    await seen(page, "Booked", { exact: true });
  });

  it("should show a transaction with its rate, its ledger entries and its refund", async () => {
    await page.goto(at("/transactions?search=sale-1"));
    await page
      .getByRole("link", { name: /poster|Unattributed/i })
      .first()
      .click();
    const drawer = page.getByRole("dialog");
    await drawer.getByText("Refunded", { exact: true }).first().waitFor();
    await drawer.getByRole("cell", { name: "-$99.50" }).first().waitFor();
    await page.keyboard.press("Escape");
    await drawer.waitFor({ state: "detached" });
  });

  it("should show a payment live, without anybody asking again", async () => {
    await page.goto(at("/live"));
    await page.getByText("Live", { exact: true }).last().waitFor();
    await page.locator(".badge.live").first().waitFor();
    const { status } = await ingest({
      provider: "custom",
      event_type: "transaction.sale",
      amount: 12.34,
      currency: "USD",
      product_id: "now",
    });
    expect(status).to.equal(202);
    await page.getByRole("cell", { name: "$12.34" }).first().waitFor();
  });

  it("should draw the rows of Live that are seen, and all of them when it is paused", async () => {
    const live = Array.from({ length: 20 }, (_sale, index) => ({
      provider: "custom",
      event_type: "transaction.sale",
      amount: 1 + index,
      currency: "USD",
      product_id: "many",
    }));
    for (const { status } of await Promise.all(live.map(ingest))) expect(status).to.equal(202);
    const rows = page.getByRole("row").filter({ hasText: /many/i });
    await rows.nth(19).waitFor();
    await page.setViewportSize({ width: 1440, height: 200 });
    await rows.nth(19).waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Pause" }).click();
    await rows.nth(19).waitFor();
    await page.setViewportSize({ width: 1440, height: 900 });
  });

  it("should freeze a view into a link that stays as it is", async () => {
    await page.goto(at("/mrr"));
    await page.getByRole("link", { name: /^End:/ }).waitFor();
    await page.getByRole("link", { name: "Freeze" }).click();
    await page.waitForURL(/known_at=/);
    const frozen = page.url();
    const end = await page.getByRole("link", { name: /^End:/ }).getAttribute("aria-label");
    await ingest({
      provider: "stripe",
      event_type: "subscription.new",
      amount: 500,
      currency: "USD",
      subscription_id: "later",
      product_id: "plan",
    });
    await page.goto("about:blank");
    await page.goto(frozen);
    const link = page.getByRole("link", { name: /^End:/ });
    expect(await link.getAttribute("aria-label")).to.equal(end);
  });

  it("should take what a product is called as text", async () => {
    await page.goto(at("/products?period=lifetime"));
    await seen(page, "<img src=x");
    expect(await page.locator("main img").count()).to.equal(0);
  });

  /** The first characters of the file that a click saves. */
  async function savedBy(click: () => Promise<void>): Promise<string> {
    const [file] = await Promise.all([page.waitForEvent("download"), click()]);
    return readFileSync(await file.path(), "latin1").slice(0, 24);
  }

  it("should save a chart as two pictures, and what changed as rows", async () => {
    await page.goto(at("/mrr"));
    await page.getByRole("link", { name: /^End:/ }).waitFor();
    const save = page.locator("figure").first().getByRole("button", { name: "Save" });
    for (const [kind, begin] of [
      ["SVG", "<svg "],
      ["PNG", "\u0089PNG"],
    ] as const) {
      await save.click();
      const text = await savedBy(() => page.getByRole("button", { name: kind }).click());
      expect(text.slice(0, begin.length)).to.equal(begin);
    }
    await page.goto(at("/why"));
    await page.getByRole("button", { name: "Export" }).click();
    const text = await savedBy(() => page.getByRole("link", { name: "CSV" }).click());
    expect(text).to.equal("event_id,recorded_at,acc");
  });

  it("should rename, merge and split products, and take each back", async () => {
    const names = async (): Promise<string[]> =>
      (await read("/v1/products?period=lifetime")).data
        .map(({ name }: { name: string }) => name)
        .toSorted();
    const before = await names();
    await page.goto(at("/products?period=lifetime"));
    await page.getByRole("link", { name: "many" }).click();
    const drawer = page.locator("dialog.drawer");
    const title = (name: string) => drawer.getByRole("heading", { name, exact: true }).waitFor();
    await drawer.getByLabel("Name", { exact: true }).fill("Renamed");
    await drawer.getByRole("button", { name: "Save" }).click();
    await title("Renamed");
    await drawer.getByRole("button", { name: "Back to many" }).click();
    await title("many");

    const splitOff = drawer.getByRole("button", { name: "Split off" });
    const merge = async (): Promise<void> => {
      await drawer.getByLabel("Other product").selectOption({ label: "now" });
      await drawer.getByRole("button", { name: "Merge" }).click();
      const preview = page.getByRole("dialog", { name: "Merge now into many?" });
      await preview.getByRole("row").filter({ hasText: "now" }).first().waitFor();
      await preview.getByRole("button", { name: "Merge" }).click();
      await splitOff.nth(1).waitFor();
      expect(await names()).to.deep.equal(before.filter((name) => name !== "now"));
    };
    await merge();
    await drawer.getByRole("button", { name: "Separate now again" }).click();
    await splitOff.first().waitFor({ state: "detached" });
    expect(await names()).to.deep.equal(before);
    await merge();
    const row = drawer.getByRole("row").filter({ hasText: "now" });
    await row.getByRole("button", { name: "Split off" }).click();
    await drawer.getByRole("button", { name: "Put now back" }).click();
    await splitOff.nth(1).waitFor();

    await page.goto(at("/settings/activity"));
    await page.getByRole("button", { name: "Undo" }).click();
    const question = page.getByRole("dialog", { name: "Undo this merge?" });
    await question.getByRole("row").filter({ hasText: "now" }).waitFor();
    await question.getByRole("button", { name: "Undo" }).click();
    await page.getByRole("row").filter({ hasText: "Product merge undone" }).nth(1).waitFor();
    await page.getByRole("button", { name: "Undo" }).waitFor({ state: "detached" });
    expect(await names()).to.deep.equal(before);
  });

  it("should draw seven groups, and the rest as others", async () => {
    await page.goto(at("/revenue?group_by=product&range=12m"));
    const legend = page.locator("figure").last().locator(".legend li");
    await legend.first().waitFor();
    const { data } = await read("/v1/metrics/revenue?group_by=product&groups=7");
    const count = new Set(data.revenue.map((row: { product_id: string }) => row.product_id)).size;
    const others = data.others.count === 0 ? [] : [`Others (${data.others.count})`];
    expect(await legend.count()).to.equal(count + others.length);
    expect((await legend.allTextContents()).slice(count)).to.deep.equal(others);
    const nets: readonly number[] = data.group_totals.map((row: { net: number }) => row.net);
    const first = page.getByRole("region", { name: "Net by product" }).locator("tbody tr").first();
    const dollars = Math.max(...nets).toLocaleString("en-US", { minimumFractionDigits: 2 });
    expect(await first.innerText()).to.include(`$${dollars}`);
  });

  it("should filter by countries that there are, found by name", async () => {
    for (const country of ["DE", "GE", "FR"]) {
      const sale = {
        event_type: "transaction.sale",
        amount: 1,
        currency: "USD",
        product_id: "plan",
      };
      await ingest({
        ...sale,
        provider: "stripe",
        event_id: `c-${country}`,
        customer_country: country,
      });
    }
    await endpoints.booked();
    await page.goto(at("/transactions"));
    await page.getByRole("button", { name: "Filter" }).click();
    await page.getByLabel("Find a country").fill("ger");
    await page.getByRole("checkbox", { name: "Germany" }).check();
    await page.waitForURL(/country=DE/);
    expect(await page.getByRole("checkbox").count()).to.equal(1);
    await page.getByLabel("Find a country").fill("fr");
    await page.keyboard.press("Enter");
    await page.waitForURL(/country=DE%2CFR/);
    await page.keyboard.press("Escape");
    await page.getByRole("link", { name: "Remove the filter Germany" }).click();
    await page.waitForURL(/country=FR(?:&|$)/);
    await looked.settle();
    const shown = await page.locator("tbody tr").count();
    expect(shown).to.equal((await read("/v1/transactions?country=FR")).data.length);
  });

  it("should keep a view and a note until they are deleted", async () => {
    await page.goto(at("/mrr?range=24m"));
    const menu = page.getByRole("button", { name: "Saved views and notes" });
    await menu.click();
    await page.getByLabel("Save this view as").fill("Two years");
    await page.keyboard.press("Enter");
    const saved = page.getByRole("link", { name: "Two years" });
    await saved.waitFor();
    await page.getByLabel("Note, shown in charts").fill("Prices raised");
    await page.getByRole("button", { name: "Add" }).click();
    await page.getByRole("button", { name: "Delete the note Prices raised" }).waitFor();
    await page.goto(at("/overview"));
    await page.locator(".chart .marker").first().waitFor({ state: "attached" });
    await menu.click();
    await saved.click();
    await page.waitForURL(/\/mrr.*range=24m/);
    await menu.click();
    for (const name of ["Delete Two years", "Delete the note Prices raised"]) {
      await page.getByRole("button", { name }).click();
      await page.getByRole("button", { name }).waitFor({ state: "detached" });
    }
  });

  it("should compare with what was known on the day that the slider is dragged to", async () => {
    await page.goto(at("/why"));
    const slider = page.getByRole("slider");
    const { x, y, width, height } = (await slider.boundingBox()) ?? expect.fail("no slider");
    await page.mouse.move(x + width * 0.917, y + height / 2);
    await page.mouse.down();
    await page.mouse.move(x + width / 2, y + height / 2, { steps: 5 });
    expect(page.url()).not.to.include("from_known_at");
    await page.mouse.up();
    await page.waitForURL(/from_known_at=/);
    const day = await page.locator(".slider strong").textContent();
    await page.locator(".readings").getByText(`As known on ${day}`).waitFor();
  });

  it("should say on every screen what its figures miss, and where to put it right", async () => {
    const { status } = await ingest({
      provider: "stripe",
      event_type: "subscription.churn",
      amount: 5,
      currency: "USD",
      event_id: "lonely",
      product_id: "nobody-has-it",
    });
    expect(status).to.equal(202);
    const text = "1 event of Stripe, ending a subscription that never started, is missing";
    const note = page.locator(".attention").filter({ hasText: text });
    await until(async () => {
      await page.goto(at("/overview"));
      await looked.settle();
      return (await note.count()) === 1;
    });
    expect(await note.getByRole("heading").textContent()).to.equal("Needs attention");
    for (const screen of ["/mrr", "/revenue", "/transactions", "/accounts"]) {
      await page.goto(at(screen));
      await note.waitFor();
    }
    await page.goto(at("/mrr?provider=paddle"));
    await looked.settle();
    expect(await note.count()).to.equal(0);

    await page.goto(at("/mrr"));
    await note.getByRole("link", { name: "Fix" }).click();
    await page.waitForURL(/settings\/rejects/);
    await page.getByRole("button", { name: "Replay all of these" }).waitFor();
    expect(await page.locator("tbody tr").count()).to.equal(1);
  });

  it("should not offer to put right what the reader may not", async () => {
    await page.route("**/v1/session", async (route) => {
      const answer = await route.fetch();
      const text = (await answer.text()).replaceAll('"role":"owner"', '"role":"viewer"');
      await route.fulfill({ response: answer, body: text });
    });
    await page.goto(at("/mrr"));
    const note = page.locator(".attention");
    await note.waitFor();
    expect(await note.getByRole("link").count()).to.equal(0);
    await page.getByRole("link", { name: "Definitions", exact: true }).waitFor();
    expect(await page.getByRole("link", { name: "Alert", exact: true }).count()).to.equal(0);
    await page.goto(at("/settings/integrations/new?connect=stripe"));
    await page.getByRole("heading", { name: "Not for your role" }).waitFor();
    await page.unroute("**/v1/session");
  });

  const screens = [
    "/overview",
    "/mrr?group_by=provider",
    "/mrr/movements",
    "/mrr/definitions",
    "/revenue?group_by=product",
    "/rates",
    "/retention",
    "/products?period=lifetime",
    "/transactions",
    "/accounts",
    "/live",
    "/what-changed?range=12m",
    "/what-changed?range=12m&by=product",
    "/why",
  ];
  for (const screen of screens) {
    it(`should find nothing wrong with ${screen}, in both schemes and widths`, () =>
      looked.findNothingWrong(at(screen)));
  }

  it("should find nothing wrong with one account, event, transaction and product", async () => {
    const [movement] = (await read("/v1/mrr-movements?limit=1")).data;
    const [transaction] = (await read("/v1/transactions?limit=1")).data;
    const paths = [
      `/accounts/${movement.account}`,
      `/events/${movement.event_id}`,
      `/transactions?open=${transaction.id}`,
      `/products?period=lifetime&open=${transaction.product_id}`,
    ];
    for (const path of paths) await looked.findNothingWrong(at(path));
  });

  it("should say in words what happened to an account, and by which webhook", async () => {
    const [churn] = (await read("/v1/mrr-movements?kind=churn")).data;
    await page.goto(at(`/accounts/${churn.account}`));
    const lines = page.locator(".timeline > li");
    await lines.first().waitFor();
    const name = '<img src=x onerror="document.title=1">';
    const shown = (await lines.allInnerTexts()).map((text) => text.replaceAll(/\s+/g, " "));
    expect(shown).to.have.length(3);
    for (const [index, words] of [
      `Cancelled ${name}, -$25.00 a month`,
      `Paid $25.00 for ${name}`,
      `Started ${name} at $25.00 a month`,
    ].entries()) {
      expect(shown[index]).to.match(/webhook$/);
      expect(shown[index]?.slice(0, words.length)).to.equal(words);
    }
    const webhook = lines.first().getByRole("link", { name: "webhook" });
    expect(await webhook.getAttribute("href")).to.contain(`/events/${churn.event_id}`);
  });

  it("should keep a chart that was turned into a table as one when figures change", async () => {
    await page.goto(at("/revenue"));
    const toggle = page.getByRole("button", { name: "Show as a table" }).last();
    await toggle.click();
    await page.getByRole("button", { name: /^Range/ }).click();
    await page.getByRole("link", { name: "Last 30 days" }).click();
    await page.waitForURL(/range=30d/);
    await looked.settle();
    expect(await toggle.getAttribute("aria-pressed")).to.equal("true");
  });

  it("should load nothing from elsewhere and break no rule of its policy", () => {
    expect(looked.complaints).to.deep.equal([]);
  });
});
