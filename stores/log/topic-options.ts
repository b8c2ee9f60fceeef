/** How each topic is divided, and how long and how large it may be, by the settings. */
import type { Config } from "../../config.js";
import { type Topic, topics } from "../../schemas/records/records.js";
import type { TopicOptions } from "./log.js";
import { groupsByTopic } from "../watermark/watermark.js";

const dayMs = 24 * 60 * 60 * 1000;
const rejectedRetentionDays = 365;

/** A batch costs the engine much the same whatever its size, so there is one partition of each. */
const embeddedPartitions = 1;

/** Raw events have one more, for bulk; both together are bounded in size. */
export function embeddedTopicOptions(config: Config): Record<Topic, TopicOptions> {
  const options = topicOptions(config, embeddedPartitions);
  const { [topics.raw]: raw } = options;
  const partitions = embeddedPartitions + 1;
  const bytes = raw.retentionBytes;
  const retentionBytes = bytes === null ? null : Math.floor(bytes / partitions);
  return { ...options, [topics.raw]: { ...raw, partitions, retentionBytes } };
}

export function topicOptions(config: Config, partitions: number): Record<Topic, TopicOptions> {
  const kept = (topic: Topic, days: number | undefined, bytes?: number): TopicOptions => ({
    partitions,
    retentionMs: days === undefined ? null : days * dayMs,
    retentionBytes: bytes ?? null,
    groups: groupsByTopic.flatMap(([of, group]) => (of === topic ? [group] : [])),
  });
  const publicDays = config.PUBLIC_TOPICS_RETENTION_DAYS;
  const publicBytes = config.PUBLIC_TOPICS_RETENTION_BYTES;
  return {
    [topics.raw]: kept(topics.raw, config.RAW_RETENTION_DAYS, config.RAW_RETENTION_BYTES),
    [topics.incomplete]: kept(topics.incomplete, config.FACTS_RETENTION_DAYS),
    [topics.facts]: kept(topics.facts, config.FACTS_RETENTION_DAYS),
    [topics.rejected]: kept(topics.rejected, rejectedRetentionDays),
    [topics.transactions]: kept(topics.transactions, publicDays, publicBytes),
    [topics.movements]: kept(topics.movements, publicDays, publicBytes),
  };
}
