/**
 * Run by the tests of the log as a process of its own: appends to `revenue.raw` until it is killed
 * or cannot go on, and reports `partition offset value` when a record is durable.
 */
import { createLogger } from "../../runtime/logger.js";
import { openKafkaLog } from "../../stores/log/kafka/kafka-log.js";
import { openLmdbLog } from "../../stores/log/lmdb/lmdb-log.js";
import type { Log } from "../../stores/log/log.js";
import { topics } from "../../schemas/records/records.js";
import { lmdbTopics } from "./log-topics.js";

const [first = "", brokers = "", topicPrefix = ""] = process.argv.slice(2);
const log = first === "kafka" ? await openKafka() : openLmdb(first);

function openLmdb(path: string): Log {
  return openLmdbLog({ path, topics: lmdbTopics(), logger: createLogger("silent") });
}

function openKafka(): Promise<Log> {
  return openKafkaLog({
    settings: { brokers: [brokers], tls: null, sasl: null },
    topicPrefix,
    replication: null,
    topics: lmdbTopics(),
    logger: createLogger("silent"),
  });
}

async function appendWithoutEnd(writer: number): Promise<void> {
  for (let round = 0; ; round += 1) {
    const value = `${writer}/${round}/${"x".repeat(500)}`;
    const [place] = await log.append(topics.raw, [
      { key: `key ${writer}`, value: Buffer.from(value) },
    ]);
    process.stdout.write(`${place?.partition} ${place?.offset} ${value}\n`);
  }
}

try {
  await Promise.all([1, 2, 3, 4, 5, 6, 7, 8].map(appendWithoutEnd));
} catch (error) {
  process.stdout.write(`failed: ${error instanceof Error ? error.name : "?"}\n`);
  await log.close();
}
