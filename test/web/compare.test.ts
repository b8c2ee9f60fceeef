/** Why another tool shows another MRR: from the figure to the accounts and their rules. */
import { setTimeout as pause } from "node:timers/promises";
import { expect } from "chai";
import type { BrowserContext, Page } from "playwright-core";
import type { Endpoints } from "../harness/endpoints.js";
import type { LookedAt } from "./browser.js";
import { seen } from "./browser.js";
import { bookEvents, eventOf, openWorkspace, type OpenWorkspace } from "./workspace.js";

const dayMs = 24 * 60 * 60 * 1000;

describe("Definitions of MRR", function () {
  this.timeout(180_000);
  let endpoints: Endpoints;
  let context: BrowserContext;
  let page: Page;
  let looked: LookedAt;
  let workspace = "";
  let open: OpenWorkspace["open"];

  before(async function () {
    ({ endpoints, context, page, looked, workspace, open } = await openWorkspace(
      this,
      "Comparing",
    ));
    await bookEvents(endpoints, workspace, "Production", [
      started("monthly", 100, "month"),
      started("large", 30, "week"),
      started("small", 12, "week"),
    ]);
  });
  after(() => context?.close());

  const started = (id: string, amount: number, interval: string): object =>
    eventOf("subscription.new", id, amount, new Date(Date.now() - 40 * dayMs).toISOString(), {
      interval,
      customer_id: `customer-${id}`,
      customer_country: "DE",
      product_id: `plan-${id}`,
      product_name: `Plan ${id}`,
    });

  const sentence = (text: string) => page.locator("main .answer").getByText(text, { exact: true });

  it("should be one click away from MRR, and say when there is no difference", async () => {
    await open("/mrr");
    await page.getByRole("link", { name: "Definitions", exact: true }).click();
    await page.getByRole("heading", { name: "Definitions of MRR", level: 1 }).waitFor();
    await sentence("By the rules of Stripe Billing MRR is $282.00, as by ours.").waitFor();
  });

  it("should name the rule, and the accounts it concerns, the largest first", async () => {
    await open("/mrr/definitions");
    await page.getByRole("button", { name: /^Beside ours/ }).click();
    await page.getByRole("link", { name: "RevenueCat", exact: true }).click();
    await page.waitForURL(/definition=revenuecat/);
    await sentence(
      "By the rules of RevenueCat MRR is $268.00, $14.00 less than by ours: " +
        "2 accounts counted otherwise.",
    ).waitFor();
    const rule = page.getByRole("row", { name: /A month has four weeks/ });
    expect(await rule.getByRole("cell").allTextContents()).to.deep.equal([
      "-$14.00",
      "2",
      "A month has four weeks, not 52 / 12.",
    ]);
    const accounts = page.getByRole("region", { name: /^Accounts that make the difference/ });
    const cells = await accounts
      .locator("tbody tr")
      .evaluateAll((rows) =>
        rows.map((row) => [...row.querySelectorAll("td")].map(({ textContent }) => textContent)),
      );
    expect(cells).to.deep.equal([
      ["-$10.00", "Months of four weeks", "$130.00", "$120.00", "Stripe"],
      ["-$4.00", "Months of four weeks", "$52.00", "$48.00", "Stripe"],
    ]);
    await accounts.getByRole("link").first().click();
    await page.waitForURL(/\/accounts\//);
  });

  it("should be asked about an earlier day, and lead to the sources", async () => {
    await open("/mrr/definitions?definition=revenuecat");
    const early = new Date(Date.now() - 50 * dayMs).toISOString().slice(0, 10);
    await page.getByLabel("at the end of", { exact: true }).fill(early);
    await page.waitForURL(new RegExp(`of=${early}`));
    await sentence("By the rules of RevenueCat MRR is $0.00, as by ours.").waitFor();
    const sources = page.getByRole("link", { name: "each with its source" });
    const answer = await context.request.get((await sources.getAttribute("href")) ?? "");
    expect(await answer.text()).to.include("RevenueCat beside ours");
  });

  it("should say what is retained by another definition, and open its rules", async () => {
    await open("/retention");
    await page.getByRole("button", { name: /^Definition/ }).click();
    await page.getByRole("link", { name: "RevenueCat", exact: true }).click();
    await page.waitForURL(/definition=revenuecat/);
    const first = page.getByRole("region", { name: "Retention" }).locator("tbody tr").first();
    await first.getByText("$268", { exact: false }).waitFor();
    await looked.findNothingWrong(page.url());
    await first.getByRole("link").first().click();
    await page.waitForURL(/\/mrr\/definitions\?.*definition=revenuecat/);
    await seen(page, /By the rules of RevenueCat MRR is \$268\.00/);
  });

  it("should be found by the palette, also by keys pressed before it has come", async () => {
    await context.route(/\/palette-.*\.js$/, async (route) => {
      await pause(500);
      await route.continue();
    });
    await open("/overview");
    await page.keyboard.press("ControlOrMeta+k");
    await page.keyboard.type("definitions of");
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/mrr\/definitions/);
  });

  it("should complain of nothing", () => {
    expect(looked.complaints).to.deep.equal([]);
  });
});
