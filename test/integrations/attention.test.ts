/** What keeps figures from being whole, as every screen of the dashboard asks for it. */
import { expect } from "chai";
import { clickhouseTime } from "../../stores/clickhouse/rows.js";
import { type RejectRow, insertRejects } from "../../workspaces/rejects/rejects.js";
import { attention } from "../../schemas/http/manage.js";
import { until } from "../harness/promises.js";
import { expectError, newStripeEvent, suiteEndpoints } from "../harness/endpoints.js";

describe("What needs attention", () => {
  const endpoints = suiteEndpoints();
  const at = Date.UTC(2026, 5, 1, 12);
  let paddle = "";
  before(async () => {
    const { service, workspace } = endpoints;
    const reject = (id: string, more: Partial<RejectRow>): RejectRow => ({
      workspace,
      environment: "live",
      event_id: `evt_norm_${id}`,
      provider: "paddle",
      native_type: "subscription.created",
      received_at: clickhouseTime(at),
      step: "decode",
      reason: "enrichment_unavailable",
      detail: "",
      partition: 0,
      offset: "0",
      state: "open",
      revision: at,
      ...more,
    });
    await insertRejects(service.clickhouse, [
      reject("1", {}),
      reject("2", { received_at: clickhouseTime(at + 60_000) }),
      reject("3", { step: "enrich" }),
      reject("4", { provider: "stripe", reason: "malformed" }),
      reject("5", { state: "resolved" }),
      // Replayed since.
      reject("6", {}),
      reject("6", { state: "replayed", revision: at + 1 }),
      reject("7", { environment: "test", provider: "gumroad", reason: "malformed" }),
      reject("8", { workspace: "ws_another" }),
    ]);
    const made = await endpoints.integrate("paddle", { signing_secret: "pdl_ntfset_secret" });
    paddle = made.id;
    const { status } = await endpoints.deliver(JSON.stringify(newStripeEvent()));
    expect(status).to.equal(200);
    const headers = { "content-type": "application/json", "stripe-signature": "t=1,v1=00" };
    const answer = await endpoints.post(endpoints.webhook, { headers, body: Buffer.from("{}") });
    expect(answer.status).to.equal(401);
    const sale = { provider: "custom", event_type: "transaction.sale", amount: 10 };
    await endpoints.ingest({ ...sale, currency: "USD", event_id: "converted" });
    await endpoints.booked();
    // The journal, written behind the figures, says when the first call came.
    await until(async () => {
      const journaled =
        "SELECT 1 FROM raw_events WHERE workspace = {workspace:String} AND form = 'webhook'";
      return (await service.clickhouse.rows(journaled, { workspace })).length > 0;
    });
  });

  const ask = async (environment: string) => {
    const { json, status, text } = await endpoints.manage(
      "GET",
      `${endpoints.path}/attention?environment=${environment}`,
    );
    expect(status, text).to.equal(200);
    return attention.parse(json.data);
  };

  it("should count open rejects by provider and reason, most first", async () => {
    const { rejects } = await ask("live");
    const first = new Date(at).toISOString();
    const plain = { provider: "paddle", reason: "enrichment_unavailable", integration: paddle };
    expect(rejects.slice(0, 2)).to.deep.equal([
      {
        ...plain,
        step: "decode",
        events: 2,
        last_received_at: new Date(at + 60_000).toISOString(),
      },
      { ...plain, step: "enrich", events: 1, last_received_at: first },
    ]);
    const [stripe] = rejects.slice(2);
    expect(stripe).to.include({ provider: "stripe", reason: "malformed", events: 1 });
  });

  it("should keep the environments apart", async () => {
    const { rejects, rates, integrations } = await ask("Test");
    expect(rejects.map(({ provider, integration }) => [provider, integration])).to.deep.equal([
      ["gumroad", null],
    ]);
    expect([rates, integrations]).to.deep.equal([[], []]);
  });

  it("should name integrations whose last call was refused, and no new one", async () => {
    const { integrations } = await ask("live");
    expect(integrations.map(({ provider, state }) => [provider, state])).to.deep.equal([
      ["stripe", "refused"],
    ]);
    expect(integrations[0]?.refused_reason).to.match(/^signature_/);
  });

  it("should name integrations whose history is not read, up to their first call", async () => {
    const { history } = await ask("live");
    expect(history.map(({ provider }) => provider)).to.deep.equal(["stripe"]);
    expect(Date.now() - Date.parse(history[0]?.unread_until ?? "")).to.be.within(0, 600_000);
    const covered = `${endpoints.path}/integrations/${history[0]?.id ?? ""}/coverage`;
    const { json } = await endpoints.manage("GET", covered);
    expect(json.data.unread_until).to.equal(history[0]?.unread_until);
  });

  it("should name old rates where payments needed them", async () => {
    const { json } = await endpoints.manage("GET", "/rates");
    const ecb = json.data.find((row: { source: string }) => row.source === "ecb");
    const { rates } = await ask("live");
    const { source, newest_day } = ecb;
    expect(rates).to.deep.equal(ecb.stale ? [{ source, newest_day }] : []);
  });

  it("should list the rejects of one provider", async () => {
    const listed = await endpoints.rejects("?provider=stripe");
    expect(listed.map(({ id }: { id: string }) => id)).to.deep.equal(["evt_norm_4"]);
  });

  it("should refuse an environment there is not", async () => {
    const where = `${endpoints.path}/attention?environment=staging`;
    expectError(await endpoints.manage("GET", where), "400 parameter_invalid");
  });
});
