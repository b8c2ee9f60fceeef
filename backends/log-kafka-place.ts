/** Putting records where another log had them, for a restore. */
import type { KafkaAppender } from "./log-kafka-appender.js";
import { type KafkaSettings, asAdmin } from "./log-kafka-connection.js";
import type { NamedTopic } from "./log-kafka-fetch.js";
import type { NewRecord } from "./log.js";
import type { Logger } from "./logger.js";

/** Empty records appended at a time to get an offset that retention had passed. */
const fillRecords = 10_000;

interface Target {
  readonly settings: KafkaSettings;
  readonly named: NamedTopic;
  readonly appender: KafkaAppender;
  readonly logger: Logger;
}

/**
 * Kafka gives offsets in order only. Those that are to be left out get empty records, which are
 * deleted at once: none of them is ever given to a reader once this resolves.
 */
export async function placeRecords(
  { settings, named, appender, logger }: Target,
  place: {
    readonly partition: number;
    /** Where the partition ends now. */
    readonly end: bigint;
    readonly offset: bigint;
    readonly records: readonly NewRecord[];
  },
): Promise<void> {
  const { partition, end, offset, records } = place;
  if (end > offset) {
    throw new Error(`${named.name}, ${partition} ends at ${end} and cannot take ${offset}`);
  }
  for (let next = end; next < offset; next += BigInt(fillRecords)) {
    const left = offset - next;
    const count = left < fillRecords ? Number(left) : fillRecords;
    const empty = { partition, key: "", value: Buffer.alloc(0) };
    await appender.append(Array.from({ length: count }, () => empty));
  }
  if (end < offset) {
    await asAdmin(settings, logger, async (admin) => {
      // The admin has to know the topic before it can find its leaders.
      await admin.fetchTopicOffsets(named.name);
      const partitions = [{ partition, offset: offset.toString() }];
      await admin.deleteTopicRecords({ topic: named.name, partitions });
    });
  }
  if (records.length === 0) return;
  const [first] = await appender.append(records.map((one) => ({ ...one, partition })));
  if (first?.offset !== offset) {
    throw new Error(`something else appended to ${named.name} during a restore`);
  }
}
