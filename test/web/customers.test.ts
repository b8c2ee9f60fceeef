/** Customers by name in a real browser: shown, found by an exact e-mail, and erased. */
import { expect } from "chai";
import type { Page } from "playwright-core";
import type { Endpoints } from "../harness/endpoints.js";
import type { LookedAt } from "./browser.js";
import { type OpenWorkspace, bookEvents, openWorkspace } from "./workspace.js";

const whom = {
  cus_ada: { customer_name: "Ada Lovelace", customer_email: "ada@example.com" },
  cus_grace: { customer_email: "grace@example.com" },
  cus_alan: {},
};

describe("Customers in the dashboard", function () {
  this.timeout(180_000);
  let endpoints: Endpoints;
  let open: OpenWorkspace["open"];
  let page: Page;
  let looked: LookedAt;
  let workspace = "";

  before(async function () {
    ({ endpoints, looked, open, page, workspace } = await openWorkspace(this, "Named"));
    const events = Object.entries(whom).map(([customer_id, more]) => ({
      provider: "stripe",
      event_type: "subscription.new",
      event_id: `start-${customer_id}`,
      amount: 10,
      currency: "USD",
      subscription_id: `sub-${customer_id}`,
      customer_id,
      product_id: "plan",
      ...more,
    }));
    await bookEvents(endpoints, workspace, "Production", events);
  });
  after(() => page?.context().close());

  const names = ["Ada Lovelace", "cus_alan", "grace@example.com"];
  const link = (name: string) => page.getByRole("link", { name, exact: true });

  for (const path of ["/accounts", "/transactions", "/mrr/movements", "/what-changed"]) {
    it(`should be shown in ${path} by name, else by what else is known`, async () => {
      await open(path);
      const shown = await page.locator("tbody a[href*='/accounts/']").allInnerTexts();
      expect(shown.toSorted()).to.deep.equal(names);
    });
  }

  it("should be shown in the drawer of a transaction, with a link to the provider", async () => {
    await open("/transactions");
    const row = page.getByRole("row").filter({ has: link("Ada Lovelace") });
    await row.locator("a[href*='open=']").first().click();
    await looked.settle();
    const provider = page.getByRole("dialog").getByRole("link", { name: "Open in Stripe" });
    expect(await provider.getAttribute("href")).to.equal(
      "https://dashboard.stripe.com/customers/cus_ada",
    );
  });

  it("should be found by an exact e-mail, in the list and by the palette", async () => {
    await open("/accounts");
    const label = "Exact e-mail or id (not a name)";
    const search = page.getByRole("searchbox", { name: label });
    await search.fill("GRACE@example.com");
    await search.press("Enter");
    await page.waitForURL(/search=GRACE/);
    await looked.settle();
    expect(await page.locator("tbody a[href*='/accounts/']").allInnerTexts()).to.deep.equal([
      "grace@example.com",
    ]);
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox").fill("ada@example.com");
    const option = page.getByRole("option").first();
    await option.getByText("Customers by an e-mail", { exact: true }).waitFor();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "Ada Lovelace" }).waitFor();
    expect(new URL(page.url()).pathname).to.match(/^\/accounts\/\w{32}$/);
  });

  it("should be erased by an admin who confirms it", async () => {
    await open("/accounts");
    await link("Ada Lovelace").click();
    await page.getByRole("heading", { level: 1, name: "Ada Lovelace" }).waitFor();
    expect(await page.locator(".facts").innerText()).to.include("ada@example.com");
    await page.getByRole("button", { name: "Erase name and e-mail" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: "Erase name and e-mail" }).click();
    await page.getByRole("heading", { level: 1, name: "Account", exact: true }).waitFor();
    expect(await page.locator("main").innerText()).not.to.match(/Ada|ada@/);
    await open("/accounts");
    expect(await link("Ada Lovelace").count()).to.equal(0);
    expect(await link("grace@example.com").count()).to.equal(1);
  });

  it("should be kept no more when the owner says so", async () => {
    await open("/settings/workspace");
    await page.getByLabel("Customers’ names and e-mails").selectOption("admins");
    await looked.settle();
    await page.getByRole("button", { name: "Erase and keep none" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Erase and keep none" }).click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await looked.settle();
    const setting = page.getByLabel("Customers’ names and e-mails");
    expect(await setting.inputValue()).to.equal("off");
    await open("/accounts");
    expect(await page.locator("main").innerText()).not.to.match(/example\.com|cus_/);
    expect(await page.locator("tbody a[href*='/accounts/']").count()).to.equal(3);
  });
});
