/** How much of the log is kept, as an operator asks for it. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import { openLmdbLog } from "../../stores/log/lmdb/lmdb-log.js";
import { topicOptions } from "../../stores/log/topic-options.js";
import { groups } from "../../stores/watermark/watermark.js";
import { ConfigError, readConfig } from "../../config.js";
import { topics } from "../../schemas/records/records.js";
import { dayMs } from "../harness/days.js";
import { testLogger } from "../harness/stores.js";

describe("What is kept of the log", () => {
  const asked: [settings: Record<string, string>, topic: keyof typeof topics, kept: object][] = [
    [{}, "raw", { retentionMs: null, retentionBytes: null }],
    [{ RAW_RETENTION_DAYS: "30" }, "raw", { retentionMs: 30 * dayMs, retentionBytes: null }],
    [{ RAW_RETENTION_BYTES: "5000000" }, "raw", { retentionMs: null, retentionBytes: 5_000_000 }],
    [{ RAW_RETENTION_BYTES: "5000000" }, "facts", { retentionMs: 7 * dayMs, retentionBytes: null }],
    [
      { PUBLIC_TOPICS_RETENTION_BYTES: "7000000" },
      "transactions",
      { retentionMs: 90 * dayMs, retentionBytes: 7_000_000 },
    ],
    [
      { PUBLIC_TOPICS_RETENTION_BYTES: "7000000" },
      "movements",
      { retentionMs: 90 * dayMs, retentionBytes: 7_000_000 },
    ],
  ];
  for (const [settings, topic, kept] of asked) {
    it(`should be of ${topic}, with ${JSON.stringify(settings)}: ${JSON.stringify(kept)}`, () => {
      expect(topicOptions(readConfig(settings), 1)[topics[topic]]).to.include(kept);
    });
  }

  it("should be raw events that are not handled, beyond any size", async () => {
    const path = await mkdtemp(join(tmpdir(), "log-"));
    const options = topicOptions(readConfig({ RAW_RETENTION_BYTES: "500000" }), 1);
    const open = () => openLmdbLog({ path, topics: options, logger: testLogger });
    let log = open();
    const value = Buffer.alloc(10_000, 1);
    await log.append(
      topics.raw,
      Array.from({ length: 200 }, () => ({ key: "a", value })),
    );
    for (const [handled, left] of [
      [0n, 200],
      [20n, 180],
      [200n, 40],
    ] as const) {
      for (const group of [groups.normalize, groups.journal]) {
        await log.seek(topics.raw, group, new Map([[0, handled]]));
      }
      await log.close();
      // It looks what is too much as it starts, and has done so when the next write is done.
      log = open();
      await log.append(topics.facts, [{ key: "a", value }]);
      const [end = 0n] = await log.ends(topics.raw);
      const [earliest = 0n] = await log.earliest(topics.raw);
      expect(Number(end - earliest), `${handled} handled`).to.be.within(left - 5, left);
    }
    await log.close();
    await rm(path, { recursive: true });
  });

  it("should never be less than is booked: no bound of size for raw events on Kafka", () => {
    const settings = { RAW_RETENTION_BYTES: "5000000", KAFKA_BROKERS: "kafka:9092" };
    expect(() => readConfig(settings)).to.throw(ConfigError, /RAW_RETENTION_BYTES: .*embedded log/);
  });
});
