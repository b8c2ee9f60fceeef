/** What a replay of the log sends through again: on a log of its own, handled by these tests. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import type { Log } from "../../stores/log/log.js";
import { openLmdbLog } from "../../stores/log/lmdb/lmdb-log.js";
import { groups } from "../../stores/watermark/watermark.js";
import { replay } from "../../ops/replay.js";
import { rawEventCodec, topics } from "../../schemas/records/records.js";
import { metaOf } from "../harness/facts.js";
import { lmdbTopics } from "../log/log-topics.js";
import { testLogger } from "../harness/stores.js";

const hourMs = 3_600_000;
const now = Date.UTC(2026, 10, 21, 12);

describe("A replay of the log", () => {
  let folder: string;
  let log: Log;

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), "revenue-replay-"));
    log = openLmdbLog({
      path: folder,
      topics: lmdbTopics({ partitions: 1 }),
      logger: testLogger,
    });
    // Received 5, 4, 3, 2 and 1 hours ago.
    for (const hours of [5, 4, 3, 2, 1]) {
      const meta = metaOf({ event_id: `evt_${hours}`, received_at: now - hours * hourMs });
      const value = rawEventCodec.encode({ meta, sealed: Buffer.alloc(0) });
      await log.append(topics.raw, [{ key: meta.workspace, value }]);
    }
  });
  afterEach(async () => {
    await log.close();
    rmSync(folder, { recursive: true });
  });

  type Case = [title: string, handled: bigint, fromHoursAgo: number | null, first: bigint];
  const cases: Case[] = [
    ["all the log has", 5n, null, 0n],
    ["what was received since", 5n, 2.5, 3n],
    ["nothing when all was received before", 5n, -1, 5n],
    ["what was received before and never handled, too", 1n, 2.5, 1n],
    ["what waits when all was received before", 2n, -1, 2n],
    ["more than what waits", 4n, 3.5, 2n],
  ];
  for (const [title, handled, hoursAgo, first] of cases) {
    it(`should send ${title}`, async () => {
      const { normalize, journal } = groups;
      for (const group of [normalize, journal]) {
        await log.seek(topics.raw, group, new Map([[0, handled]]));
      }
      const reported: string[] = [];
      const given = new Map<string, bigint[]>();
      const follow = (group: string) =>
        log.consume({
          topic: topics.raw,
          group,
          batchRecordsMax: 2,
          handle: async (records) => {
            const before = given.get(group) ?? [];
            given.set(group, [...before, ...records.map(({ offset }) => offset)]);
          },
        });
      await replay({ log }, hoursAgo === null ? null : now - hoursAgo * hourMs, {
        startProcessors: async () => [normalize, journal].forEach(follow),
        report: (line) => reported.push(line),
      });
      const expected = [0n, 1n, 2n, 3n, 4n].filter((offset) => offset >= first);
      for (const group of [normalize, journal]) {
        expect(given.get(group) ?? [], group).to.deep.equal(expected);
      }
      expect(reported).to.deep.equal([`Partition 0: raw events ${first} to 5`, "Replayed."]);
    });
  }
});
