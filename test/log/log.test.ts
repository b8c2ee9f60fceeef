import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import { type LmdbLogOptions, openLmdbLog } from "../../stores/log/lmdb/lmdb-log.js";
import { type Log, LogUnavailable, type TopicOptions } from "../../stores/log/log.js";
import { topics } from "../../schemas/records/records.js";
import { describeLogContract, readAll, record } from "./log-contract.js";
import { rejection } from "../harness/promises.js";
import { testLogger } from "../harness/stores.js";
import { lmdbTopics } from "./log-topics.js";
import { linesUntilFull } from "./reporting-process.js";

const topic = topics.raw;

async function installLmdb() {
  const path = await mkdtemp(join(tmpdir(), "log-"));
  return {
    path,
    open: async (options: Partial<TopicOptions> = {}, more: Partial<LmdbLogOptions> = {}) =>
      openLmdbLog({ path, topics: lmdbTopics(options), logger: testLogger, ...more }),
    appenderWords: [path],
    remove: () => rm(path, { recursive: true }),
  };
}

describeLogContract("LMDB", installLmdb);

describe("The embedded log", () => {
  let installation: Awaited<ReturnType<typeof installLmdb>>;
  let log: Log;
  beforeEach(async () => {
    installation = await installLmdb();
  });
  afterEach(async () => {
    await log.close();
    await installation.remove();
  });

  it("should lose nothing acknowledged and go on when the disk was full", async () => {
    const lines = await linesUntilFull("log/log-appender", installation.appenderWords);
    expect(lines.pop()).to.equal("failed: LogUnavailable");
    log = await installation.open();
    const found = await readAll(log);
    const places = new Set(
      found.map((one) => `${one.partition} ${one.offset} ${one.value.toString()}`),
    );
    expect(lines.length).to.be.greaterThan(100);
    expect(lines.filter((line) => !places.has(line))).to.eql([]);
    const before = await log.ends(topic);
    const [place] = await log.append(topic, [record("key 1", "again")]);
    expect(place?.offset).to.equal(before[place?.partition ?? -1]);
  });

  it("should keep what a group has not handled, however old it is, and the end", async () => {
    const expiring = { partitions: 1, retentionMs: 1, groups: ["g", "h"] };
    log = await installation.open({ partitions: 1 });
    const records = Array.from({ length: 10 }, () => record());
    await log.append(topic, records);
    await log.seek(topic, "h", new Map([[0, 10n]]));
    for (const [handled, earliest] of [
      [0n, 0n],
      [4n, 4n],
      [10n, 9n],
    ] as const) {
      await log.seek(topic, "g", new Map([[0, handled]]));
      await log.close();
      // It looks what is too old as it starts, and has done so when it is closed.
      log = await installation.open(expiring);
      await log.append(topics.facts, records);
      expect(await log.earliest(topic)).to.eql([earliest]);
      expect(await log.ends(topic)).to.eql([10n]);
    }
    const [place] = await log.append(topic, [record("a", "new")]);
    expect(place).to.eql({ partition: 0, offset: 10n });
    const left = await log.read(topic, 0, 0n, 100);
    expect(left.map(({ offset }) => offset)).to.eql([9n, 10n]);
  });

  it("should keep the partitions a restore gave it", async () => {
    log = await installation.open();
    await log.widen(topic, 6);
    await log.close();
    log = await installation.open();
    expect(await log.ends(topic)).to.have.lengthOf(6);
    expect(await log.ends(topics.facts)).to.have.lengthOf(4);
  });

  it("should refuse more than it may hold in memory before a commit", async () => {
    log = await installation.open({}, { pendingBytesMax: 1_000 });
    const append = () => log.append(topic, [{ key: "a", value: Buffer.alloc(400) }]);
    const outcomes = await Promise.all([append(), append(), rejection(append())]);
    expect(outcomes[2]).to.be.instanceOf(LogUnavailable);
    await append();
    expect(await readAll(log)).to.have.length(3);
  });
});
