/**
 * The built service as its own process, killed while it sends webhooks: receivers get everything,
 * and twice only what they were taking when it was killed, under the same `webhook-id`.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { expect } from "chai";
import { limits } from "../../config.js";
import { until } from "../harness/promises.js";
import { openReceiver } from "../harness/receiver.js";
import { SuiteService } from "../harness/service-process.js";
import { prepareProcess } from "../harness/stores.js";

const accounts = 6;
const salesOfEach = 10;
const kills = 2;
const takesMs = 15;

describe("Webhooks of a service that is killed", function suite() {
  this.timeout(120_000);
  const service = new SuiteService();
  const folder = mkdtempSync(join(tmpdir(), "revenue-hooks-"));
  after(() => rmSync(folder, { recursive: true, maxRetries: 5 }));

  it("should lose none, keep the order, and repeat only what was under way", async () => {
    const settings = { ...(await prepareProcess(folder)), OUTBOUND_PRIVATE_ADDRESSES: "on" };
    const { endpoint } = await service.start(folder, settings);
    const { base, adminToken } = endpoint;
    const call = async (path: string, token: string, type: string, body: string) => {
      const headers = { authorization: `Bearer ${token}`, "content-type": type };
      const response = await fetch(base + path, { method: "POST", headers, body });
      expect(response.ok, path).to.equal(true);
      return response.text();
    };
    const make = async (path: string, body: object) => {
      const text = JSON.stringify(body);
      const answer = await call(`/v1/manage${path}`, adminToken, "application/json", text);
      return JSON.parse(answer).data;
    };
    const { id } = await make("/workspaces", { name: "Killed", base_currency: "EUR" });
    const keyGiven = { environment: "Production", scope: "Full Ingress" };
    const { key } = await make(`/workspaces/${id}/keys`, keyGiven);
    const receiver = await openReceiver("of a killed service");
    receiver.answer = async (_call, response) => {
      await pause(takesMs);
      response.writeHead(200).end();
    };
    const where = { environment: "Production", url: receiver.url };
    await make(`/workspaces/${id}/webhooks`, { ...where, events: ["transaction.recorded"] });

    const lines = Array.from({ length: accounts * salesOfEach }, (_, index) =>
      JSON.stringify({
        provider: "custom",
        event_id: `sale-${index}`,
        event_type: "transaction.sale",
        occurred_at: new Date().toISOString(),
        transaction_id: `sale-${index}`,
        customer_id: `customer-${index % accounts}`,
        product_id: "Atlas",
        amount: index + 1,
        currency: "EUR",
      }),
    );
    await call("/v1/events/ingest", key, "application/x-ndjson", lines.join("\n"));
    for (let round = 1; round <= kills; round += 1) {
      const enough = (round * lines.length) / (kills + 1);
      await until(() => receiver.taken.length >= enough);
      await service.kill();
      await service.start(folder, settings);
    }
    const messages = () => new Set(receiver.taken.map((one) => one.id));
    await until(() => messages().size === lines.length);
    expect(receiver.taken.length).to.be.at.most(lines.length + kills * limits.webhookCallsMax);
    const amounts = new Map<string, number[]>();
    for (const { data } of receiver.taken) {
      const before = amounts.get(data.account) ?? [];
      if (!before.includes(data.gross_amount)) {
        amounts.set(data.account, [...before, data.gross_amount]);
      }
    }
    for (const [account, taken] of amounts) {
      expect(taken, account).to.deep.equal(taken.toSorted((one, other) => one - other));
    }
  });
});
