/** The log in a backup, from one embedded log to another. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import { cutTopics, groupOffsets, readTopics, writeTopics } from "../../stores/backup/log-part.js";
import type { Manifest } from "../../stores/backup/manifest.js";
import type { Log } from "../../stores/log/log.js";
import { openLmdbLog } from "../../stores/log/lmdb/lmdb-log.js";
import { topics } from "../../schemas/records/records.js";
import { record } from "../log/log-contract.js";
import { lmdbTopics } from "../log/log-topics.js";
import { testLogger } from "../harness/stores.js";

const topic = topics.raw;

describe("The log in a backup", () => {
  let folder: string;
  let log: Log;
  let manifest: Manifest;
  const open = (name: string): Log =>
    openLmdbLog({ path: join(folder, name), topics: lmdbTopics(), logger: testLogger });

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), "revenue-backup-log-"));
    log = open("old");
    // Retention has removed the beginning of one partition, and all of another.
    await log.begin(topic, 1, 5n);
    await log.place(topic, 1, 5n, [record("a", "five"), record("b", "six"), record("c", "seven")]);
    await log.begin(topic, 2, 4n);
    const cut = await cutTopics(log, await groupOffsets(log));
    manifest = {
      made_at: "2026-11-21T00:00:00.000Z",
      version: "0.1.0",
      installation: "none",
      vault_key_id: "none",
      migrations: { postgres: [], clickhouse: [] },
      topics: cut,
      files: await writeTopics(log, cut, folder),
    };
  });
  after(async () => {
    await log.close();
    rmSync(folder, { recursive: true });
  });

  type Case = [left: string, begun: (partition: number, restored: Log) => Promise<void>];
  const empty = { key: "", value: Buffer.alloc(0) };
  const fill = async (restored: Log, partition: number, offsets: readonly bigint[]) => {
    for (const offset of offsets) await restored.place(topic, partition, offset, [empty]);
  };
  const cases: Case[] = [
    ["nothing", async () => undefined],
    // Kafka gets to an offset by records that are deleted when they are all there.
    ["a part of what leads to the first offset", (partition, to) => fill(to, partition, [0n, 1n])],
    [
      "all that leads to the first offset",
      (partition, to) => fill(to, partition, [0n, 1n, 2n, 3n, ...(partition === 1 ? [4n] : [])]),
    ],
    [
      "some of the records",
      async (partition, to) => {
        if (partition !== 1) return;
        await to.begin(topic, 1, 5n);
        await to.place(topic, 1, 5n, [record("a", "five")]);
      },
    ],
  ];
  for (const [left, begun] of cases) {
    it(`should come back when an interrupted restore left ${left}`, async () => {
      const restored = open(left);
      for (const partition of [1, 2]) await begun(partition, restored);
      for (let round = 0; round < 2; round += 1) await readTopics(restored, manifest, folder);
      expect(await restored.earliest(topic)).to.eql([0n, 5n, 4n, 0n]);
      expect(await restored.ends(topic)).to.eql([0n, 8n, 4n, 0n]);
      const found = await restored.read(topic, 1, 0n, 10);
      expect(found).to.eql(await log.read(topic, 1, 0n, 10));
      await restored.close();
    });
  }

  it("should not come back into a partition that something else appends to", async () => {
    const restored = open("foreign");
    await fill(restored, 2, [0n, 1n, 2n, 3n, 4n]);
    const error = await readTopics(restored, manifest, folder).catch(String);
    expect(error).to.include("ends at 5: something else appended to it");
    await restored.close();
  });
});
