/** The service as a schema registry to read from, as consumers without another one use it. */
import { expect } from "chai";
import { releasedText } from "../../stores/log/registry/public-schemas.js";
import { suiteEndpoints } from "../harness/endpoints.js";

const transactionsId = 1_900_001_002;
const subject = "revenue.transactions-value";
const movementsText = releasedText({ topic: "revenue.mrr-movements", version: 2 });
const transactionsText = releasedText({ topic: "revenue.transactions", version: 2 });

describe("the schema registry's read part", () => {
  const endpoints = suiteEndpoints();
  /** Of the topics, which subjects are named after; on servers those of this run have one. */
  let prefix: string;
  before(async () => {
    prefix = endpoints.service.config.KAFKA_TOPIC_PREFIX ?? "";
  });
  const call = (path: string, init?: RequestInit) =>
    endpoints.call(path.replace("/revenue.", `/${prefix}revenue.`), init);

  const newest = { subject, version: 2, id: transactionsId, schema: transactionsText };
  const answers: readonly [path: string, answer: unknown][] = [
    [`/schemas/ids/${transactionsId}`, { schema: transactionsText }],
    ["/schemas/ids/1900002002", { schema: movementsText }],
    [`/schemas/ids/${transactionsId}?subject=${subject}`, { schema: transactionsText }],
    [`/schemas/ids/${transactionsId}/versions`, [{ subject, version: 2 }]],
    ["/schemas/types", ["AVRO"]],
    ["/subjects", [subject, "revenue.mrr-movements-value"]],
    [`/subjects/${subject}/versions`, [1, 2]],
    [`/subjects/${subject}/versions/2`, newest],
    [`/subjects/${subject}/versions/latest`, newest],
    [`/subjects/${subject}/versions/-1`, newest],
    [`/subjects/${subject}/versions/2/schema`, JSON.parse(transactionsText)],
    [`/subjects/${subject}/versions/1/referencedby`, []],
    [`/schemas/ids/${transactionsId}/subjects`, [subject]],
    ["/config", { compatibilityLevel: "FULL_TRANSITIVE" }],
    [`/config/${subject}`, { compatibilityLevel: "FULL_TRANSITIVE" }],
    [`/config/${subject}?defaultToGlobal=true`, { compatibilityLevel: "FULL_TRANSITIVE" }],
    ["/mode", { mode: "READONLY" }],
    [`/mode/${subject}?defaultToGlobal=true`, { mode: "READONLY" }],
  ];
  for (const [path, answer] of answers) {
    it(`should answer ${path} without a key`, async () => {
      const { status, headers, text } = await call(path);
      expect(status, text).to.equal(200);
      expect(headers.get("content-type")).to.match(/^application\/vnd\.schemaregistry\.v1\+json/);
      expect(JSON.parse(text.replaceAll(prefix, ""))).to.deep.equal(answer);
    });
  }

  const errors: readonly [path: string, code: number][] = [
    ["/schemas/ids/1", 40403],
    ["/schemas/ids/9999999999", 40403],
    ["/schemas/ids/abc", 40403],
    ["/schemas/ids/7/versions", 40403],
    ["/schemas/ids/7/subjects", 40403],
    ["/config/revenue.raw-value", 40401],
    ["/mode/revenue.raw-value", 40401],
    ["/subjects/revenue.raw-value/versions", 40401],
    ["/subjects/toString/versions/latest", 40401],
    [`/subjects/${subject}/versions/3`, 40402],
    [`/subjects/${subject}/versions/3/schema`, 40402],
    [`/subjects/${subject}/versions/0`, 42202],
    [`/subjects/${subject}/versions/newest`, 42202],
  ];
  for (const [path, code] of errors) {
    it(`should answer ${path} with the registry's error ${code}`, async () => {
      const { status, headers, text } = await call(path);
      expect(status, text).to.equal(Math.trunc(code / 100));
      expect(headers.get("content-type")).to.match(/^application\/vnd\.schemaregistry\.v1\+json/);
      expect(JSON.parse(text)).to.have.keys("error_code", "message").and.include({
        error_code: code,
      });
    });
  }

  it("should list all schemas at once, as consoles ask for them", async () => {
    const { text } = await call("/schemas?deleted=false");
    const listed: { id: number }[] = JSON.parse(text);
    expect(listed.map(({ id }) => id)).to.deep.equal([
      1_900_001_001,
      transactionsId,
      1_900_002_001,
      1_900_002_002,
      1_900_002_003,
      1_900_002_004,
    ]);
  });

  it("should register nothing for anybody", async () => {
    const body = JSON.stringify({ schema: '"string"' });
    const init = { method: "POST", body, headers: { "content-type": "application/json" } };
    expect((await call(`/subjects/${subject}/versions`, init)).status).to.equal(405);
  });
});
