/** Questions analysts ask first: parts, shares, curves, notes and goals, in a real browser. */
import { expect } from "chai";
import type { Page } from "playwright-core";
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

const now = new Date();
/** The tenth day of a month so many before this one. */
const tenth = (back: number): string =>
  new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - back, 10)).toISOString();

describe("Questions", function () {
  this.timeout(180_000);
  let endpoints: Endpoints;
  let open: OpenWorkspace["open"];
  let page: Page;
  let looked: LookedAt;
  let workspace = "";

  before(async function () {
    ({ endpoints, looked, open, page, workspace } = await openWorkspace(this, "Asking"));
    await bookEvents(endpoints, workspace, "Production", [
      event("subscription.new", "a", 100, tenth(3), "DE"),
      event("subscription.new", "b", 60, tenth(3), "FR"),
      event("subscription.new", "c", 40, tenth(2), "US"),
      event("subscription.churn", "b", 60, tenth(1), "FR"),
    ]);
  });
  after(() => page?.context().close());

  const event = (type: string, id: string, amount: number, at: string, country: string): object =>
    eventOf(type, id, amount, at, {
      provider: id === "c" ? "custom" : "stripe",
      subscription_id: id,
      customer_country: country,
    });
  const endOfMrr = () => page.locator(".side-facts dd.number strong").innerText();
  const chips = () => page.locator(".chip").allInnerTexts();
  const shares = async (title: string): Promise<string[]> => {
    const list = page.locator(".share-list").filter({ hasText: title }).locator("a.share");
    return (await list.allInnerTexts()).map((text) =>
      text
        .trim()
        .split(/\s*\n\s*/)
        .join(" "),
    );
  };

  it("should filter and divide MRR by how often plans are billed", async () => {
    await open("/mrr");
    await page.getByRole("button", { name: "Filter" }).click();
    await page.getByRole("button", { name: "Monthly", exact: true }).click();
    await page.waitForURL(/plan_interval=month/);
    await looked.settle();
    expect(await chips()).to.deep.equal(["Monthly"]);
    expect(await endOfMrr()).to.equal("$140.00");
    await page.getByRole("button", { name: "Billed is not", exact: true }).click();
    await page.waitForURL(/plan_interval=-month/);
    await looked.settle();
    expect(await chips()).to.deep.equal(["not Monthly"]);
    await seen(page, "No recurring revenue in this time");
    await open("/what-changed?by=plan_interval&range=12m");
    await page.getByRole("link", { name: "Monthly" }).first().click();
    await page.waitForURL(/movements.*plan_interval=month/);
    await open("/mrr?group_by=plan_interval");
    const titles = await page.locator("figure h2").allInnerTexts();
    expect(titles.at(-1)).to.equal("Monthly brings 100.0% of MRR");
    // Revenue is of payments, which know no plans.
    await open("/revenue?group_by=plan_interval&plan_interval=year");
    expect(await chips()).to.deep.equal([]);
    expect(await page.getByText("All together").count()).to.be.greaterThan(0);
  });

  it("should filter by several values, and by all but these", async () => {
    await open("/mrr");
    expect(await endOfMrr()).to.equal("$140.00");
    await page.getByRole("button", { name: "Filter" }).click();
    await page.getByRole("checkbox", { name: "Germany" }).check();
    await page.getByRole("checkbox", { name: "United States" }).check();
    await page.waitForURL(/country=DE%2CUS/);
    await page.getByRole("button", { name: "Country is not", exact: true }).click();
    await page.waitForURL(/country=-DE%2C-US/);
    await looked.settle();
    expect(await chips()).to.deep.equal(["not Germany", "not United States"]);
    expect(await endOfMrr()).to.equal("$0.00");
    await page.getByRole("button", { name: "Custom", exact: true }).click();
    await page.waitForURL(/provider=custom/);
    await page.keyboard.press("Escape");
    await page.getByRole("link", { name: "Remove the filter not United States" }).click();
    await looked.settle();
    expect(await endOfMrr()).to.equal("$40.00");
  });

  it("should filter by the month of start, of MRR and not of revenue", async () => {
    await open("/mrr");
    await page.getByRole("button", { name: "Filter" }).click();
    await page.getByRole("textbox", { name: "Month of start" }).fill(tenth(3).slice(0, 7));
    await page.keyboard.press("Enter");
    await page.waitForURL(/vintage=/);
    await looked.settle();
    expect(await endOfMrr()).to.equal("$100.00");
    await page.keyboard.press("Escape");
    await page.getByRole("link", { name: "Revenue", exact: true }).click();
    await page.waitForURL(/\/revenue/);
    await looked.settle();
    expect(await page.locator(".failure").count()).to.equal(0);
    expect(await chips()).to.deep.equal([]);
  });

  it("should list shares, of which a click filters and a second one removes", async () => {
    for (const [screen, whole, germany] of [
      ["/mrr", ["Germany $100.00 71.4%", "United States $40.00 28.6%"], "$100.00"],
      ["/revenue", ["Germany $100.00 50.0%", "France $60.00 30.0%", "United States $40.00 20.0%"]],
      ["/overview", ["Germany $100.00 71.4%", "United States $40.00 28.6%"]],
    ] as const) {
      await open(screen);
      expect(await shares("Countries"), screen).to.deep.equal(whole);
      const first = page.locator("a.share").filter({ hasText: "Germany" });
      await first.click();
      await page.waitForURL(/country=DE/);
      await looked.settle();
      expect(await first.getAttribute("aria-current")).to.equal("true");
      if (germany !== undefined) expect(await endOfMrr()).to.equal(germany);
      // All countries are still there to choose from.
      expect(await shares("Countries"), screen).to.deep.equal(whole);
      expect((await shares("Providers")).map((text) => text.split(" ")[0])).to.deep.equal([
        "Stripe",
      ]);
      await first.click();
      await page.waitForURL((url) => !url.searchParams.has("country"));
    }
  });

  it("should lead from those that are added up to all of them", async () => {
    const countries = ["AT", "BE", "CH", "DE", "DK", "ES", "FI", "FR", "IT", "NL", "US"];
    const at = new Date(now.getTime() - 1_000).toISOString();
    const sold = countries.map((country) =>
      event("subscription.new", `in-${country}`, 10, at, country),
    );
    await bookEvents(endpoints, workspace, "Test", sold);
    const of = "?environment=test&provider=stripe&range=30d";
    for (const screen of ["/mrr", "/revenue"]) {
      await open(`${screen}${of}`);
      await page.getByRole("link", { name: "3 others", exact: true }).click();
      await page.waitForURL(/provider=stripe&range=30d.*all=country/);
      await looked.settle();
      expect(await shares("Countries")).to.have.length(countries.length);
    }
    await open(`/what-changed${of}`);
    await page.getByRole("link", { name: "Others (1)", exact: true }).click();
    await page.waitForURL(/\/mrr\/movements.*provider=stripe.*from=/);
    await looked.settle();
    expect(await page.locator("tbody tr").count()).to.equal(countries.length);
  });

  it("should say in the title of each chart what it shows", async () => {
    const lastMonth = new Date(tenth(1));
    const name = new Intl.DateTimeFormat("en-US", {
      month: "long",
      timeZone: "UTC",
      ...(lastMonth.getUTCFullYear() === now.getUTCFullYear() ? {} : { year: "numeric" }),
    }).format(lastMonth);
    const short = new Intl.DateTimeFormat("en-US", {
      month: "short",
      year: "numeric",
      timeZone: "UTC",
    }).format(lastMonth);
    // Which spaces stand in a range of days is the browser's choice.
    const plain = (text: string) => text.trim().replaceAll(/\s+/g, " ");
    const cut = tenth(2).slice(0, 7);
    const days = new Intl.DateTimeFormat("en-US", { dateStyle: "medium", timeZone: "UTC" });
    const over = days.formatRange(new Date(`${cut}-01`), new Date(`${cut}-14`));
    for (const [screen, titles] of [
      ["/overview", [`MRR fell 30.0% in ${name}`, `Net new MRR was -$60.00 in ${name}`]],
      [
        "/mrr?group_by=country",
        [
          "MRR grew from $0.00 to $140.00",
          `Net new MRR was -$60.00 in ${name}`,
          "Germany brings 71.4% of MRR",
        ],
      ],
      ["/revenue", ["Net is $200.00 of $200.00 gross", `Revenue was $0.00 in ${name}`]],
      ["/revenue?group_by=country", [undefined, "Germany brings 50.0% of revenue"]],
      // An interval that the range cuts short is named by its days.
      [
        `/overview?from=${cut}-01&to=${cut}-15&interval=month`,
        [`MRR grew 25.0% over ${over}`, `Net new MRR was +$40.00 over ${over}`],
      ],
      ["/rates", [`Customer churn was 33.33% in ${short}`]],
      // One of two left in the second month of the two oldest; nobody is older than that.
      ["/retention", ["Average retention is 62.5% after 2 months"]],
    ] as const) {
      await open(screen);
      const shown = await page.locator("figure h2").allInnerTexts();
      expect(shown.length, screen).to.equal(titles.length);
      for (const [index, title] of titles.entries()) {
        if (title !== undefined) expect(plain(shown[index] ?? ""), screen).to.equal(plain(title));
      }
    }
  });

  it("should draw the average of vintages, and show some of them alone", async () => {
    await open("/retention?compare=none");
    const average = page.locator("tfoot tr").first();
    // After a month all is left of both vintages that are that old; then 60 of 160 went.
    expect((await average.innerText()).split(/\s+/)).to.deep.equal([
      "Average",
      "100",
      "100",
      "62.5",
    ]);
    const ages = page.locator(".chart rect[data-column]");
    await ages.last().focus();
    await page.keyboard.press("Home");
    await page.keyboard.press("ArrowRight");
    await page.locator(".tip").getByText("Month 1").waitFor();
    expect(await page.locator("tbody tr").count()).to.equal(2);
    await page.getByRole("button", { name: "Range: All time" }).click();
    await page.getByLabel("First day").fill(`${tenth(2).slice(0, 7)}-01`);
    await page.getByLabel("Last day").fill(tenth(2).slice(0, 10));
    await page.getByRole("button", { name: "Show these days" }).click();
    await page.waitForURL(/from=/);
    await looked.settle();
    expect(await page.locator("tbody tr").count()).to.equal(1);
    await page.getByRole("button", { name: "Compared with: No comparison" }).click();
    await page.getByRole("link", { name: "Period before" }).click();
    await page.waitForURL(/compare=previous/);
    await looked.settle();
    expect(await page.locator("tfoot tr").count()).to.equal(2);
  });

  it("should show notes and goals on charts, to the keyboard too, and in a list", async () => {
    await open("/overview");
    await page.getByRole("button", { name: "Saved views and notes" }).click();
    await page.getByLabel("Day", { exact: true }).fill(tenth(2).slice(0, 10));
    await page.getByLabel("Note, shown in charts").fill("Prices raised");
    await page.getByRole("button", { name: "Add" }).click();
    await page.getByRole("button", { name: "Delete the note Prices raised" }).waitFor();
    for (const [figure, amount] of [
      ["mrr", "500"],
      ["revenue", "150"],
      ["revenue", "250"],
    ] as const) {
      await page.getByLabel("Goal of").selectOption(figure);
      await page.getByLabel("Month", { exact: true }).fill(tenth(2).slice(0, 7));
      await page.getByLabel("Amount").fill(amount);
      await page.getByRole("button", { name: "Set the goal" }).click();
      const name = new RegExp(`Delete the goal .*\\$${amount}`);
      await page.getByRole("button", { name }).waitFor();
    }
    for (const [screen, goal] of [
      ["/overview", "goal $500.00"],
      ["/revenue", "goal $250.00"],
    ] as const) {
      await open(screen);
      const column = page.locator(`.chart a[data-column][aria-label*="${goal}. Prices raised"]`);
      await column.focus();
      await page.locator(".tip").getByText("Prices raised").waitFor();
      await page.locator(".legend").getByText("Goal", { exact: true }).waitFor();
      expect(await page.locator(".notes li").allInnerTexts()).to.have.length(1);
      expect(await page.locator(".goal .goal-mark").count()).to.equal(1);
      expect(await page.locator(".marker-head").count()).to.be.at.least(1);
    }
    // A goal is one of the whole.
    await open("/overview?country=DE");
    expect(await page.locator(".goal").count()).to.equal(0);
  });

  it("should show movements of some kinds, and of all but some", async () => {
    await open("/mrr/movements");
    expect(await page.locator("tbody tr").count()).to.equal(4);
    await page.getByRole("button", { name: "Kind: All kinds" }).click();
    await page.getByRole("button", { name: "Churn", exact: true }).click();
    await page.waitForURL(/kind=churn/);
    await page.getByRole("button", { name: "Kind is not", exact: true }).click();
    await page.waitForURL(/kind=-churn/);
    await looked.settle();
    expect(await page.locator("tbody tr").count()).to.equal(3);
    await page.getByRole("button", { name: "New", exact: true }).click();
    await page.waitForURL(/kind=-churn%2C-new/);
    await page.getByRole("heading", { name: "No movements" }).waitFor();
    await page.getByRole("button", { name: "Kind: not New, Churn" }).waitFor();
  });

  it("should show products of one country, and what remains when nothing does", async () => {
    await open("/products?period=lifetime");
    expect(await page.locator("tbody tr").allInnerTexts()).to.have.length(1);
    await page.getByRole("button", { name: "Filter" }).click();
    await page.getByRole("checkbox", { name: "France" }).check();
    await page.waitForURL(/country=FR/);
    await looked.settle();
    expect(await page.locator("tbody tr").innerText()).to.match(/^Plan\s.*\$60\.00/s);
    await page.getByRole("button", { name: "Custom", exact: true }).click();
    await page.waitForURL(/provider=custom/);
    await page.getByRole("heading", { name: "No products here" }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("link", { name: "Remove all filters" }).click();
    await page.waitForURL((url) => !url.search.includes("country"));
    await looked.settle();
    expect(await page.locator("tbody tr").count()).to.equal(1);
  });

  it("should compare products with another time, and say which", async () => {
    await open("/products?period=3m");
    // Of three months before there was nothing; a year before neither.
    const heads = page.locator("thead th");
    expect((await heads.allInnerTexts()).filter((text) => text === "Change")).to.have.length(2);
    await page.locator(".intro").getByText("Compared with").waitFor();
    await page.getByRole("button", { name: "Compared with: Period before" }).click();
    await page.getByRole("link", { name: "No comparison" }).click();
    await page.waitForURL(/compare=none/);
    await looked.settle();
    expect(await heads.allInnerTexts()).not.to.include("Change");
    // MRR is 140 now and was 200 a month ago, before one left.
    const day = new Date(Date.parse(tenth(1)) + 2 * 24 * 60 * 60 * 1000).toISOString();
    await open(`/products?period=30d&at=${day}`);
    const cells = await page.locator("tbody tr").first().locator("td").allInnerTexts();
    expect(cells.slice(4, 6)).to.deep.equal(["$140.00", "▼ -30.0%"]);
  });

  it("should order what was known when, with the totals of all", async () => {
    await open(`/why?from_known_at=2020-01-01T00:00:00.000Z&of=${new Date().toISOString()}`);
    const amounts = async () =>
      (await page.locator("tbody tr td:nth-child(4)").allInnerTexts()).map((text) => text.trim());
    await page.getByRole("link", { name: "MRR", exact: true }).last().click();
    await page.waitForURL(/sort=-mrr/);
    await looked.settle();
    expect(await amounts()).to.deep.equal(["+$100.00", "+$60.00", "+$40.00", "-$60.00"]);
    const foot = await page.locator("tfoot").innerText();
    expect(foot).to.match(/All 4[^]*\+\$140\.00/);
  });

  for (const path of [
    "/products",
    "/why",
    "/mrr?country=-DE",
    "/revenue?provider=stripe,custom",
    "/retention",
  ]) {
    it(`should leave nothing wrong with ${path}`, () =>
      looked.findNothingWrong(inWorkspace(path, workspace)));
  }

  it("should save filters as a segment, show it, freeze it, and change it", async () => {
    await open("/mrr?country=DE,FR");
    await page.getByRole("button", { name: "Filter" }).click();
    await page.getByLabel("Save the filters as a segment").fill("Europe");
    await page.getByRole("button", { name: "Save as segment" }).click();
    await page.waitForURL(
      (url) => url.searchParams.has("segment") && !url.searchParams.has("country"),
    );
    await looked.settle();
    expect(await endOfMrr()).to.equal("$100.00");
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Segment: Europe" }).click();
    await seen(page, "Country: Germany, France");
    expect(await looked.findings()).to.deep.equal([]);
    await page.keyboard.press("Escape");
    await page.getByRole("link", { name: "Freeze" }).click();
    await page.waitForURL(/segment=seg_\w+\.1/);
    const frozen = page.url();

    await open("/mrr?country=US");
    await page.getByRole("button", { name: "Filter" }).click();
    await page.getByRole("link", { name: "Europe" }).waitFor();
    await page.getByLabel("Save the filters as a segment").fill("Europe");
    await page.getByRole("button", { name: "Change the segment" }).click();
    await page.waitForURL(/segment=seg/);
    await looked.settle();
    expect(await endOfMrr()).to.equal("$40.00");
    await page.goto(frozen);
    await looked.settle();
    expect(await endOfMrr()).to.equal("$100.00");

    await open("/mrr");
    await page.getByRole("button", { name: "Filter" }).click();
    await page.getByText("Of a list of customers").click();
    await page.getByRole("textbox", { name: "Customers", exact: true }).fill("cus_a\nnobody");
    await page.getByLabel("Save the filters as a segment").fill("Named");
    await page.getByRole("button", { name: "Save as segment" }).click();
    await seen(page, "1 line belongs to no customer");
    await looked.settle();
    expect(await endOfMrr()).to.equal("$100.00");
  });

  it("should leave nothing wrong with the menu of filters", async () => {
    await open("/mrr");
    await page.getByRole("button", { name: "Filter" }).click();
    await page.getByRole("checkbox", { name: "Germany" }).waitFor();
    expect(await looked.findings()).to.deep.equal([]);
    expect(looked.complaints).to.deep.equal([]);
  });
});
