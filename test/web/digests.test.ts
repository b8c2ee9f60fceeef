/** The screen on which a member chooses a digest, in a real browser. */
import { expect } from "chai";
import { sealPersonal } from "../../workspaces/members/personal.js";
import { gone, seen } from "./browser.js";
import { type OpenWorkspace, inWorkspace, openWorkspace } from "./workspace.js";

describe("The digests of the settings", function () {
  this.timeout(120_000);
  let opened: OpenWorkspace;

  before(async function () {
    opened = await openWorkspace(this, "Digests");
  });
  after(() => opened?.context.close());

  it("should let a member choose one, see its preview, and say why it failed", async () => {
    const { endpoints, looked, open, page, workspace } = opened;
    const { postgres, vault } = endpoints.service;
    await open("/settings/digests");
    const choice = page.getByLabel("Digest by e-mail");
    await choice.selectOption("daily");
    await seen(page, "verified e-mail address");

    const members = "SELECT member FROM memberships WHERE workspace = $1";
    const [owner] = await postgres.query<{ member: string }>(members, [workspace]);
    const member = owner?.member ?? "";
    const email = sealPersonal(vault, member, "email", "ada@example.com");
    await postgres.query("UPDATE users SET email_sealed = $2 WHERE id = $1", [member, email]);
    await open("/settings/digests");
    await choice.selectOption("monthly");
    await seen(page, "Not yet");
    await page.getByRole("button", { name: "Preview", exact: true }).click();
    await seen(page, "No subscription changed it.");
    expect(await looked.findings()).to.deep.equal([]);

    const problem = "UPDATE digests SET problem = 'The mail server refused it with 451.'";
    await postgres.query(`${problem} WHERE workspace = $1`, [workspace]);
    await open("/settings/digests");
    await seen(page, "refused it with 451");
    await looked.findNothingWrong(inWorkspace("/settings/digests", workspace));
    const segments = `/v1/manage/workspaces/${workspace}/segments`;
    const germans = { name: "Germans", filters: { country: "DE" } };
    const headers = { origin: endpoints.base };
    await page.request.post(segments, { headers, data: germans });
    await open("/settings/digests");
    await page.getByLabel("Segment sent by e-mail").selectOption({ label: "Germans" });
    await page.getByRole("button", { name: "Preview", exact: true }).click();
    await seen(page, "(Germans)");
    expect(await looked.findings()).to.deep.equal([]);
    const byWebhook = page.getByRole("combobox", { name: "To your webhooks" });
    await byWebhook.selectOption("weekly");
    await seen(page, "No webhook endpoint of Production takes digest.ready yet.");
    const hook = {
      environment: "Production",
      url: "https://example.com/",
      events: ["digest.ready"],
    };
    const hooks = `/v1/manage/workspaces/${workspace}/webhooks`;
    await page.request.post(hooks, { headers, data: hook });
    await byWebhook.selectOption("daily");
    await page.getByRole("heading", { name: "To your webhooks" }).waitFor();
    await looked.findNothingWrong(inWorkspace("/settings/digests", workspace));
    await byWebhook.selectOption("off");
    await choice.selectOption("off");
    await gone(page, "Last sent");
    const left = "SELECT 1 FROM digests WHERE workspace = $1";
    expect(await postgres.query(left, [workspace])).to.deep.equal([]);
  });
});
