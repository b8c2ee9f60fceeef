/** Gumroad through the whole service: unsigned pings, each sale looked up over HTTP. */
import { expect } from "chai";
import { createGumroad } from "../../../providers/gumroad/index.js";
import {
  membershipPing,
  type SaleInput,
  salePing,
  type SaleResource,
} from "../../../ops/payloads/gumroad.js";
import type { RecordInput } from "../../payloads/gumroad-answers.js";
import { suiteEndpoints } from "../../harness/endpoints.js";
import { until } from "../../harness/promises.js";

const gumroad = createGumroad();
const seller = { seller_id: "c2VsbGVyLXRlc3Q=" };
const at = Date.parse("2026-06-10T09:00:00Z");
const product = "prd-brushes==";
const once: SaleInput & RecordInput = { sale: "once==", at, product, cents: 1249n };
const club = { subscription: "mem-1==", recurrence: "monthly", purchaser: "77" } as const;
const first = { sale: "first==", at, product: "prd-club==", cents: 1000n, ...club };

describe("Gumroad, through the service", () => {
  const endpoints = suiteEndpoints();
  let webhook: string;

  before(async () => {
    const credentials = { ...seller, access_token: endpoints.gumroadApi.accessToken };
    webhook = (await endpoints.integrate("gumroad", credentials)).webhook_path;
  });

  async function post(ping: Buffer): Promise<void> {
    const answer = await endpoints.post(webhook, gumroad.sign(ping, seller, Date.now()));
    expect(answer.status, answer.text).to.equal(200);
  }

  const report = (resource: SaleResource, sale: SaleInput) => post(salePing(resource, sale));

  interface Row {
    readonly gross_amount: number;
    readonly refunded_amount: number;
    readonly status: string;
    readonly type: string;
  }

  async function rowsOnceBooked(): Promise<Row[]> {
    await endpoints.booked();
    return (await endpoints.get("/v1/transactions")).json.data;
  }

  const amounts = async (field: keyof Row) => (await rowsOnceBooked()).map((row) => row[field]);

  /** @param query of a moment; now by default */
  async function worth(query = ""): Promise<number> {
    await endpoints.booked();
    return (await endpoints.get(`/v1/metrics/mrr${query}`)).json.data.current_mrr;
  }

  const reasons = async () =>
    (await endpoints.rejects()).map(({ reason }: { reason: string }) => reason).sort();

  it("should not book what Gumroad does not know, however genuine it looks", async () => {
    await report("sale", { ...once, sale: "forged==" });
    expect(await amounts("gross_amount")).to.deep.equal([]);
    expect(await reasons()).to.deep.equal(["sale_unknown"]);
  });

  it("should book a sale at the price Gumroad has, not at the ping's", async () => {
    endpoints.gumroadApi.report(once);
    await report("sale", { ...once, cents: 999_900n });
    expect(await amounts("gross_amount")).to.deep.equal([12.49]);
  });

  it("should book two parts refunded by equal pings, and a repetition of one never", async () => {
    endpoints.gumroadApi.report({ ...once, partiallyRefunded: true, refundable: "8.50" });
    await report("refund", once);
    expect(await amounts("refunded_amount")).to.deep.equal([3.99]);
    endpoints.gumroadApi.report({ ...once, partiallyRefunded: true, refundable: "5" });
    await report("refund", once);
    await report("refund", once);
    expect(await amounts("refunded_amount")).to.deep.equal([7.49]);
    expect(await amounts("status")).to.deep.equal(["succeeded"]);
  });

  it("should start a membership with its first charge, for which a plan change waits", async () => {
    await post(
      membershipPing(
        { ...club, product: "prd-club==", user: club.purchaser, createdAt: at },
        {
          resource: "subscription_updated",
          type: "upgrade",
          effectiveAt: Date.parse("2026-07-01T00:00:00Z"),
          before: { tier: "Pro", recurrence: "monthly", price: 1000n },
          after: { tier: "Max", recurrence: "monthly", price: 2500n },
        },
      ),
    );
    await endpoints.booked();
    expect(await reasons()).to.include("enrichment_unavailable");
    const trial = { ...first, sale: "trial==", subscription: "mem-2==" };
    endpoints.gumroadApi.report({ ...trial, recurring: false, trialEndsOn: "Jul 1, 2026" });
    await report("sale", trial);
    endpoints.gumroadApi.report({ ...first, recurring: false });
    await report("sale", first);
    const before = await worth("?at=2026-06-20T00:00:00Z");
    expect(before).to.be.greaterThan(0);
    // What waited is replayed some seconds later.
    let after = before;
    await until(async () => (after = await worth("?at=2026-07-02T00:00:00Z")) !== before);
    // In dollars 10.00 and 25.00, each at the quote of its own day.
    expect(after / before).to.be.within(2.4, 2.6);
    expect(await amounts("gross_amount")).to.have.members([12.49, 10]);
  });

  it("should take instalments of what is sold once for payments, never for MRR", async () => {
    const before = await worth();
    const plan = { ...first, sale: "part-1==", subscription: "mem-3==", cents: 10_000n };
    const part = { ...plan, sale: "part-2==", at: at + 30 * 86_400_000, recurring: true };
    endpoints.gumroadApi.report({ ...plan, recurring: false, recurringBilling: false });
    endpoints.gumroadApi.report({ ...part, recurringBilling: false });
    await report("sale", plan);
    await report("sale", part);
    await endpoints.booked();
    await post(
      membershipPing(
        { ...club, subscription: plan.subscription, product: plan.product, createdAt: at },
        { resource: "subscription_restarted", restartedAt: Date.parse("2026-09-01T00:00:00Z") },
      ),
    );
    expect(await worth()).to.equal(before);
    const parts = (await rowsOnceBooked()).filter((row) => row.gross_amount === 100);
    expect(parts.map(({ type }) => type)).to.deep.equal(["one_time", "one_time"]);
  });

  it("should let nobody in who names another seller", async () => {
    const signed = gumroad.sign(salePing("sale", once), { seller_id: "x" }, Date.now());
    const answer = await endpoints.post(webhook, signed);
    expect(answer.status).to.equal(401);
    expect(answer.json.error.code).to.equal("signature_mismatch");
  });
});
