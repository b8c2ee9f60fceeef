/** The screen of alerts, in a real browser. */
import { expect } from "chai";
import { openChatServer } from "../apis/chat-server.js";
import { until } from "../harness/promises.js";
import { seen } from "./browser.js";
import { type OpenWorkspace, bookEvents, inWorkspace, openWorkspace } from "./workspace.js";

const dayMs = 24 * 60 * 60 * 1000;

describe("The alerts of the settings", function () {
  this.timeout(120_000);
  let opened: OpenWorkspace;

  before(async function () {
    opened = await openWorkspace(this, "Alerts");
  });
  after(() => opened?.context.close());

  it("should test an alert while it is written, save it, and show what it sent", async () => {
    const { endpoints, looked, open, page, workspace } = opened;
    const event = {
      provider: "custom",
      event_id: "web-alert",
      event_type: "subscription.new",
      occurred_at: new Date(Date.now() - 10 * dayMs).toISOString(),
      subscription_id: "one",
      product_id: "atlas",
      amount: 30,
      currency: "USD",
    };
    await bookEvents(endpoints, workspace, "Production", [event]);
    const server = await openChatServer();
    await open("/settings/alerts");
    await seen(page, "No alerts yet");
    await page.getByLabel("Incoming-webhook URL").fill(server.url);
    await page.getByRole("button", { name: "Connect" }).click();
    await seen(page, "Connected to");
    expect(server.messages).to.have.length(1);

    await open("/settings/alerts?figure=mrr&provider=custom");
    await page.getByLabel("Only provider custom").waitFor();
    await page.getByLabel("Condition").selectOption("above");
    await page.getByLabel("Value").fill("20");
    await seen(page, "would have fired once in the last 90 days");
    await seen(page, "It is true now, so it fires at once.");
    await page.getByLabel("Quiet hours").check();
    expect(await looked.findings()).to.deep.equal([]);
    await page.getByLabel("Quiet hours").uncheck();
    await page.getByRole("button", { name: "Save the alert" }).click();
    await page.getByRole("rowheader", { name: "above $20.00" }).waitFor();

    await until(async () => server.messages.length === 2);
    await open("/settings/alerts");
    await seen(page, /Chat \(127.*: sent/);
    await page.getByRole("button", { name: "Edit MRR" }).click();
    const form = page.getByRole("region", { name: "Edit an alert" });
    await form.getByLabel("Only provider custom").waitFor();
    expect(await form.getByLabel("Condition").inputValue()).to.equal("above");
    await form.getByLabel("Value").fill("25");
    await form.getByLabel("Quiet hours").check();
    await form.getByRole("textbox", { name: "From" }).fill("23:30");
    await form.getByRole("button", { name: "Save the alert" }).click();
    await page.getByRole("rowheader", { name: "above $25.00" }).waitFor();
    await seen(page, "Quiet 23:30 to 07:00");
    await looked.findNothingWrong(inWorkspace("/settings/alerts", workspace));
    await page.getByRole("link", { name: "MRR is $30.00, above $20.00." }).click();
    await seen(page, "$30.00");
    expect(new URL(page.url()).searchParams.get("known_at")).not.to.equal(null);
  });
});
