/** An integration's page beside its provider's list: what differs, and fetching what is missing. */
import { expect } from "chai";
import type { Page } from "playwright-core";
import { disputeObject, withFee } from "../../ops/payloads/stripe-money.js";
import type { JsonObject } from "../../ops/payloads/stripe.js";
import { paddleKey } from "../apis/paddle-api.js";
import { apiKey, listDisputes, listOnly } from "../apis/stripe-api.js";
import type { Endpoints } from "../harness/endpoints.js";
import { backfilled } from "../harness/histories.js";
import { paidCharge } from "../payloads/stripe-sales.js";
import type { LookedAt } from "./browser.js";
import { openWorkspace } from "./workspace.js";

const now = new Date();
/** The tenth day of the month before last. */
const paidAt = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 2, 10);
const month = new Date(paidAt).toISOString().slice(0, 7);
const monthName = new Date(paidAt).toLocaleDateString("en-US", {
  month: "short",
  year: "numeric",
  timeZone: "UTC",
});

const charge = (name: string, amount: bigint): JsonObject =>
  paidCharge(`w_${name}`, paidAt, { amount });

describe("A month beside the provider's list, in the dashboard", function () {
  this.timeout(180_000);
  let endpoints: Endpoints;
  let page: Page;
  let looked: LookedAt;
  let url = "";

  before(async function () {
    const opened = await openWorkspace(this, "Beside the list", {}, "EUR");
    ({ endpoints, looked, page } = opened);
    page.setDefaultTimeout(30_000);
    const { workspace } = opened;
    const { base, stripeApi: api } = endpoints;
    const path = `/workspaces/${workspace}`;
    const kept = [charge("one", 9_900n), charge("two", 4_900n), charge("gone", 1_900n)];
    listOnly(api, { charges: kept });
    const made = await endpoints.manage("POST", `${path}/integrations`, {
      provider: "stripe",
      environment: "Production",
      credentials: { signing_secret: "whsec_of_the_list", api_key: apiKey },
    });
    const integration = String(made.json.data.id);
    const done = await backfilled({ ...endpoints, path }, integration, `${month}-01`);
    expect(done).to.include({ state: "done" });
    const inYen = { ...charge("yen", 1_900n), currency: "jpy" };
    const [one = {}, two = {}] = kept;
    // Its fee is another by now.
    const dearer = withFee(two, 60);
    api.lists.set("/v1/charges", [one, dearer, charge("untold", 2_900n), inYen]);
    const given = { charge: "ch_w_one", paymentIntent: "pi_w_one", currency: "eur" };
    const disputed = disputeObject({
      ...given,
      id: "du_w_untold",
      amount: 900n,
      createdAt: paidAt,
      withdrawnAt: paidAt,
      status: "needs_response",
    });
    listDisputes(api, [disputed]);
    url = `${base}/settings/integrations/${integration}?workspace=${workspace}`;
  });
  after(() => page?.context().close());

  it("should compare the months, and name each payment that differs", async () => {
    await page.goto(url);
    await page.getByRole("heading", { name: "Beside Stripe's own list" }).waitFor();
    await page.getByRole("button", { name: "Compare the last 12 months" }).click();
    const row = page.getByRole("row", { name: monthName }).first();
    await row.getByRole("link", { name: "4", exact: true }).click();
    // Of 99.00 + 49.00 both, and 19.00, 29.00 and the dispute's 9.00 on one side each.
    await row.getByText("72.19%").waitFor();
    await row.getByText("€168.00").waitFor();
    await row.getByText("€167.00").waitFor();
    const untold = page.getByRole("row", { name: "pi_w_untold" });
    await untold.getByText("No event came").waitFor();
    await untold.getByText("€29.00").waitFor();
    const dispute = page.getByRole("row", { name: "du_w_untold" });
    await dispute.getByText("€9.00 taken").waitFor();
    await page.getByRole("row", { name: monthName }).nth(1).getByText("¥1,900").waitFor();
    await page.getByRole("row", { name: "pi_w_gone" }).getByText("Not in the list").waitFor();
    // Each month reads all lists of the provider, at its pace.
    await page.getByText("in 12 of the last 12 months").waitFor({ timeout: 120_000 });
    const costs = page.getByRole("region", { name: /^Disputes, fees and taxes/ });
    await costs
      .getByRole("row", { name: `${monthName} Taken by disputes €9.00 €0.00 Yes` })
      .waitFor();
    await costs.getByRole("row", { name: `${monthName} Fees €1.14 €1.08 1` }).waitFor();
    const differing = page.getByRole("region", { name: "Payments whose fee or tax differs" });
    await differing.getByRole("row", { name: "pi_w_two Fees €0.60 €0.54" }).waitFor();
    await looked.findNothingWrong(page.url());
  });

  it("should open the events of what differs, of a dispute those of its payment", async () => {
    await page.getByRole("link", { name: "du_w_untold" }).click();
    await page.getByRole("dialog").getByText("€99.00").first().waitFor();
    await page.goBack();
    await page.getByRole("link", { name: "pi_w_gone" }).click();
    await page.getByRole("dialog").getByText("€19.00").first().waitFor();
    await page.goBack();
  });

  it("should fetch what is missing, and compare again", async () => {
    await page.getByRole("button", { name: "Fetch what is missing" }).click();
    const row = page.getByRole("row", { name: monthName }).first();
    await row.getByRole("link", { name: "1", exact: true }).waitFor();
    await row.getByText("€187.00").first().waitFor();
    expect(await page.getByRole("row", { name: "pi_w_untold" }).count()).to.equal(0);
    expect(await page.getByRole("button", { name: "Fetch what is missing" }).count()).to.equal(0);
    expect(looked.complaints).to.deep.equal([]);
  });

  it("should show what Paddle's own dashboard says beside ours, and why it differs", async () => {
    const { paddleApi: api } = endpoints;
    for (const list of ["transactions", "adjustments"]) api.lists.set(`/${list}`, []);
    const told = { currency: "EUR", amountOn: () => 1_000n };
    api.metrics.set("/metrics/monthly-recurring-revenue", told);
    api.metrics.set("/metrics/chargebacks", { currency: null, amountOn: () => 1_000n });
    const workspace = new URL(url).searchParams.get("workspace");
    const made = await endpoints.manage("POST", `/workspaces/${workspace}/integrations`, {
      provider: "paddle",
      environment: "Production",
      credentials: { signing_secret: "pdl_ntfset_w", api_key: paddleKey },
    });
    const { origin } = new URL(url);
    const path = `settings/integrations/${made.json.data.id}`;
    await page.goto(`${origin}/${path}?workspace=${workspace}`);
    await page.getByRole("button", { name: "Compare the last 12 months" }).click();
    await page.getByText("Figures as Paddle shows them").click();
    const figures = page.getByRole("region", { name: "Figures of Paddle beside ours" });
    const row = figures.getByRole("row", {
      name: `${monthName} MRR at the end €10.00 €0.00 €0.00`,
    });
    await row.waitFor();
    // Its revenue may not be read.
    await page.getByText("permission metrics.read").waitFor();
    await page.getByText("counts prices before their discounts").waitFor();
    await looked.findNothingWrong(page.url());
  });
});
