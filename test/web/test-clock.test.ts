/** In Test, the dashboard reaches as far as a provider's test clock does. */
import { expect } from "chai";
import type { Page } from "playwright-core";
import type { Endpoints } from "../harness/endpoints.js";
import { gone, LookedAt, seen } from "./browser.js";
import { bookEvents, openWorkspace } from "./workspace.js";

const dayMs = 24 * 60 * 60 * 1000;
const inDays = (days: number): string => new Date(Date.now() + days * dayMs).toISOString();

describe("The dashboard and a test clock that runs ahead", function () {
  this.timeout(180_000);
  const ahead = inDays(40);
  const day = (moment: string): string =>
    new Intl.DateTimeFormat("en-US", { dateStyle: "medium", timeZone: "UTC" }).format(
      new Date(moment),
    );
  let endpoints: Endpoints;
  let page: Page;
  let workspace = "";

  before(async function () {
    ({ endpoints, page, workspace } = await openWorkspace(this, "Clock"));
    await bookEvents(endpoints, workspace, "Test", [subscription("first", ahead)]);
    await bookEvents(endpoints, workspace, "Production", [subscription("live", inDays(-1))]);
  });
  after(() => page?.context().close());

  const subscription = (id: string, at: string): object => ({
    provider: "custom",
    event_type: "subscription.new",
    amount: 10,
    currency: "USD",
    subscription_id: id,
    occurred_at: at,
  });
  const openTest = (path: string) =>
    page.goto(`${path}?workspace=${workspace}&environment=test&range=7d`);

  it("should end its ranges with the newest moment, and say so", async () => {
    await openTest("/mrr/movements");
    await seen(page, `Test clock: figures reach to ${day(ahead)}.`);
    await page.locator("tbody").getByRole("cell", { name: "+$10.00" }).waitFor();
    await openTest("/mrr");
    await page.getByRole("link", { name: /^New: \+?\$10\.00/ }).waitFor();
    await page.getByRole("link", { name: /^End: \$10\.00/ }).waitFor();
  });

  it("should freeze as far as it shows", async () => {
    await openTest("/mrr");
    await page.getByRole("link", { name: /^End: \$10\.00/ }).waitFor();
    await page.getByRole("link", { name: "Freeze" }).click();
    await page.waitForURL(/known_at=/);
    expect(new URL(page.url()).searchParams.get("at")).to.equal(ahead);
    await page.getByRole("link", { name: /^New: \+?\$10\.00/ }).waitFor();
    expect(await page.getByRole("alert").count()).to.equal(0);
  });

  it("should follow the clock when live news comes", async () => {
    const later = inDays(55);
    await openTest("/overview");
    await page.locator(".badge.live").waitFor();
    await bookEvents(endpoints, workspace, "Test", [subscription("second", later)]);
    await seen(page, `Test clock: figures reach to ${day(later)}.`);
    await page.getByRole("link", { name: "$20.00", exact: true }).first().waitFor();
  });

  it("should end with the reader's today in Live", async () => {
    await openTest("/mrr");
    await seen(page, /^Test clock/);
    await page.getByRole("link", { name: "Live", exact: true }).click();
    await gone(page, /^Test clock/);
    await new LookedAt(page).settle();
    await page.getByRole("link", { name: /^End: \$10\.00/ }).waitFor();
    const range = await page.getByText(`MRR at the end of ${day(inDays(0))}`).count();
    expect(range).to.equal(1);
  });
});
