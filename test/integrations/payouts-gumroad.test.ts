/** Payouts of Gumroad, from a real HTTP server that speaks as Gumroad does. */
import { expect } from "chai";
import { salePing } from "../../ops/payloads/gumroad.js";
import { createGumroad } from "../../providers/gumroad/index.js";
import type { PayoutsView } from "../../schemas/http/payouts.js";
import { always, answered, cut, inTurn } from "../apis/failures.js";
import { expectError, suiteEndpoints } from "../harness/endpoints.js";
import { kindsOf, openedPayout } from "../harness/opened-payout.js";

const gumroad = createGumroad();
const day = 24 * 60 * 60 * 1000;
const from = Date.UTC(2026, 0, 1);

function payout(number: number, amount: string, more: Record<string, unknown> = {}) {
  return {
    id: `payout${number}==`,
    amount,
    currency: "usd",
    status: "completed",
    created_at: new Date(from + number * day).toISOString(),
    processed_at: null,
    payment_processor: "stripe",
    transactions: [],
    ...more,
  };
}

/** As its CSV has them: numbers of dollars, or an empty text. */
function line(type: string, sale: string, price: number | "", fees: number | "", net: number) {
  return {
    type,
    date: "2026-01-05",
    purchase_id: sale,
    item_name: "Brush Pack",
    buyer_name: "",
    buyer_email: "",
    taxes: 0,
    shipping: 0,
    sale_price: price,
    gumroad_fees: fees,
    net_total: net,
  };
}

describe("Payouts of Gumroad", function suite() {
  this.timeout(120_000);
  const endpoints = suiteEndpoints();
  let path = "";
  const opened = (id: string) => openedPayout(endpoints, path, id);

  before(async () => {
    const { accessToken } = endpoints.gumroadApi;
    const seller = { seller_id: "c2VsbGVyLW9mLXBheW91dHM=" };
    // Without the token its pings are not asked about.
    const made = await endpoints.integrate("gumroad", seller);
    const sale = { sale: "sold==", product: "prd-p==", productName: "Brush Pack" };
    const ping = salePing("sale", { ...sale, at: from + 4 * day, cents: 1_000n });
    const answer = await endpoints.post(made.webhook_path, gumroad.sign(ping, seller, from));
    expect(answer.status, answer.text).to.equal(200);
    await endpoints.booked();
    const credentials = { ...seller, access_token: accessToken };
    const change = await endpoints.manage("PATCH", `${endpoints.path}/integrations/${made.id}`, {
      credentials,
    });
    expect(change.status, change.text).to.equal(200);
    path = `${endpoints.path}/integrations/${made.id}/payouts`;
  });
  afterEach(() => {
    endpoints.gumroadApi.misbehave = null;
  });

  it("should list those made between two days, newest first, of all pages", async () => {
    const { gumroadApi: api } = endpoints;
    for (let number = 0; number < 25; number += 1) api.payouts.push(payout(number, "1234.50"));
    const answer = await endpoints.manage("GET", `${path}?from=2026-01-02&to=2026-01-24`);
    const found: PayoutsView = answer.json.data;
    expect(found.payouts.map(({ id }) => id)).to.deep.equal(
      Array.from({ length: 23 }, (_, place) => `payout${23 - place}==`),
    );
    expect(found.dated_by).to.equal("creation");
    expect(found.payouts[0]).to.include({
      status: "completed",
      arrives_at: null,
      currency: "USD",
      amount_minor: 123_450,
    });
  });

  it("should open one to its lines, adding up, each with our transaction or without", async () => {
    const transactions = [
      line("Sale", "sold==", 10, 1.29, 8.71),
      line("Sale", "unknown==", 19.99, 2.3, 17.69),
      // As sums of two numbers of dollars come out.
      line("Partial Refund", "sold==", -3.3, -0.1 - 0.2, -3),
      line("Chargeback", "sold==", -6.7, -0.99, -5.71),
      line("Affiliate Credit", "", 0.05, "", 0.05),
      line("Payout Fee", "", "", 0.35, -0.35),
    ];
    endpoints.gumroadApi.payouts.push(payout(40, "17.39", { transactions }));
    const found = await opened("payout40==");
    expect(kindsOf(found)).to.deep.equal({
      payment: 2_999,
      refund: -330,
      dispute: -670,
      fee: -265,
      adjustment: 5,
    });
    expect(found.problem).to.equal(null);
    const [sold, unknown, refund] = found.lines;
    const shown = await endpoints.get(`/v1/transactions/${sold?.transaction}`);
    expect(shown.json.data, shown.text).to.include({ payment: "sold==" });
    expect(refund?.transaction).to.equal(sold?.transaction);
    expect(unknown).to.include({ payment: "unknown==", transaction: null, fee_minor: 230 });
    expect(found.lines.at(-1)).to.include({ kind: "fee", payment: null, net_minor: -35 });
  });

  it("should show what its lines do not explain as a line of its own", async () => {
    const transactions = [line("Sale", "sold==", 10, 1.29, 8.71)];
    endpoints.gumroadApi.payouts.push(payout(41, "8.70", { transactions }));
    const found = await opened("payout41==");
    expect(kindsOf(found)).to.include({ remainder: -1 });
    expect(found.lines.at(-1)).to.include({ kind: "remainder", net_minor: -1 });
  });

  it("should say why one in another currency is not explained", async () => {
    const transactions = [line("Sale", "sold==", 10, 1.29, 8.71)];
    const paid = payout(42, "7.55", { currency: "eur", transactions });
    endpoints.gumroadApi.payouts.push(paid);
    const found = await opened("payout42==");
    expect(kindsOf(found)).to.deep.equal({ remainder: 755 });
    expect(found.lines[0]).to.include({ currency: "USD", net_minor: 871 });
    expect(found.problem).to.include("in EUR");
  });

  it("should read on though the API fails meanwhile, and say what it does not have", async () => {
    const failures = inTurn([cut, answered(502)]);
    endpoints.gumroadApi.misbehave = failures;
    await opened("payout40==");
    expect(failures.calls).to.equal(3);
    expectError(await endpoints.manage("GET", `${path}/nobody`), "404 payout_unknown");
    // A token without `view_payouts`.
    endpoints.gumroadApi.misbehave = always(answered(403));
    expectError(await endpoints.manage("GET", path), "422 payouts_unreadable");
  });
});
