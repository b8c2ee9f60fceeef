/**
 * RevenueCat's copy of what a connected store reports itself is kept, and booked by no endpoint.
 */
import { setTimeout as pause } from "node:timers/promises";
import { expect } from "chai";
import { hadIntegration } from "../../workspaces/integrations.js";
import { dayMs } from "../harness/days.js";
import { inClear, metaOf } from "../harness/facts.js";
import { appendSealed } from "../../ingest/append-sealed.js";
import { type PurchaseInput, purchaseBody } from "../../ops/payloads/revenuecat.js";
import { eventId } from "../../schemas/ids.js";
import type { Environment } from "../../schemas/records/records.js";
import { suiteEndpoints, openEndpoints } from "../harness/endpoints.js";
import { cell, rowsOf } from "../model/tables/table.js";

const at = Date.now() - 10 * dayMs;
const authorization = "Bearer of the mirror tests";
const credentials: Readonly<Record<string, object>> = {
  apple: { bundle_id: "com.example.mirror" },
  google: {
    audience: "https://example.com/play",
    service_account_email: "push@example.iam.gserviceaccount.com",
    package_name: "com.example.mirror",
  },
  stripe: { signing_secret: "whsec_of_the_mirror" },
  paddle: { signing_secret: "pdl_ntfset_of_the_mirror" },
  revenuecat: { authorization },
};
type Made = "Production" | "Test";
let copiesMade = 0;

function copy(store: string, more: Partial<PurchaseInput> = {}) {
  copiesMade += 1;
  const id = `mirrored-${copiesMade}`;
  const body = purchaseBody("INITIAL_PURCHASE", {
    id,
    at,
    transaction: `200${copiesMade}`,
    user: "user-1",
    product: "pro_monthly",
    store,
    purchasedAt: at,
    expirationAt: at + 30 * dayMs,
    amount: 1000n,
    currency: "EUR",
    ...more,
  });
  return { id, body };
}

describe("RevenueCat's copy of what a store sold", () => {
  const endpoints = suiteEndpoints();

  const cases = rowsOf(`
    store         | connected | made       | copied     | became
    STRIPE        | stripe    | Production | PRODUCTION | mirrored
    PADDLE        | paddle    | Production | PRODUCTION | mirrored
    APP_STORE     | stripe    | Production | PRODUCTION | booked
    # An endpoint of these is made for one mode, and hears nothing of the other.
    STRIPE        | stripe    | Test       | PRODUCTION | booked
    PADDLE        | paddle    | Production | SANDBOX    | booked
    # One integration takes both, and the store says which is which.
    APP_STORE     | apple     | Production | PRODUCTION | mirrored
    APP_STORE     | apple     | Test       | PRODUCTION | mirrored
    MAC_APP_STORE | apple     | Production | SANDBOX    | mirrored
    PLAY_STORE    | google    | Test       | PRODUCTION | mirrored
    PLAY_STORE    | google    | Production | SANDBOX    | mirrored
  `);
  for (const row of cases) {
    const [store, connected] = [cell(row, "store"), cell(row, "connected")];
    const made = row["made"] === "Test" ? "Test" : "Production";
    const environment = row["copied"] === "SANDBOX" ? "SANDBOX" : "PRODUCTION";
    const of = `${store} (${environment}) beside ${connected} (${made})`;
    it(`should be ${row["became"]} of ${of}`, async () => {
      const shop = await openShop("Production");
      await shop.connect(connected, made);
      const { id, body } = copy(store, { environment });
      await shop.deliver(body);
      expect(await shop.outcomes(id)).to.deep.equal([cell(row, "became")]);
    });
  }

  it("should be mirrored and not booked by form B, which says so", async () => {
    const shop = await openShop("Production");
    await shop.connect("apple", "Production");
    const { id, body } = copy("APP_STORE");
    const { status, json } = await shop.ingest(body);
    expect(status).to.equal(202);
    expect(json.normalized).to.include({ amount_base: 0, mirror_of: "apple" });
    expect(await shop.outcomes(id)).to.deep.equal(["mirrored"]);
    const another = await shop.ingest(copy("AMAZON").body);
    expect(another.json.normalized).to.include({ amount_base: 10 }).and.not.have.key("mirror_of");
  });

  it("should need no rate where it is mirrored", async () => {
    const shop = await openShop("Production");
    await shop.connect("apple", "Production");
    const old = { purchasedAt: Date.UTC(2001, 0, 5), expirationAt: Date.UTC(2001, 1, 5) };
    const { id, body } = copy("APP_STORE", { ...old, currency: "ZWL" });
    expect((await shop.ingest(body)).status).to.equal(202);
    expect(await shop.outcomes(id)).to.deep.equal(["mirrored"]);
  });

  it("should stay mirrored when the webhook's event comes by form B, too", async () => {
    const shop = await openShop("Production");
    await shop.connect("apple", "Production");
    const { id, body } = copy("APP_STORE");
    await shop.deliver(body);
    expect(await shop.outcomes(id)).to.deep.equal(["mirrored"]);
    await shop.ingest(body);
    expect(await shop.outcomes(id, 2)).to.deep.equal(["mirrored", "mirrored"]);
  });

  it("should go by its first receipt when it is replayed", async () => {
    const shop = await openShop("Production");
    const { from, to } = await shop.connectForAWhile("apple");
    const [early, late] = [copy("APP_STORE"), copy("APP_STORE")];
    await shop.replay(early, from - 1);
    await shop.replay(late, to - 1);
    expect(await shop.outcomes(early.id)).to.deep.equal(["booked"]);
    expect(await shop.outcomes(late.id)).to.deep.equal([to > from ? "mirrored" : "booked"]);
  });

  it("should go by whether the store's own integration was there at a moment", async () => {
    const shop = await openShop("Production");
    const { from, to } = await shop.connectForAWhile("stripe");
    const moments: [number, readonly Environment[], boolean][] = [
      [from - 1, ["live"], false],
      [from, ["live"], true],
      [from, ["test", "live"], true],
      [to - 1, ["live"], to > from],
      [to, ["live"], false],
      [from, ["test"], false],
    ];
    for (const [moment, environments, expected] of moments) {
      const of = { workspace: shop.workspace, environments, provider: "stripe" };
      const had = await hadIntegration(endpoints.service.postgres)(of, moment);
      expect(had, JSON.stringify([moment - from, environments])).to.equal(expected);
    }
  });

  /** A workspace with RevenueCat connected, and perhaps stores. */
  async function openShop(made: Made) {
    const shop = await openEndpoints({ hasStripe: false });
    const { service, workspace } = shop;
    const connect = (provider: string, environment: Made) =>
      shop.integrate(provider, Object(credentials[provider]), environment);
    const { webhook_path: hook } = await connect("revenuecat", made);
    const { key } = await shop.newKey(made, "Full Ingress");
    return {
      workspace,
      connect,
      /** @returns ms since 1970: when it was made, and deleted */
      async connectForAWhile(provider: string) {
        const { id, created_at: createdAt } = await connect(provider, "Production");
        await pause(5);
        await shop.manage("DELETE", `${shop.path}/integrations/${id}`);
        const [row] = await service.postgres.query<{ deleted_at: Date }>(
          "SELECT deleted_at FROM integrations WHERE id = $1",
          [id],
        );
        return { from: Date.parse(createdAt), to: row?.deleted_at.getTime() ?? 0 };
      },
      async deliver(body: Buffer) {
        const headers = { authorization, "content-type": "application/json" };
        expect((await shop.post(hook, { headers, body })).status).to.equal(200);
      },
      ingest(body: Buffer) {
        const payload: unknown = JSON.parse(body.toString());
        const event = { provider: "revenuecat", event_type: "INITIAL_PURCHASE", payload };
        return shop.ingest(event, { authorization: `Bearer ${key}` });
      },
      /** As the replay of a reject puts it on the topic. */
      async replay({ id, body }: { id: string; body: Buffer }, firstReceivedAt: number) {
        const receipt = service.watermark.receive();
        const meta = metaOf({
          event_id: eventId(workspace, "live", "revenuecat", id),
          workspace,
          provider: "revenuecat",
          native_id: id,
          native_type: "INITIAL_PURCHASE",
          received_at: receipt.receivedAt,
          verdict: "authorization",
          rates_edition: service.rates.edition,
          first_received_at: firstReceivedAt,
        });
        await appendSealed({ ...service, hashAccount: inClear }, [
          { meta, body, accountHint: null },
        ]);
        receipt.settle();
      },
      /** What became of each delivery of it, once there are so many. */
      async outcomes(nativeId: string, deliveries = 1): Promise<string[]> {
        for (;;) {
          const rows = await service.clickhouse.rows<{ outcome: string; reason: string }>(
            `SELECT outcome, reason FROM raw_events FINAL
             WHERE workspace = {workspace:String} AND native_id = {nativeId:String}`,
            { workspace, nativeId },
          );
          if (rows.length >= deliveries) {
            return rows.map(({ outcome, reason }) => (outcome === "facts" ? "booked" : reason));
          }
          await pause(20);
        }
      },
    };
  }
});
