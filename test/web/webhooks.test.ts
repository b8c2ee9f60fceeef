/** The screen of outgoing webhooks, in a real browser. */
import { expect } from "chai";
import { openReceiver } from "../harness/receiver.js";
import { until } from "../harness/promises.js";
import { seen } from "./browser.js";
import { type OpenWorkspace, inWorkspace, openWorkspace } from "./workspace.js";

describe("The webhooks of the settings", function () {
  this.timeout(120_000);
  let opened: OpenWorkspace;

  before(async function () {
    opened = await openWorkspace(this, "Webhooks");
  });
  after(() => opened?.context.close());

  it("should add an endpoint, send a test, show it and send it again", async () => {
    const { looked, open, page, workspace } = opened;
    const receiver = await openReceiver("of the dashboard");
    const button = (name: string | RegExp) => page.getByRole("button", { name });
    await open("/settings/webhooks");
    await seen(page, "No endpoints yet");
    await button("Add an endpoint").click();
    await page.getByLabel("Address").fill("http://169.254.169.254/");
    await page.getByLabel("Movements of MRR").check();
    await button("Add").last().click();
    await seen(page, "must not be a private address");
    await page.getByLabel("Address").fill(receiver.url);
    await page.getByLabel("Name").fill("Our CRM");
    expect(await looked.findings()).to.deep.equal([]);
    await button("Add").last().click();
    const secret = await page.getByText(/^whsec_/).textContent();
    receiver.secrets = [secret ?? ""];
    await looked.findNothingWrong(inWorkspace("/settings/webhooks", workspace));

    await page.getByRole("link", { name: "Our CRM" }).click();
    await button("Send a test").click();
    await until(() => receiver.taken.length === 1);
    expect(receiver.taken[0]).to.deep.include({ type: "webhook.test", verifiedBy: [true] });
    const url = page.url();
    await open(new URL(url).pathname);
    await seen(page, "Taken (204)");
    await looked.findNothingWrong(url);
    await button(/^Show/).click();
    await seen(page, '"type": "webhook.test"');
    await page.keyboard.press("Escape");
    await button(/^Replay msg_/).click();
    await until(() => receiver.taken.length === 2);
    expect(new Set(receiver.taken.map(({ id }) => id))).to.have.property("size", 1);
  });
});
