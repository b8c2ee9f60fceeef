/**
 * Sends raw events through normalizing and booking once more, as they were received: what is booked
 * already stays as it is, what is missing (all of it, in empty tables) is booked as of its own
 * receipt. Interrupted, the next start of the service goes on with it.
 */
import { setTimeout as pause } from "node:timers/promises";
import { clickhouseTime } from "../stores/clickhouse/rows.js";
import { replayAll } from "../workspaces/rejects/replay.js";
import type { Service } from "../service.js";
import { groups, passages } from "../stores/watermark/watermark.js";
import { rawEventCodec, topics } from "../schemas/records/records.js";

type Logged = Pick<Service, "log">;

export interface ReplaySteps {
  readonly startProcessors: () => Promise<void>;
  readonly report: (line: string) => void;
}

const reportEveryMs = 5_000;
const lookEveryMs = 100;
/** Receipts lie on the log in their order but for calls that were taken at once. */
const disorderMsMax = 60_000;

/**
 * @param from ms since 1970, by receipt; null: all the log has. What nobody has handled yet comes
 *   with it, whenever it was received: groups are set back, never ahead.
 */
export async function replay(
  service: Logged,
  from: number | null,
  { startProcessors, report }: ReplaySteps,
): Promise<void> {
  const { log } = service;
  const ends = await log.ends(topics.raw);
  const wanted = await firstWanted(service, from, ends);
  let firsts: readonly bigint[] = wanted;
  for (const group of [groups.normalize, groups.journal]) {
    const starts = lowest(wanted, await log.committed(topics.raw, group));
    await log.seek(topics.raw, group, new Map(starts.entries()));
    firsts = lowest(firsts, starts);
  }
  for (const [partition, first] of firsts.entries()) {
    report(`Partition ${partition}: raw events ${first} to ${ends[partition] ?? first}`);
  }
  await startProcessors();
  await untilBooked(service, report);
  report("Replayed.");
}

/**
 * Sends the open rejects of events received since `from` through once more. What is rejected again
 * stays in the list; it is recorded now, unlike the replay of the log (definitions.md, Two clocks).
 * @param from ms since 1970, by receipt; null: all that are open
 */
export async function replayRejected(
  service: Service,
  from: number | null,
  { startProcessors, report }: ReplaySteps,
): Promise<void> {
  await startProcessors();
  // What was under way may be rejected, too.
  await untilBooked(service, report);
  const since = from === null ? undefined : clickhouseTime(from);
  let [replayed, missing] = [0, 0];
  for (const workspace of await workspacesWithRejects(service)) {
    const some = await replayAll(service, { workspace, since });
    replayed += some.replayed;
    missing += some.missing;
  }
  await untilBooked(service, report);
  report(`${replayed} rejected events were sent through again.`);
  if (missing > 0) {
    report(`${missing} were not: their raw events are older than the log, or not as sealed.`);
  }
}

function workspacesWithRejects({ clickhouse }: Service): Promise<string[]> {
  const sql =
    "SELECT DISTINCT workspace FROM rejects FINAL WHERE state = 'open' ORDER BY workspace";
  return clickhouse
    .rows<{ workspace: string }>(sql)
    .then((rows) => rows.map(({ workspace }) => workspace));
}

async function untilBooked(service: Logged, report: (line: string) => void): Promise<void> {
  let reportedAt = Date.now();
  for (;;) {
    const left = await recordsLeft(service);
    if (left === 0n) break;
    if (Date.now() - reportedAt >= reportEveryMs) {
      report(`${left} records to go`);
      reportedAt = Date.now();
    }
    await pause(lookEveryMs);
  }
}

/** By partition: where the records begin that were received since `from`. */
async function firstWanted(
  service: Logged,
  from: number | null,
  ends: readonly bigint[],
): Promise<bigint[]> {
  const firsts = await service.log.earliest(topics.raw);
  if (from === null) return firsts;
  for (const [partition, earliest] of firsts.entries()) {
    const end = ends[partition] ?? earliest;
    firsts[partition] = await firstSince(service, partition, earliest, end, from);
  }
  return firsts;
}

function lowest(some: readonly bigint[], others: readonly bigint[]): bigint[] {
  return some.map((one, index) => {
    const other = others[index] ?? one;
    return other < one ? other : one;
  });
}

/** The first record received at `from` or later, or a few before it. */
async function firstSince(
  { log }: Logged,
  partition: number,
  earliest: bigint,
  end: bigint,
  from: number,
): Promise<bigint> {
  let [low, high] = [earliest, end];
  while (low < high) {
    const middle = (low + high) / 2n;
    const [record] = await log.read(topics.raw, partition, middle, 1);
    if (record === undefined) return low;
    const { received_at: receivedAt } = rawEventCodec.decode(record.value).meta;
    if (receivedAt >= from - disorderMsMax) high = middle;
    else low = middle + 1n;
  }
  return low;
}

/** Of all groups, in the order an event travels: what one publishes is counted by the next. */
async function recordsLeft({ log }: Logged): Promise<bigint> {
  let left = 0n;
  for (const [topic, group] of passages) {
    const committed = await log.committed(topic, group);
    const ends = await log.ends(topic);
    left += ends.reduce((sum, end, index) => sum + end - (committed[index] ?? 0n), 0n);
  }
  return left;
}
