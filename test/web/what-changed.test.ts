/** What a founder asks first: what changed this month, and who made the difference. */
import { expect } from "chai";
import type { Locator, Page } from "playwright-core";
import type { Endpoints } from "../harness/endpoints.js";
import type { LookedAt } from "./browser.js";
import { seen } from "./browser.js";
import { type OpenWorkspace, bookEvents, eventOf, openWorkspace } from "./workspace.js";

const dayMs = 24 * 60 * 60 * 1000;
const now = new Date();
const monthStart = Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 1);
const earlier = new Date(monthStart - 40 * dayMs).toISOString();
const thisMonth = new Date((monthStart + now.getTime()) / 2).toISOString();

const day = (ms: number): string =>
  new Intl.DateTimeFormat("en-US", { dateStyle: "medium", timeZone: "UTC" }).format(ms);
const since = day(monthStart);
const sentence = `-$80.00 since ${since}: two accounts left, one upgraded.`;

describe("What changed", function () {
  this.timeout(180_000);
  let endpoints: Endpoints;
  let opened: OpenWorkspace;
  let page: Page;
  let looked: LookedAt;
  let workspace = "";
  let clicks = 0;

  before(async function () {
    opened = await openWorkspace(this, "Changing", {
      permissions: ["clipboard-read", "clipboard-write"],
    });
    ({ endpoints, looked, page, workspace } = opened);
    await bookEvents(endpoints, workspace, "Production", [
      started("stays", 100, earlier),
      started("small", 40, earlier),
      started("large", 60, earlier),
      ended("small", 40),
      ended("large", 60),
      started("stays", 120, thisMonth),
    ]);
  });
  after(() => page?.context().close());

  const event = (type: string, id: string, amount: number, at: string): object =>
    eventOf(type, id, amount, at, {
      customer_id: `customer-${id}`,
      customer_country: "DE",
      product_id: `plan-${id}`,
      product_name: `Plan ${id}`,
    });
  const started = (id: string, amount: number, at: string): object =>
    event("subscription.new", id, amount, at);
  const ended = (id: string, amount: number): object =>
    event("subscription.churn", id, amount, thisMonth);

  async function open(path: string): Promise<void> {
    clicks = 0;
    await opened.open(path);
  }
  async function click(what: Locator): Promise<void> {
    clicks += 1;
    await what.click();
  }
  const link = (name: string) => page.getByRole("link", { name, exact: true });
  const tab = (name: string) =>
    page.getByRole("navigation", { name: "What changed" }).getByRole("link", { name });
  const arrive = () =>
    page.getByRole("heading", { name: "What changed", exact: true, level: 1 }).waitFor();

  it("should be answered on the overview, in a sentence and the largest differences", async () => {
    await open("/overview");
    const card = page.locator(".changed-card");
    await card.getByText(sentence).waitFor();
    const lines = await card.locator("li .number").allTextContents();
    expect(lines).to.deep.equal(["+$20.00", "-$60.00", "-$40.00"]);
  });

  it("should lead in three clicks from the overview to the webhook behind it", async () => {
    await open("/overview");
    await click(link("All changes"));
    await page.locator("main > .answer").getByText(sentence).waitFor();
    const largest = page
      .getByRole("region", { name: /^Top losses/ })
      .getByRole("row")
      .nth(1);
    expect(await largest.textContent()).to.include("-$60.00");
    await click(largest.getByRole("link").first());
    await click(page.locator(".timeline > li").first().getByRole("link", { name: "webhook" }));
    await seen(page, "subscription.churn", { exact: true });
    expect(clicks).to.be.at.most(3);
  });

  it("should be one click away from the MRR figure, over the same time", async () => {
    await open("/overview?range=3m");
    await click(page.locator(".figure-cell .delta-link"));
    await arrive();
    await seen(page, "Top gains");
    expect(clicks).to.equal(1);
    const { searchParams } = new URL(page.url());
    expect(searchParams.get("range")).to.equal("3m");
    expect(searchParams.get("against")).to.match(/^\d{4}-\d{2}-\d{2}$/);
  });

  it("should be two clicks away from a bar of the movements", async () => {
    await open("/mrr?range=3m&interval=month");
    const bars = page.getByRole("group", { name: /^Movements of MRR/ }).locator("a[data-column]");
    const bar = bars.last();
    clicks += 1;
    await bar.press("Enter");
    await page.waitForURL(/\/mrr\/movements/);
    await click(link("What changed").last());
    await arrive();
    await seen(page, "two accounts left, one upgraded");
    expect(clicks).to.equal(2);
  });

  it("should add up, by whatever it is listed", async () => {
    for (const by of ["Customers", "Products", "Countries", "Providers"]) {
      await open("/what-changed");
      await tab(by).click();
      await looked.settle();
      const amounts = (await page.locator(".sum dd").allTextContents()).map((text) =>
        Number(text.replaceAll(/[$,]/g, "")),
      );
      const [start = 0, ...parts] = amounts.slice(0, -1);
      expect(start + parts.reduce((sum, part) => sum + part, 0), by).to.equal(amounts.at(-1));
      expect(amounts.at(-1)).to.equal(120);
      await page.locator("main > .answer").getByText(sentence).waitFor();
    }
  });

  it("should open the movements that a line is made of", async () => {
    await open("/what-changed?by=country");
    const line = page.getByRole("row").filter({ hasText: "Germany" });
    const many = Number(await line.getByRole("cell").nth(2).textContent());
    expect(many).to.equal(3);
    await line.getByRole("link", { name: "Germany" }).click();
    await page.waitForURL(/\/mrr\/movements.*country=DE/);
    await looked.settle();
    expect(await page.locator("tbody tr").count()).to.equal(many);
  });

  it("should compare any two periods, written out", async () => {
    await open("/what-changed?range=lastmonth");
    await seen(page, `MRR at the end of ${day(monthStart - dayMs)}`);
    await page.getByRole("button", { name: /^Compared with/ }).click();
    const other = new Date(monthStart - 45 * dayMs).toISOString().slice(0, 10);
    await page.getByLabel("Another period, to the end of").fill(other);
    await page.getByRole("button", { name: "Compare", exact: true }).click();
    await seen(page, `MRR at the end of ${day(Date.parse(other))}`);
    const first = day(Date.parse(other) + dayMs);
    const text = `+$200.00 between ${first} and ${day(monthStart - dayMs)}: three accounts joined.`;
    await seen(page, text);
    await page.getByRole("button", { name: /^Range/ }).click();
    await link("This month").click();
    await page.locator("main > .answer").getByText(sentence).waitFor();
  });

  it("should copy a link that shows the same for ever", async () => {
    await open("/what-changed");
    await page.getByRole("button", { name: "Copy frozen link" }).click();
    await page.getByRole("button", { name: "Copied frozen link" }).waitFor();
    const frozen = String(await page.evaluate("navigator.clipboard.readText()"));
    await bookEvents(endpoints, workspace, "Production", [started("late", 500, thisMonth)]);
    await page.goto(frozen);
    await page.locator("main > .answer").getByText(sentence).waitFor();
    await open("/what-changed");
    await seen(page, `+$420.00 since ${since}: one account joined, one upgraded`);
  });

  it("should keep what was known when as a tab, at its address", async () => {
    await open("/why");
    await arrive();
    await page.getByRole("slider").waitFor();
    await tab("Products").click();
    await page.waitForURL(/\/what-changed.*by=product/);
    await tab("What we knew when").click();
    await page.waitForURL(/\/why/);
  });

  it("should complain of nothing", () => {
    expect(looked.complaints).to.deep.equal([]);
  });
});
