/** Putting records where another log had them, for a restore. */
import type { KafkaAppender } from "./appender.js";
import { type KafkaSettings, asAdmin } from "./connection.js";
import type { NamedTopic } from "./fetch.js";
import type { NewRecord } from "../log.js";
import type { Logger } from "../../runtime/logger.js";

/** Empty records appended at a time to get an offset that retention had passed. */
const fillRecords = 10_000;

/** A partition, and where it lies now. */
export interface Target {
  readonly settings: KafkaSettings;
  readonly named: NamedTopic;
  readonly appender: KafkaAppender;
  readonly logger: Logger;
  readonly partition: number;
  readonly earliest: bigint;
  readonly end: bigint;
}

/**
 * Kafka gives offsets in order only. Those that are to be left out get empty records, which are
 * deleted: none of them is ever given to a reader once this resolves, also when an earlier try was
 * killed before it deleted them.
 */
export async function beginPartition(target: Target, offset: bigint): Promise<void> {
  const { settings, named, appender, logger, partition, earliest, end } = target;
  for (let next = end; next < offset; next += BigInt(fillRecords)) {
    const left = offset - next;
    const count = left < fillRecords ? Number(left) : fillRecords;
    const empty = { partition, key: "", value: Buffer.alloc(0) };
    await appender.append(Array.from({ length: count }, () => empty));
  }
  if (earliest >= offset) return;
  await asAdmin(settings, logger, async (admin) => {
    // The admin has to know the topic before it can find its leaders.
    await admin.fetchTopicOffsets(named.name);
    const partitions = [{ partition, offset: offset.toString() }];
    await admin.deleteTopicRecords({ topic: named.name, partitions });
  });
}

export async function placeRecords(
  { named, appender, partition, end }: Target,
  offset: bigint,
  records: readonly NewRecord[],
): Promise<void> {
  if (end !== offset) {
    throw new Error(`${named.name}, ${partition} ends at ${end} and cannot take ${offset}`);
  }
  if (records.length === 0) return;
  const [first] = await appender.append(records.map((one) => ({ ...one, partition })));
  if (first?.offset !== offset) {
    throw new Error(`something else appended to ${named.name} during a restore`);
  }
}
