/** Monthly rates, and figures beside those of another time, in a real browser. */
import { expect } from "chai";
import type { Page } from "playwright-core";
import { insertChanges } from "../../processors/book/subscriptions/changes.js";
import { type Change, trialPrice } from "../../schemas/subscriptions/change.js";
import { clickhouseTime } from "../../stores/clickhouse/rows.js";
import type { Endpoints } from "../harness/endpoints.js";
import type { LookedAt } from "./browser.js";
import { seen } from "./browser.js";
import {
  type OpenWorkspace,
  bookEvents,
  eventOf,
  inWorkspace,
  openWorkspace,
} from "./workspace.js";

const dayMs = 24 * 60 * 60 * 1000;
const now = new Date();
/** The tenth day of a month so many before this one. */
const tenth = (back: number): string =>
  new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - back, 10)).toISOString();
const monthName = (back: number): string =>
  new Intl.DateTimeFormat("en-US", { month: "short", year: "numeric", timeZone: "UTC" }).format(
    new Date(tenth(back)),
  );

type Items = Change["steps"][number]["items"];

describe("Rates and comparisons", function () {
  this.timeout(180_000);
  let endpoints: Endpoints;
  let open: OpenWorkspace["open"];
  let page: Page;
  let looked: LookedAt;
  let workspace = "";

  before(async function () {
    ({ endpoints, looked, open, page, workspace } = await openWorkspace(this, "Churning"));
    await bookEvents(endpoints, workspace, "Production", [
      eventOf("subscription.new", "a", 100, tenth(3)),
      eventOf("subscription.new", "b", 50, tenth(3)),
      eventOf("subscription.new", "c", 50, tenth(3)),
      eventOf("subscription.churn", "c", 50, tenth(1)),
    ]);
  });
  after(() => page?.context().close());

  const changeOf = (
    subscription: string,
    at: number,
    phase: Change["phase"],
    items: Items,
  ): Change => {
    const time = clickhouseTime(at);
    const id = `evt-${subscription}-${items[0]?.item}-${at}`;
    return {
      workspace,
      environment: "live",
      account: subscription,
      provider: "stripe",
      subscription,
      change_id: id,
      revision: 1,
      void: 0,
      at: time,
      phase,
      event_id: id,
      recorded_at: time,
      currency: "USD",
      country: "",
      steps: [{ at: time, items }],
    };
  };
  const failing = (item: string, at: string): Change =>
    changeOf("", Date.parse(at), "changed", [
      { item, external_id: "", price: "failing", mrr: "0" },
    ]);
  /** Its trial ends two days on: it is paid from then, or it expires. */
  const trial = (subscription: string, at: string, end: "paid" | "expired"): Change[] => {
    const change = (day: number, phase: Change["phase"], items: Items): Change =>
      changeOf(subscription, Date.parse(at) + day * dayMs, phase, items);
    const item = { item: "item", external_id: "plan" };
    const paid = { ...item, price: "USD:1000/1", mrr: "10" };
    return [
      change(0, "started", [{ ...item, price: trialPrice, mrr: "0" }]),
      end === "paid" ? change(2, "changed", [paid]) : change(2, "expired", []),
    ];
  };
  /** What a card says: its value, the difference, and what it is compared with. */
  async function card(name: string): Promise<string[]> {
    const cell = page
      .locator(".figure-cell")
      .filter({ has: page.getByRole("button", { name, exact: true }) });
    const beside = await cell.locator(".beside").innerText();
    const value = await cell.locator("a.value").innerText();
    return [value, ...beside.split("\n")].map((text) => text.trim());
  }

  it("should show the rates of last month beside those before, by points", async () => {
    await open("/rates?range=lastmonth");
    expect(await card("Customer churn")).to.deep.equal(["33.33%", "▲ +33.33 points", "0.00%"]);
    expect(await card("MRR churn")).to.deep.equal(["25.00%", "▲ +25.00 points", "0.00%"]);
    expect(await card("Net MRR churn")).to.deep.equal(["25.00%", "▲ +25.00 points", "0.00%"]);
    expect(await card("ARPA")).to.deep.equal(["$75.00", "▲ +12.5%", "$66.67"]);
    expect((await card("LTV"))[0]).to.equal("$225.00");
    expect((await card("Quick ratio"))[0]).to.equal("0.00");
    const intro = `Churn of ${monthName(1)}. Compared with ${monthName(2)}.`;
    await seen(page, intro, { exact: true });
  });

  it("should show the mean of whole months, which no length of the range raises", async () => {
    for (const range of ["12m", "24m"]) {
      await open(`/rates?range=${range}`);
      expect((await card("Customer churn"))[0], range).to.equal("16.67%");
      expect((await card("MRR churn"))[0], range).to.equal("12.50%");
    }
    await open("/overview?range=24m");
    expect((await card("Customer churn"))[0]).to.equal("16.67%");
  });

  it("should say what each rate means, and show the one that is chosen over time", async () => {
    await open("/rates?range=3m");
    const cards = page.locator(".figure-cell");
    expect(await cards.count()).to.equal(6);
    for (const text of await cards.locator("> p").allInnerTexts()) {
      expect(text).to.match(/^[A-Z][^.]+\.$/);
    }
    await page.locator(".figure-cell a.value").nth(4).click();
    await page.waitForURL(/of=arpa/);
    const chart = page.getByRole("group", { name: /^By month/ });
    const last = chart.locator("a[data-column]").nth(-2);
    expect(await last.getAttribute("aria-label")).to.equal(`${monthName(1)}: $75.00`);
    const row = page.getByRole("row").filter({ hasText: monthName(1) });
    expect(await row.first().innerText()).to.match(/33\.33%\s+25\.00%\s+25\.00%\s+\$225\.00/);
    await last.press("Enter");
    await page.waitForURL(/\/mrr\/movements/);
    await looked.settle();
    expect(await page.locator("tbody tr").count()).to.equal(1);
  });

  it("should be one click away from the overview", async () => {
    await open("/overview");
    await page
      .locator(".figure-cell")
      .filter({ has: page.getByRole("button", { name: "Customer churn", exact: true }) })
      .locator("a.value")
      .click();
    await page.getByRole("heading", { name: "Churn and LTV", level: 1 }).waitFor();
  });

  const facts = async () =>
    Object.fromEntries(
      (await page.locator(".side-facts dt:not(.whole)").allInnerTexts()).map((name, index) => [
        name.trim(),
        index,
      ]),
    );
  async function fact(name: string): Promise<string[]> {
    const index = (await facts())[name];
    const cells = await page.locator(".side-facts dd").allInnerTexts();
    const start = 2 * (index ?? Number.NaN);
    return cells.slice(start, start + 2).map((text) => text.trim());
  }

  it("should compare MRR in the same place, with the period before or a year ago", async () => {
    await open("/mrr?range=lastmonth");
    expect(await fact("Churn")).to.deep.equal(["-$50.00", "–"]);
    const [end] = Object.keys(await facts()).filter((name) => name.startsWith("MRR at the end"));
    expect(await fact(end ?? "")).to.deep.equal(["$150.00", "▼ -25.0%"]);
    await page.getByRole("button", { name: /^Compared with/ }).click();
    await page.getByRole("link", { name: "Year before" }).click();
    await page.waitForURL(/compare=year/);
    await looked.settle();
    expect(await fact(end ?? "")).to.deep.equal(["$150.00", "–"]);
    const year = String(new Date(tenth(13)).getUTCFullYear());
    expect(await page.locator(".side-facts .whole").innerText()).to.include(year);
    await page.getByRole("button", { name: /^Compared with/ }).click();
    await page.getByRole("link", { name: "No comparison" }).click();
    await page.waitForURL(/compare=none/);
    await looked.settle();
    expect(await page.locator(".side-facts .whole, .side-facts .delta").count()).to.equal(0);
  });

  it("should compare a running month with the one before up to the same day", async () => {
    await open("/mrr?range=mtd");
    const text = await page.locator(".side-facts .whole").innerText();
    const before = new Date(tenth(1));
    const days = new Date(Date.UTC(before.getUTCFullYear(), before.getUTCMonth() + 1, 0));
    const tomorrow = new Date(now.getTime() + dayMs).getUTCDate();
    const last = tomorrow === 1 ? days.getUTCDate() : Math.min(tomorrow, days.getUTCDate()) - 1;
    const format = new Intl.DateTimeFormat("en-US", { dateStyle: "medium", timeZone: "UTC" });
    const at = (day: number) =>
      new Date(Date.UTC(before.getUTCFullYear(), before.getUTCMonth(), day));
    // Between two days the engines put spaces of several widths.
    const plain = (some: string) => some.replaceAll(/\s/g, " ");
    expect(plain(text)).to.equal(plain(`Compared with ${format.formatRange(at(1), at(last))}`));
  });

  it("should compare revenue in the same place", async () => {
    await open("/revenue?range=3m");
    expect(await page.locator(".side-facts .whole").innerText()).to.match(/^Compared with /);
    expect((await fact("Revenue"))[0]).to.equal("$0.00");
    expect(await fact("Sales")).to.deep.equal(["0", "▼ -100.0%"]);
  });

  it("should show trials where there are any, and the chosen figure over time", async () => {
    await open("/rates?range=3m");
    expect(await page.getByRole("heading", { name: "Trials", exact: true }).count()).to.equal(0);
    const { clickhouse } = endpoints.service;
    await insertChanges(clickhouse, [
      ...trial("kept", tenth(1), "paid"),
      ...trial("left", tenth(1), "expired"),
      ...trial("before", tenth(4), "paid"),
    ]);
    await open("/rates?range=3m");
    expect(await card("Trials started")).to.deep.equal(["2", "▲ +100.0%", "1"]);
    expect(await card("Trial conversion")).to.deep.equal(["50.00%", "▼ -50.00 points", "100.00%"]);
    await page.locator(".fifths a.value").nth(2).click();
    await page.waitForURL(/trials=trialsLost/);
    const chart = page.getByRole("group", { name: /^By month of start/ });
    const last = chart.locator("a[data-column]").nth(-2);
    expect(await last.getAttribute("aria-label")).to.equal(`${monthName(1)}: 1`);
    await last.press("Enter");
    await page.waitForURL(/from=/);
    await looked.settle();
    expect((await card("Trials started"))[0]).to.equal("2");
    expect((await card("Trials converted"))[0]).to.equal("1");
  });

  it("should show failed payments where there are any, and whom they cost", async () => {
    await open("/rates?range=3m");
    const heading = page.getByRole("heading", { name: "Failed payments", exact: true });
    expect(await heading.count()).to.equal(0);
    const { clickhouse } = endpoints.service;
    await insertChanges(clickhouse, [failing("sub_c", tenth(2)), failing("sub_a", tenth(1))]);
    await open("/rates?range=3m");
    const cards = ["Payments failed", "Payments lost", "Payments open", "MRR at risk"];
    const shown = await Promise.all([...cards, "Involuntary churn"].map(card));
    expect(shown.map(([value]) => value)).to.deep.equal(["2", "1", "1", "$150.00", "$50.00"]);
    await page
      .getByRole("region", { name: "Failed payments of these months" })
      .locator("a.value")
      .nth(7)
      .click();
    await page.waitForURL(/failed=involuntaryChurn/);
    await seen(page, `was $50.00 in ${monthName(1)}`);
  });

  it("should find nothing wrong with them", async () => {
    for (const path of ["/rates?of=ltv", "/mrr?range=3m", "/revenue?range=3m"]) {
      await looked.findNothingWrong(inWorkspace(path, workspace));
    }
    expect(looked.complaints).to.deep.equal([]);
  });
});
