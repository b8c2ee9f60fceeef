/**
 * Removes the oldest records once a topic's time or size is reached, a bounded number in each run.
 * What a group has yet to handle stays, because a machine may have been off for weeks.
 */
import { type Partition, pageBytes, type Writer } from "./partition.js";
import type { Subscription, TopicOptions } from "../log.js";
import type { Logger } from "../../../runtime/logger.js";

const runEveryMs = 60 * 60 * 1000;
/** The pause after a run that met its bound. */
const goOnAfterMs = 5_000;
const recordsPerCommit = 1_000;
const commitsPerRunMax = 50;

export interface Retained {
  readonly options: TopicOptions;
  readonly partitions: readonly Partition[];
  /** All groups have handled what lies before it. */
  handledBelow(partition: Partition): number;
}

/** Runs at once and then every hour, until closed. */
export function startRetention(
  topics: readonly Retained[],
  writer: Writer,
  logger: Logger,
): Subscription {
  let closed = false;
  let timer: NodeJS.Timeout | undefined;
  let running = run();

  async function run(): Promise<void> {
    let bounded = false;
    try {
      for (const retained of topics) {
        for (const partition of retained.partitions) {
          bounded = (await trim(partition, retained, writer, () => closed)) || bounded;
        }
      }
    } catch (error) {
      logger.error({ err: error }, "old records could not be removed; retried later");
    }
    if (closed) return;
    const again = (): void => {
      running = run();
    };
    timer = setTimeout(again, bounded ? goOnAfterMs : runEveryMs);
    timer.unref();
  }

  return {
    async close() {
      closed = true;
      clearTimeout(timer);
      await running;
    },
  };
}

/** @returns true when there was more to do than one run may */
async function trim(
  partition: Partition,
  retained: Retained,
  writer: Writer,
  isClosed: () => boolean,
): Promise<boolean> {
  const { options } = retained;
  if (options.retentionMs === null && options.retentionBytes === null) return false;
  for (let commits = 0; commits < commitsPerRunMax; commits += 1) {
    if (isClosed()) return false;
    const expired = expiredOf(partition, options, retained.handledBelow(partition));
    if (expired.length === 0) return false;
    await writer.remove(partition, expired);
  }
  return true;
}

/** The newest record always stays: it says where the partition ends. */
function expiredOf(partition: Partition, options: TopicOptions, handledBelow: number): number[] {
  const before = options.retentionMs === null ? 0 : Date.now() - options.retentionMs;
  let excess =
    options.retentionBytes === null
      ? 0
      : storedBytes(partition) - options.retentionBytes / options.partitions;
  const expired: number[] = [];
  for (const record of partition.oldest(recordsPerCommit)) {
    if (record.offset >= handledBelow) break;
    if (record.appendedAt >= before && excess <= 0) break;
    expired.push(record.offset);
    excess -= storedSize(record.bytes);
  }
  return expired;
}

/** Above this LMDB gives a value pages of its own. */
const inlineBytesMax = pageBytes / 2;

function storedSize(bytes: number): number {
  return bytes <= inlineBytesMax ? bytes : Math.ceil(bytes / pageBytes) * pageBytes;
}

/** By LMDB's own count of the partition's pages. */
function storedBytes(partition: Partition): number {
  const stats: Readonly<Record<string, unknown>> = { ...partition.store.getStats() };
  const count = (name: string): number => {
    const value = stats[name];
    return typeof value === "number" ? value : 0;
  };
  const pages = count("treeBranchPageCount") + count("treeLeafPageCount") + count("overflowPages");
  return pages * pageBytes;
}
