/** Lists in a real browser: in the order that a click on a column asks for, and searched. */
import { expect } from "chai";
import type { Page } from "playwright-core";
import type { Endpoints } from "../harness/endpoints.js";
import type { LookedAt } from "./browser.js";
import { seen } from "./browser.js";
import { type OpenWorkspace, bookEvents, inWorkspace, openWorkspace } from "./workspace.js";

const dayMs = 24 * 60 * 60 * 1000;
const customers = 60;

describe("The order of lists", function () {
  this.timeout(180_000);
  let endpoints: Endpoints;
  let open: OpenWorkspace["open"];
  let page: Page;
  let looked: LookedAt;
  let workspace = "";

  before(async function () {
    ({ endpoints, looked, open, page, workspace } = await openWorkspace(this, "Ordered"));
    const events = Array.from({ length: customers }, (_none, index) => ({
      provider: "stripe",
      event_type: "subscription.new",
      event_id: `start-${index}`,
      transaction_id: `pi_${index}`,
      // Of no order that any other column has.
      amount: ((index * 37) % customers) + 1,
      currency: "USD",
      subscription_id: `sub_${index}`,
      customer_id: `cus_${index}`,
      product_id: `plan-${index % 3}`,
      product_name: `Plan ${index % 3}`,
      occurred_at: new Date(Date.now() - (((index * 11) % customers) + 1) * dayMs).toISOString(),
    }));
    await bookEvents(endpoints, workspace, "Production", events);
  });
  after(() => page?.context().close());

  const head = (name: string) => page.getByRole("columnheader", { name, exact: true });
  async function click(name: string): Promise<void> {
    await head(name).getByRole("link").click();
    await looked.settle();
  }
  async function column(name: string): Promise<string[]> {
    const names = await page.locator("thead th").allInnerTexts();
    const index = names.findIndex((text) => text.replaceAll(/[▼▲\s]/g, "") === name);
    return page.locator(`tbody tr > :nth-child(${index + 1})`).allInnerTexts();
  }
  const numbers = async (name: string) =>
    (await column(name)).map((text) => Number(text.replaceAll(/[$,]/g, "")));
  const falling = Array.from({ length: customers }, (_none, index) => customers - index);
  const allRows = async (): Promise<void> => {
    await page.getByRole("button", { name: "Show more" }).click();
    await page.getByRole("button", { name: "Show more" }).waitFor({ state: "detached" });
  };

  it("should show the most MRR first, and the other way round at a click", async () => {
    await open("/accounts");
    expect(await head("MRR").getAttribute("aria-sort")).to.equal("descending");
    await allRows();
    expect(await numbers("MRR")).to.deep.equal(falling);
    await click("MRR");
    expect(await head("MRR").getAttribute("aria-sort")).to.equal("ascending");
    await allRows();
    expect(await numbers("MRR")).to.deep.equal(falling.toReversed());
    expect(new URL(page.url()).searchParams.get("sort")).to.equal("mrr");
  });

  it("should show who moved last first, by the keyboard too", async () => {
    await open("/accounts");
    await head("Last movement").getByRole("link").press("Enter");
    await looked.settle();
    expect(await head("Last movement").getAttribute("aria-sort")).to.equal("descending");
    expect(await head("MRR").getAttribute("aria-sort")).to.equal(null);
    const times = await page
      .locator("tbody time")
      .evaluateAll((all) => all.map((one) => one.getAttribute("datetime") ?? ""));
    expect(times.length).to.be.greaterThan(40);
    expect(times).to.deep.equal(times.toSorted((one, other) => other.localeCompare(one)));
  });

  it("should find a customer by the provider's id, and say whom it cannot", async () => {
    await open("/accounts");
    const search = page.getByRole("searchbox", {
      name: "Exact e-mail or id (not a name)",
    });
    await search.fill("cus_7");
    await search.press("Enter");
    await page.waitForURL(/search=cus_7/);
    await looked.settle();
    expect(await numbers("MRR")).to.deep.equal([((7 * 37) % customers) + 1]);
    await search.fill("pi_9");
    await search.press("Enter");
    await page.waitForURL(/search=pi_9/);
    await looked.settle();
    expect(await numbers("MRR")).to.deep.equal([((9 * 37) % customers) + 1]);
    await search.fill("cus_of_nobody");
    await search.press("Enter");
    await page.getByRole("heading", { name: "Nobody found" }).waitFor();
  });

  it("should show transactions by their amount", async () => {
    await open("/transactions");
    expect(await head("Paid").getAttribute("aria-sort")).to.equal("descending");
    await click("Converted");
    await allRows();
    expect(await numbers("Converted")).to.deep.equal(falling);
    await click("Converted");
    await allRows();
    expect(await numbers("Converted")).to.deep.equal(falling.toReversed());
  });

  it("should lead from a transaction to its account", async () => {
    await open("/transactions?search=pi_9");
    await page
      .locator("tbody tr")
      .getByRole("link", { name: /^cus_\d+$/ })
      .click();
    await page.waitForURL(/\/accounts\//);
    await looked.settle();
    await seen(page, `$${((9 * 37) % customers) + 1}.00`);
    await open("/transactions?search=pi_9");
    await page.locator("tbody a.row-link").first().click();
    const link = page.getByRole("dialog").locator('a[href*="/accounts/"]');
    expect(await link.getAttribute("href")).to.match(/^\/accounts\/[0-9A-Za-z]{32}\b/);
    expect(await link.innerText()).to.equal("cus_9");
  });

  it("should show products by any of their figures, and what all come to", async () => {
    await open("/products?period=lifetime");
    const sum = (customers * (customers + 1)) / 2;
    const foot = await page.locator("tfoot").innerText();
    expect(foot).to.include("All products");
    expect(foot.split(`$${sum.toLocaleString("en")}.00`)).to.have.length(3);
    for (const name of ["MRR", "Revenue"]) {
      await click(name);
      const first = await numbers(name);
      expect(first).to.deep.equal(first.toSorted((one, other) => other - one));
      await click(name);
      expect(await numbers(name)).to.deep.equal(first.toReversed());
    }
    await click("Product");
    expect(await column("Product")).to.deep.equal(["Plan 0", "Plan 1", "Plan 2"]);
    await click("Product");
    expect(await column("Product")).to.deep.equal(["Plan 2", "Plan 1", "Plan 0"]);
  });

  it("should show movements by what they moved, and what all of them come to", async () => {
    await open("/mrr/movements");
    expect(await head("Happened").getAttribute("aria-sort")).to.equal("descending");
    await click("MRR");
    const amounts = async () =>
      (await column("MRR")).map((text) => Number(text.replaceAll(/[+$,]/g, "")));
    await allRows();
    expect(await amounts()).to.deep.equal(falling);
    await click("MRR");
    await allRows();
    expect(await amounts()).to.deep.equal(falling.toReversed());
    const foot = await page.locator("tfoot").innerText();
    const sum = (customers * (customers + 1)) / 2;
    expect(foot)
      .to.match(/^All 60\b/)
      .and.include(`+$${sum.toLocaleString("en")}.00`);
  });

  it("should find nothing wrong with them", async () => {
    for (const path of [
      "/accounts?sort=first_at",
      "/products?sort=name",
      "/accounts?search=x",
      "/mrr/movements?sort=mrr",
    ]) {
      await looked.findNothingWrong(inWorkspace(path, workspace));
    }
    expect(looked.complaints).to.deep.equal([]);
  });
});
