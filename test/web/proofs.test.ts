/** Publishing a figure in the settings, and what a stranger's browser then shows. */
import { expect } from "chai";
import { serveHttp } from "../harness/loopback.js";
import { openPage, seen, type LookedAt } from "./browser.js";
import { type OpenWorkspace, bookEvents, inWorkspace, openWorkspace } from "./workspace.js";

describe("The proofs of the settings", function () {
  this.timeout(120_000);
  let opened: OpenWorkspace;
  let strange: LookedAt;

  before(async function () {
    strange = await openPage(this);
    opened = await openWorkspace(this, "Proven", {
      permissions: ["clipboard-read", "clipboard-write"],
    });
    const { endpoints, workspace } = opened;
    await bookEvents(endpoints, workspace, "Production", [
      {
        provider: "custom",
        event_id: "proof-in-a-browser",
        event_type: "subscription.new",
        occurred_at: "2026-05-01T10:00:00Z",
        subscription_id: "one",
        customer_id: "one",
        interval: "month",
        product_id: "Atlas",
        amount: 1234,
        currency: "USD",
      },
    ]);
  });
  after(async () => {
    await strange?.page.context().close();
    await opened?.context.close();
  });

  it("should preview and publish one, copy its address, and revoke it", async () => {
    const { looked, open, page, workspace } = opened;
    await open("/settings/proofs");
    await seen(page, "Nothing is public");
    await page.getByRole("button", { name: "New proof" }).click();
    await page.getByLabel(/^Title/).fill("Our MRR");
    await page.getByLabel("Name of the business").fill("Acme");
    await page.getByLabel(/^Figure/).selectOption("mrr_over_time");
    await page.getByLabel("Whole months").fill("3");
    await page.getByLabel(/^Shown/).selectOption("two_digits");
    await page.getByRole("button", { name: "Preview" }).click();
    await seen(page, "about $1,200");
    expect(await looked.findings()).to.deep.equal([]);
    await page.getByRole("button", { name: "Publish" }).click();
    await page.getByRole("link", { name: "Our MRR" }).waitFor();
    await looked.findNothingWrong(inWorkspace("/settings/proofs", workspace));

    const copied = async (button: string) => {
      await page.getByRole("button", { name: button }).click();
      return String(await page.evaluate("navigator.clipboard.readText()"));
    };
    const url = await copied("Copy link");
    const frame = await copied("Copy iframe");
    await strange.findNothingWrong(url);
    const { page: read } = strange;
    await read.getByRole("img", { name: "MRR by month, about $1,200" }).waitFor();
    const site = await serveHttp("somebody's site", (_request, response) => {
      response.setHeader("content-type", "text/html");
      response.end(`<!doctype html><title>Another origin</title>${frame}`);
    });
    await read.goto(site);
    await read.frameLocator("iframe").getByText("about $1,200").waitFor();
    expect(await read.context().cookies()).to.deep.equal([]);

    await page.getByRole("button", { name: "Revoke Our MRR" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
    await seen(page, "Revoked", { exact: true });
    const gone = await fetch(url);
    expect(gone.status).to.equal(410);
  });
});
