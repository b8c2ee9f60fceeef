/** Tails of the embedded log. Woken by each commit, never polling. */
import type { Partition } from "./partition.js";
import { type Arrivals, follow, handOver } from "../partition-consumer.js";
import type { LogRecord, Subscription } from "../log.js";
import type { Logger } from "../../runtime/logger.js";

const tailRecordsMax = 256;

/** @param next by partition, the first offset wanted */
export function tailPartitions(
  partitions: readonly Partition[],
  next: number[],
  arrivals: Arrivals,
  handle: (record: LogRecord) => void | Promise<void>,
  logger: Logger,
): Subscription {
  return follow(async (stop) => {
    while (!stop.aborted) {
      let gave = false;
      for (const [index, partition] of partitions.entries()) {
        for (const record of partition.read(next[index] ?? partition.end, tailRecordsMax)) {
          if (stop.aborted) return;
          await handOver(handle, record, logger);
          next[index] = Number(record.offset) + 1;
          gave = true;
        }
      }
      if (!gave) await arrivals.next(stop);
    }
  });
}
