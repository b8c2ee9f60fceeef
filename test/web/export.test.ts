/** An integration whose history comes as a file: what it would book, and booking it. */
import { gzipSync } from "node:zlib";
import { expect } from "chai";
import { exportFile } from "../payloads/revenuecat-export.js";
import { seen } from "./browser.js";
import { openWorkspace, type OpenWorkspace } from "./workspace.js";

const dayMs = 24 * 60 * 60 * 1000;
const now = Math.floor(Date.now() / 1000) * 1000;
const bought = {
  transaction: "2000000901",
  user: "user_9",
  product: "pro_monthly",
  start: now - 70 * dayMs,
  end: now - 40 * dayMs,
  amount: 1234n,
  currency: "EUR",
};

describe("A file of history, in the dashboard", function () {
  this.timeout(180_000);
  let opened: OpenWorkspace;

  before(async function () {
    opened = await openWorkspace(this, "From a file");
  });
  after(() => opened?.context.close());

  it("should say what it would book, and book it when told to", async () => {
    const { endpoints, open, page, looked, workspace } = opened;
    const made = await endpoints.manage("POST", `/workspaces/${workspace}/integrations`, {
      provider: "revenuecat",
      environment: "Production",
      credentials: { authorization: "Bearer of the file" },
    });
    await open(`/settings/integrations/${made.json.data.id}`);
    const unpriced = { ...bought, transaction: "2000000902", amount: null };
    await page.getByLabel(/Scheduled Data Export/).setInputFiles({
      name: "transactions.csv.gz",
      mimeType: "application/gzip",
      buffer: gzipSync(exportFile([bought, unpriced], now - dayMs)),
    });
    await seen(page, "Purchases that can be booked: 1,");
    await page.getByRole("cell", { name: "€12.34" }).waitFor();
    await seen(page, "no price in the currency of the purchase");
    expect(await looked.findings()).to.deep.equal([]);
    const day = new Date(bought.start).toISOString().slice(0, 10);
    expect(await page.getByLabel("The file has every purchase since").inputValue()).to.equal(day);
    await page.getByRole("button", { name: "Book it" }).click();
    await page.getByText("Done: every month agrees").waitFor({ timeout: 60_000 });
    await seen(page, "The provider's export");
    await looked.findNothingWrong(page.url());
  });
});
