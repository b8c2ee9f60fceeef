/**
 * Bulk: raw events that come thousands at a time, in a large batch or from a provider's history.
 * They have a partition of their own, the last one of the raw topic, so that nobody's webhook waits
 * behind them.
 */
import type { Log } from "./log.js";
import { type Topic, topics } from "../../schemas/records/records.js";

const bulkPrefix = "bulk:";

export function bulkKey(key: string): string {
  return `${bulkPrefix}${key}`;
}

/** @param spread which of so many partitions a key belongs to */
export function partitionWithBulk(
  topic: Topic,
  key: string,
  partitions: number,
  spread: (key: string, partitions: number) => number,
): number {
  if (topic !== topics.raw || partitions === 1) return spread(key, partitions);
  const last = partitions - 1;
  return key.startsWith(bulkPrefix) ? last : spread(key, last);
}

/** Null where the topic has only one partition: bulk lies among all else. */
export function bulkPartition(log: Pick<Log, "partitionOf">): number | null {
  const bulk = log.partitionOf(topics.raw, bulkPrefix);
  return bulk === log.partitionOf(topics.raw, "") ? null : bulk;
}
