import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { expect } from "chai";
import { createLogger } from "../../runtime/logger.js";
import { openLmdbLog } from "../../log/lmdb/lmdb-log.js";
import { LogUnavailable } from "../../log/log.js";
import { topics } from "../../schemas/records/records.js";
import { describeLogContract, readAll } from "./log-contract.js";
import { rejection } from "../harness/promises.js";
import { lmdbTopics } from "./log-topics.js";

const appender = fileURLToPath(new URL("./log-appender.js", import.meta.url));
const logger = createLogger("silent");

async function installLmdb() {
  const path = await mkdtemp(join(tmpdir(), "log-"));
  return {
    path,
    open: async (options = {}) => openLmdbLog({ path, topics: lmdbTopics(options), logger }),
    spawnAppender: () =>
      spawn(process.execPath, [appender, path], { stdio: ["ignore", "pipe", 2] }),
    remove: () => rm(path, { recursive: true }),
  };
}

describeLogContract("LMDB", installLmdb);

describe("The embedded log", () => {
  it("should lose nothing acknowledged and go on when the disk was full", async () => {
    const installation = await installLmdb();
    // A limit on the file's size makes its writes fail as a full disk does.
    const child = spawn(
      "sh",
      ["-c", 'ulimit -f 2000; exec "$0" "$@"', process.execPath, appender, installation.path],
      {
        stdio: ["ignore", "pipe", "ignore"],
      },
    );
    const lines: string[] = [];
    for await (const line of createInterface({ input: child.stdout })) lines.push(line);
    expect(lines.pop()).to.equal("failed: LogUnavailable");
    const log = await installation.open();
    const found = await readAll(log);
    const places = new Set(
      found.map((one) => `${one.partition} ${one.offset} ${one.value.toString()}`),
    );
    expect(lines.length).to.be.greaterThan(100);
    expect(lines.filter((line) => !places.has(line))).to.eql([]);
    const before = await log.ends(topics.raw);
    const [place] = await log.append(topics.raw, [{ key: "key 1", value: Buffer.from("again") }]);
    expect(place?.offset).to.equal(before[place?.partition ?? -1]);
    await log.close();
    await installation.remove();
  });

  it("should keep what a group has not handled, however old it is", async () => {
    const installation = await installLmdb();
    const expiring = { partitions: 1, retentionMs: 1, groups: ["g", "h"] };
    let log = await installation.open({ partitions: 1 });
    const records = Array.from({ length: 10 }, () => ({ key: "a", value: Buffer.from("v") }));
    await log.append(topics.raw, records);
    await log.seek(topics.raw, "h", new Map([[0, 10n]]));
    for (const [handled, earliest] of [
      [0n, 0n],
      [4n, 4n],
      [10n, 9n],
    ] as const) {
      await log.seek(topics.raw, "g", new Map([[0, handled]]));
      await log.close();
      // It looks what is too old as it starts, and has done so when it is closed.
      log = await installation.open(expiring);
      await log.append(topics.facts, records);
      expect(await log.earliest(topics.raw)).to.eql([earliest]);
    }
    await log.close();
    await installation.remove();
  });

  it("should keep the partitions a restore gave it", async () => {
    const installation = await installLmdb();
    const log = await installation.open();
    await log.widen(topics.raw, 6);
    await log.close();
    const { path } = installation;
    const again = openLmdbLog({ path, topics: lmdbTopics({}), logger, keepsPartitions: true });
    expect(await again.ends(topics.raw)).to.have.lengthOf(6);
    expect(await again.ends(topics.facts)).to.have.lengthOf(4);
    await again.close();
    await installation.remove();
  });

  it("should refuse more than it may hold in memory before a commit", async () => {
    const installation = await installLmdb();
    const log = openLmdbLog({
      path: installation.path,
      topics: lmdbTopics(),
      logger,
      pendingBytesMax: 1_000,
    });
    const append = () => log.append(topics.raw, [{ key: "a", value: Buffer.alloc(400) }]);
    const outcomes = await Promise.all([append(), append(), rejection(append())]);
    expect(outcomes[2]).to.be.instanceOf(LogUnavailable);
    await append();
    expect(await readAll(log)).to.have.length(3);
    await log.close();
    await installation.remove();
  });
});
