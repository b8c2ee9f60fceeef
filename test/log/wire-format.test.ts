/** What lies on the public topics, and that every process reads it, whoever wrote it and when. */
import { join } from "node:path";
import { expect } from "chai";
import type { Postgres } from "../../stores/postgres/postgres.js";
import {
  PublicSchemas,
  releasedText,
  withWireFormat,
} from "../../stores/log/registry/public-schemas.js";
import type { Log } from "../../stores/log/log.js";
import { openLmdbLog } from "../../stores/log/lmdb/lmdb-log.js";
import {
  Registry,
  SchemaRegistryRefused,
  SchemaRegistryUnavailable,
} from "../../stores/log/registry/schema-registry.js";
import { codec, nameOnce } from "../../schemas/records/avro.js";
import { readMessage, releases, writeMessage } from "../../schemas/records/public-topics.js";
import { topics, transactionCodec, transactionSchema } from "../../schemas/records/records.js";
import { transactionOf } from "../harness/facts.js";
import { rejection } from "../harness/promises.js";
import { lmdbTopics } from "./log-topics.js";
import { openRegistryServer, send } from "../apis/schema-registry-server.js";
import { openTestPostgres, testFolder, testLogger, testReleases } from "../harness/stores.js";

const topic = topics.transactions;
const [newest = { topic, version: 0, ownId: 0 }] = releases
  .filter((release) => release.topic === topic)
  .slice(-1);
const { ownId } = newest;
const quick = { attemptsMax: 3, pauseMs: 1, answerMsMax: 2_000 };

describe("the public topics", () => {
  let postgres: Postgres;
  let plain: Log;
  before(async () => {
    postgres = await openTestPostgres();
    plain = openLmdbLog({
      path: join(testFolder, "wire-format"),
      topics: lmdbTopics({ partitions: 1 }),
      logger: testLogger,
    });
    testReleases.push("log", () => plain.close());
  });

  const schemasWith = (
    url: string | null,
    released: readonly SomeRelease[] = releases,
    topicPrefix = "",
  ) =>
    new PublicSchemas(
      {
        postgres,
        topicPrefix,
        logger: testLogger,
        registry: url === null ? null : new Registry(url, testLogger, quick),
      },
      released,
    );
  /** Appended by one process, as it lies there. */
  async function written(schemas: PublicSchemas, id: string): Promise<Buffer> {
    await schemas.announce();
    const [place] = await withWireFormat(plain, schemas).append(topic, [
      { key: id, value: transactionCodec.encode({ ...example, id }) },
    ]);
    const [record] = await plain.read(topic, 0, place?.offset ?? 0n, 1);
    return record?.value ?? Buffer.alloc(0);
  }
  /** All that lies there, as another process reads it. */
  async function readBy(schemas: PublicSchemas): Promise<string[]> {
    const [from = 0n] = await plain.earliest(topic);
    const records = await withWireFormat(plain, schemas).read(topic, 0, from, 1_000);
    return records.map(({ value }) => transactionCodec.decode(value).id);
  }

  it("should name the schema of each message, and read the body back", async () => {
    const message = await written(schemasWith(null), "tx_own");
    expect([...message.subarray(0, 5)]).to.deep.equal([0, 0x71, 0x3f, 0xb6, 0xea]);
    expect(message.readInt32BE(1)).to.equal(ownId);
    const { body } = readMessage(message);
    expect(structuredClone(transactionCodec.decode(body))).to.deep.equal({
      ...example,
      id: "tx_own",
    });
    expect(await readBy(schemasWith(null))).to.include("tx_own");
  });

  it("should leave topics that are not public as they are", async () => {
    const value = Buffer.from([0, 1, 2]);
    const log = withWireFormat(plain, schemasWith(null));
    await log.append(topics.raw, [{ key: "k", value }]);
    const [record] = await plain.read(topics.raw, 0, 0n, 1);
    expect(record?.value).to.deep.equal(value);
  });

  it("should refuse to write before the schemas are announced", async () => {
    const log = withWireFormat(plain, schemasWith(null));
    const error = await rejection(log.append(topic, [{ key: "k", value: Buffer.from("x") }]));
    expect(String(error)).to.include("before it was announced");
  });

  it("should take the ids of a registry, and let a process without one read them", async () => {
    const server = await openRegistryServer(7);
    expect((await written(schemasWith(server.url), "tx_registry")).readInt32BE(1)).to.equal(8);
    expect([...server.subjects.keys()]).to.deep.equal([
      "revenue.transactions-value",
      "revenue.mrr-movements-value",
    ]);
    expect([...server.levels.values()]).to.deep.equal(["FULL_TRANSITIVE", "FULL_TRANSITIVE"]);
    const registered = server.subjects.get("revenue.transactions-value") ?? [];
    const texts = [1, 2].map((version) => releasedText({ topic, version }));
    expect(registered.map(({ schema }) => schema)).to.deep.equal(texts);
    expect(await readBy(schemasWith(null))).to.include.members(["tx_own", "tx_registry"]);
  });

  it("should name subjects as the topics are named on the broker", async () => {
    const server = await openRegistryServer(40);
    await schemasWith(server.url, releases, "acme.").announce();
    expect([...server.subjects.keys()]).to.deep.equal([
      "acme.revenue.transactions-value",
      "acme.revenue.mrr-movements-value",
    ]);
  });

  it("should keep its ids over starts, and write nothing to who knows them", async () => {
    const server = await openRegistryServer(20);
    await schemasWith(server.url).announce();
    server.calls.length = 0;
    const again = schemasWith(server.url);
    await again.announce();
    expect(again.writing(topic).id).to.equal(21);
    expect(server.calls).to.deep.equal([
      // One for each of its versions.
      "POST /subjects/revenue.transactions-value",
      "POST /subjects/revenue.transactions-value",
      "POST /subjects/revenue.mrr-movements-value",
      "POST /subjects/revenue.mrr-movements-value",
      "POST /subjects/revenue.mrr-movements-value",
      "POST /subjects/revenue.mrr-movements-value",
      "GET /config/revenue.transactions-value",
      "GET /config/revenue.mrr-movements-value",
    ]);
  });

  it("should read what was written under a registry before and under the one now", async () => {
    const [first, second] = [await openRegistryServer(100), await openRegistryServer(200)];
    await written(schemasWith(first.url), "tx_first");
    await written(schemasWith(second.url), "tx_second");
    const reader = schemasWith(second.url);
    expect(await readBy(reader)).to.include.members(["tx_own", "tx_first", "tx_second"]);
    expect((await reader.versions(topic)).map(({ id }) => id)).to.deep.equal([200, 201]);
    expect(await reader.find(100)).to.include({ topic, version: 1, id: 100 });
    expect(await reader.find(1)).to.equal(null);
  });

  it("should refuse a registry that gives an id to a schema for which another stands", async () => {
    const [first, second] = [await openRegistryServer(300), await openRegistryServer(299)];
    await schemasWith(first.url).announce();
    const error = await rejection(schemasWith(second.url, laterReleases).announce());
    expect(error).to.be.instanceOf(SchemaRegistryRefused);
    expect(String(error)).to.match(/version 2 the id 300.*version 1.*Import the schemas/);
  });

  it("should read what a newer release writes already, and let it read the old", async () => {
    const newer = schemasWith(null, laterReleases);
    await newer.announce();
    const { id } = newer.writing(topic);
    const body = laterCodec.encode({ ...example, id: "tx_newer", channel: "till" });
    await plain.append(topic, [{ key: "k", value: writeMessage(id, body) }]);
    // A process of this release learns the newer schema from Postgres.
    expect(await readBy(schemasWith(null))).to.include("tx_newer");
    const old = await newer.toNewest(topic, ownId, transactionCodec.encode(example));
    expect(laterCodec.decode(old)).to.include({ channel: "web" });
  });

  it("should send the URL's user and password, and say when they are refused", async () => {
    const server = await openRegistryServer(400);
    server.credentials = "data team:se:cret/";
    const url = new URL(server.url);
    url.username = "data team";
    url.password = "se:cret/";
    const schemas = schemasWith(url.href);
    await schemas.announce();
    expect(schemas.writing(topic).id).to.equal(401);
    const error = await rejection(schemasWith(server.url).announce());
    expect(error).to.be.instanceOf(SchemaRegistryRefused);
    expect(String(error)).to.include("Unauthorized").and.not.include("se:cret");
  });

  it("should try a failing registry again, and report a person when it stays away", async () => {
    const server = await openRegistryServer(500);
    let failures = 2;
    server.misbehave = (_request, response) => {
      if (failures === 0) return false;
      failures -= 1;
      send(response, 500, { error_code: 50001, message: "Error in the backend datastore" });
      return true;
    };
    await schemasWith(server.url).announce();
    expect(failures).to.equal(0);

    const away = await openRegistryServer(550);
    away.misbehave = server.misbehave;
    failures = Number.POSITIVE_INFINITY;
    const error = await rejection(schemasWith(away.url).announce());
    expect(error).to.be.instanceOf(SchemaRegistryUnavailable);
    expect(String(error)).to.include("3 tries").and.include("backend datastore");
  });

  it("should start without a registry that gave its ids before", async () => {
    const server = await openRegistryServer(600);
    await schemasWith(server.url).announce();
    server.misbehave = (request) => Boolean(request.destroy());
    const schemas = schemasWith(server.url);
    await schemas.announce();
    expect(schemas.writing(topic).id).to.equal(601);
  });

  const refusals: readonly [name: string, status: number, body: unknown, reported: RegExp][] = [
    [
      "an incompatible schema",
      409,
      { error_code: 409, message: "Schema being registered is incompatible" },
      /409\): Schema being registered is incompatible/,
    ],
    ["a missing right", 403, { error_code: 40301, message: "not allowed" }, /40301\): not allowed/],
    ["an answer of something else", 200, "<html>", /is no schema registry; it answered/],
  ];
  for (const [name, status, body, reported] of refusals) {
    it(`should report ${name} to a person at once`, async () => {
      const server = await openRegistryServer(700);
      server.misbehave = (request, response) => {
        if (!request.url?.endsWith("/versions")) return false;
        send(response, status, body);
        return true;
      };
      const error = await rejection(schemasWith(server.url).announce());
      expect(error).to.be.instanceOf(SchemaRegistryRefused);
      expect(String(error)).to.match(reported);
      expect(server.calls.filter((call) => call.endsWith("/versions"))).to.have.lengthOf(1);
    });
  }
});

/** A next version of this release's transactions, with one more field. */
const laterSchema = {
  ...transactionSchema,
  fields: [...transactionSchema.fields, { name: "channel", type: "string", default: "web" }],
} as const;
const laterCodec = codec(laterSchema);
const later = {
  topic,
  version: newest.version + 1,
  ownId: ownId + 1,
  text: JSON.stringify(nameOnce(laterSchema)),
};
const laterReleases: readonly SomeRelease[] = releases.flatMap((release) =>
  release === newest ? [release, later] : [release],
);
type SomeRelease = (typeof releases)[number] & { readonly text?: string };

const example = transactionOf({
  version: 3,
  workspace: "ws_1",
  gross_amount: 9_007_199_254_740_993n,
  fee_amount: 12n,
  type: "refund",
  status: "disputed",
});
