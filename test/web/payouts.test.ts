/** The payouts of an integration: the list, and one of them to the cent. */
import { expect } from "chai";
import type { Page } from "playwright-core";
import { chargeObject } from "../../ops/payloads/stripe-money.js";
import { eventBody, stripeEvent } from "../../ops/payloads/stripe.js";
import { apiKey } from "../apis/stripe-api.js";
import { type Endpoints, stripe } from "../harness/endpoints.js";
import { balanceTransaction, payoutObject, putPayout } from "../harness/stripe-payouts.js";
import type { LookedAt } from "./browser.js";
import { openWorkspace } from "./workspace.js";

const day = 24 * 60 * 60 * 1000;
const today = Math.floor(Date.now() / day) * day;
const secret = "whsec_of_the_payouts";

describe("Payouts to the bank, in the dashboard", function () {
  this.timeout(180_000);
  let endpoints: Endpoints;
  let page: Page;
  let looked: LookedAt;
  let url = "";

  before(async function () {
    const opened = await openWorkspace(this, "Paid out", {}, "EUR");
    ({ endpoints, looked, page } = opened);
    page.setDefaultTimeout(30_000);
    const { workspace } = opened;
    const { base, stripeApi: api } = endpoints;
    const made = await endpoints.manage("POST", `/workspaces/${workspace}/integrations`, {
      provider: "stripe",
      environment: "Production",
      credentials: { signing_secret: secret, api_key: apiKey },
    });
    const { id, webhook_path: webhook } = made.json.data;
    const object = chargeObject({
      id: "ch_w_sold",
      paymentIntent: "pi_w_sold",
      customer: "cus_w_sold",
      amount: 9_900n,
      currency: "eur",
      createdAt: today - 4 * day,
    });
    const event = { id: "evt_w_sold", type: "charge.succeeded", at: today - 4 * day, object };
    const body = eventBody(stripeEvent({ ...event, livemode: true }));
    const signed = stripe.sign(body, { signing_secret: secret }, Date.now());
    expect((await endpoints.post(String(webhook), signed)).status).to.equal(200);
    await endpoints.booked();
    api.lists.set("/v1/payouts", []);
    api.lists.set("/v1/balance_transactions", []);
    const source = (name: string) => ({
      object: "charge",
      id: `ch_w_${name}`,
      payment_intent: `pi_w_${name}`,
    });
    // 99.00 − 3.12 + 50.00 − 1.75 − 20.00 − 0.50 is 123.63; 0.37 more was paid out.
    putPayout(api, payoutObject("po_w_more", 12_400, today - day), [
      balanceTransaction("txn_w_1", "charge", 9_900, 312, source("sold")),
      balanceTransaction("txn_w_2", "charge", 5_000, 175, source("unknown")),
      balanceTransaction("txn_w_3", "refund", -2_000, 0, { ...source("sold"), object: "refund" }),
      balanceTransaction("txn_w_4", "fee", -50, 0, null),
    ]);
    putPayout(api, payoutObject("po_w_next", 700, today + day, { status: "in_transit" }), [
      balanceTransaction("txn_w_5", "charge", 720, 20, source("sold")),
    ]);
    url = `${base}/settings/integrations/${id}?workspace=${workspace}`;
  });
  after(() => page?.context().close());

  it("should list them, those under way too", async () => {
    await page.goto(url);
    await looked.settle();
    // That nobody asked for its history is a 404.
    looked.complaints.length = 0;
    await page.getByRole("link", { name: "See what each payout is made of" }).click();
    const next = page.getByRole("row", { name: "po_w_next" });
    await next.getByText("In transit").waitFor();
    await next.getByText("€7.00").waitFor();
    await page.getByRole("row", { name: "po_w_more" }).getByText("€124.00").waitFor();
    await looked.findNothingWrong(page.url());
  });

  it("should open one to what it is made of, and show what is not explained", async () => {
    await page.getByRole("link", { name: "po_w_more" }).click();
    const sums = page.getByRole("region", { name: "Sums of the payout" });
    await sums.getByRole("row", { name: "Payments 2 €149.00" }).waitFor();
    await sums.getByRole("row", { name: "Refunds 1 -€20.00" }).waitFor();
    await sums.getByRole("row", { name: "Fees 3 -€5.37" }).waitFor();
    await sums.getByRole("row", { name: "Not explained €0.37" }).waitFor();
    await sums.getByRole("row", { name: "Paid out €124.00" }).waitFor();
    const unknown = page.getByRole("row", { name: "pi_w_unknown" });
    await unknown.getByText("Not booked here").waitFor();
    await looked.findNothingWrong(page.url());
  });

  it("should lead to the transactions here, and show one that adds up", async () => {
    await page.getByRole("link", { name: "pi_w_sold" }).first().click();
    await page.getByRole("dialog").getByText("€99.00").first().waitFor();
    await page.goBack();
    await page.getByRole("link", { name: "All payouts" }).click();
    await page.getByRole("link", { name: "po_w_next" }).click();
    const sums = page.getByRole("region", { name: "Sums of the payout" });
    await sums.getByRole("row", { name: "Paid out €7.00" }).waitFor();
    expect(await page.getByText("Not explained").count()).to.equal(0);
    expect(looked.complaints).to.deep.equal([]);
  });
});
