import { expect } from "chai";
import { bulkPartition } from "../../stores/log/log.js";
import { topics } from "../../schemas/records/records.js";
import { groups } from "../../stores/watermark/watermark.js";
import { openEndpoints, suiteEndpoints } from "../harness/endpoints.js";
import { until } from "../harness/promises.js";

const ndjson = { "content-type": "application/x-ndjson" };

function sales(name: string, count: number): string {
  const line = (index: number) => ({
    event_type: "transaction.sale",
    provider: "custom",
    amount: 10,
    currency: "EUR",
    event_id: `${name}_${index}`,
    customer_id: `${name}_${index}`,
  });
  return Array.from({ length: count }, (_, index) => JSON.stringify(line(index))).join("\n");
}

describe("A large batch", () => {
  const endpoints = suiteEndpoints();

  it("should wait behind what others send meanwhile, and be booked whole", async () => {
    const { log } = endpoints.service;
    const bulk = bulkPartition(log) ?? 0;
    const taken = async () => (await log.ends(topics.raw))[bulk] ?? 0n;
    const passed = async () => (await log.committed(topics.raw, groups.normalize))[bulk] ?? 0n;
    const other = await openEndpoints({ hasStripe: false });
    const rows = async (of: typeof endpoints): Promise<number> => {
      const { json } = await of.get("/v1/transactions?limit=200");
      return json.data.length;
    };

    const before = await taken();
    const answer = await endpoints.ingest(sales("many", 4_000), ndjson);
    expect(answer.status, answer.text).to.equal(200);
    expect((await taken()) - before, "in a partition of its own").to.equal(4_000n);
    const end = await taken();

    const single = await other.ingest(sales("single", 1));
    expect(single.status, single.text).to.equal(202);
    await until(async () => (await rows(other)) === 1);
    expect(await passed(), "before all of the batch").to.be.below(Number(end));

    await endpoints.booked();
    expect(await passed()).to.equal(end);
    const { json } = await endpoints.get("/v1/metrics/revenue");
    expect(json.data.totals.gross).to.equal(40_000);
  }).timeout(120_000);

  it("should lie among all else when it is small", async () => {
    const { log } = endpoints.service;
    const bulk = bulkPartition(log) ?? 0;
    const before = await log.ends(topics.raw);
    await endpoints.ingest(sales("few", 100), ndjson);
    expect((await log.ends(topics.raw))[bulk]).to.equal(before[bulk]);
  });
});
