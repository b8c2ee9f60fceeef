/** A store's monthly reports in the dashboard: fetched, uploaded, opened and deleted. */
import { gzipSync } from "node:zlib";
import { expect } from "chai";
import type { Page } from "playwright-core";
import type { Endpoints } from "../harness/endpoints.js";
import {
  appStoreFinance,
  appStoreSales,
  settledMonth,
  soldGold,
} from "../harness/store-reports.js";
import type { LookedAt } from "./browser.js";
import { openWorkspace } from "./workspace.js";

const { at, days, fiscal, fourWeeks } = settledMonth;
const monthName = new Date(at).toLocaleDateString("en-US", {
  month: "short",
  year: "numeric",
  timeZone: "UTC",
});
const euros = { "Customer Currency": "EUR", "Currency of Proceeds": "EUR", Units: "2" };
const app = {
  ...euros,
  SKU: "app1",
  "Apple Identifier": "6448311069",
  "Customer Price": "0",
  "Developer Proceeds": "0",
};
const gold = {
  ...euros,
  SKU: "gold",
  "Parent Identifier": "app1",
  "Customer Price": "9.99",
  "Developer Proceeds": "7.13",
};

describe("A store's monthly reports, in the dashboard", function () {
  this.timeout(180_000);
  let endpoints: Endpoints;
  let page: Page;
  let looked: LookedAt;
  let url = "";

  before(async function () {
    const opened = await openWorkspace(this, "Reports", {}, "EUR");
    ({ endpoints, looked, page } = opened);
    page.setDefaultTimeout(30_000);
    const { appStore, base } = endpoints;
    appStore.reports.set(`FINANCIAL ${fiscal}`, appStoreFinance([soldGold], {}, fourWeeks));
    const made = await endpoints.manage("POST", `/workspaces/${opened.workspace}/integrations`, {
      provider: "apple",
      environment: "Production",
      credentials: appStore.reportCredentials,
    });
    const { id } = made.json.data;
    url = `${base}/settings/integrations/${id}?workspace=${opened.workspace}`;
  });
  after(() => endpoints?.appStore.reports.clear());

  const row = (kind: string) =>
    page.getByRole("region", { name: "Monthly reports of App Store" }).getByRole("row", {
      name: kind,
    });

  it("should fetch what is missing, and say so", async () => {
    await page.goto(url);
    await page.getByRole("button", { name: "Fetch now" }).click();
    await row("Financial report").waitFor();
    expect(await row("Financial report").innerText()).to.match(
      /Fetched[^]*€29\.97[^]*€0\.00[^]*\$21\.39/,
    );
    await page.getByRole("button", { name: "Fetch now" }).waitFor();
  });

  it("should upload several files, and say which are none", async () => {
    const file = (name: string, text: string) => ({
      name,
      mimeType: "application/gzip",
      buffer: gzipSync(text),
    });
    await page
      .getByLabel(/^Upload a monthly Sales/)
      .setInputFiles([
        file("S_M_1.txt.gz", appStoreSales([app, gold], days)),
        file("S_M_2.txt.gz", "cut"),
      ]);
    await page.getByText(`S_M_1.txt.gz: Sales and Trends of ${monthName}, 2 lines`).waitFor();
    await page.getByText("S_M_2.txt.gz: The file is no report").waitFor();
    expect(await row("Sales and Trends").innerText()).to.match(/File[^]*€19\.98/);
  });

  it("should show a report beside what is booked", async () => {
    await row("Sales and Trends").getByRole("link").click();
    const beside = page.getByRole("region", {
      name: `Sales and Trends of ${monthName} beside what is booked`,
    });
    const top = (await beside.boundingBox())?.y ?? 0;
    expect(top, "come into view").to.be.within(0, 500);
    expect(await beside.innerText()).to.match(/gold[^]*€19\.98[^]*€0\.00[^]*€19\.98/);
    await looked.findNothingWrong(page.url());
  });

  it("should delete one, when it is confirmed", async () => {
    await page.goto(url);
    await row("Sales and Trends").getByRole("button", { name: "Delete" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: "Delete" }).click();
    await row("Sales and Trends").waitFor({ state: "detached" });
    await row("Financial report").waitFor();
  });
});
