/** What lies on the topics in the end, and how far the consumers are. */
import { setTimeout as pause } from "node:timers/promises";
import type { Log, LogRecord } from "../../stores/log/log.js";
import { passages } from "../../stores/watermark/watermark.js";
import { rawEventCodec, type Topic, topics } from "../../schemas/records/records.js";

const readRecordsMax = 1_000;

/**
 * By event id, ms since 1970: the receipt that comes first on the topic, which counts though
 * another endpoint may have stamped an earlier one.
 */
export async function receiptsOf(log: Log): Promise<Map<string, number>> {
  const receipts = new Map<string, number>();
  for await (const { value } of recordsOf(log, topics.raw)) {
    const { event_id: id, received_at: receivedAt } = rawEventCodec.decode(value).meta;
    if (!receipts.has(id)) receipts.set(id, receivedAt);
  }
  return receipts;
}

/** Partition by partition, each in its order. */
export async function* recordsOf(log: Log, topic: Topic): AsyncGenerator<LogRecord> {
  const [begins, ends] = await Promise.all([log.earliest(topic), log.ends(topic)]);
  for (const [partition, end] of ends.entries()) {
    let offset = begins[partition] ?? 0n;
    while (offset < end) {
      const records = await log.read(topic, partition, offset, readRecordsMax);
      for (const record of records) yield record;
      const last = records.at(-1);
      if (last === undefined) throw new Error(`${topic}/${partition}: nothing at ${offset}`);
      offset = last.offset + 1n;
    }
  }
}

/** The journal, too, which no figure waits for. @throws when a group does not come to its end */
export async function whenNothingIsLeft(log: Log, msMax: number): Promise<void> {
  const startedAt = Date.now();
  for (const [topic, group] of passages) {
    for (;;) {
      const [ends, committed] = await Promise.all([log.ends(topic), log.committed(topic, group)]);
      if (ends.every((end, partition) => (committed[partition] ?? 0n) >= end)) break;
      if (Date.now() - startedAt > msMax) throw new Error(`${group} did not come to its end`);
      await pause(500);
    }
  }
}
