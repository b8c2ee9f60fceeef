/** The log on a Kafka of this run's own, through the port, beside kafkajs by itself. */
import { join } from "node:path";
import { openKafkaLog } from "../../stores/log/kafka/kafka-log.js";
import type { Log, TopicOptions } from "../../stores/log/log.js";
import { createLogger } from "../../runtime/logger.js";
import { type Topic, topics } from "../../schemas/records/records.js";
import { freePort, startKafka } from "../servers/kafka.js";
import { type Figure, median } from "./figures.js";
import { measureKafkajs } from "./kafka-floor.js";
import type { Options } from "./options.js";
import { withFolder } from "./processes.js";

const load = { records: 100_000, recordsPerAppend: 1_000, valueBytes: 500, singles: 300 };

export function kafka(_options: Options): Promise<Figure[]> {
  return withFolder(async (folder) => {
    const server = await startKafka({ folder: join(folder, "kafka"), port: await freePort() });
    try {
      const log = await openKafkaLog({
        settings: { brokers: [server.url], tls: null, sasl: null },
        topicPrefix: "bench.",
        replication: null,
        topics: onePartitionEach(),
        logger: createLogger("silent"),
      });
      const floor = await measureKafkajs(server.url, "bench.revenue.facts", load);
      const singleMs = await medianAppendMs(log);
      const produced = await appendRate(log);
      const consumed = await consumeRate(log);
      await log.close();
      return [
        { name: "Kafka, one durable append", value: singleMs, unit: "ms", floor: floor.singleMs },
        { name: "Kafka, records appended", value: produced, unit: "/s", floor: floor.produced },
        { name: "Kafka, records consumed", value: consumed, unit: "/s", floor: floor.consumed },
      ];
    } finally {
      await server.stop();
    }
  });
}

async function medianAppendMs(log: Log): Promise<number> {
  const value = Buffer.alloc(load.valueBytes, 1);
  const spent: number[] = [];
  for (let index = 0; index < load.singles; index += 1) {
    const startedAt = performance.now();
    await log.append(topics.rejected, [{ key: `key ${index}`, value }]);
    spent.push(performance.now() - startedAt);
  }
  return median(spent);
}

/** Several callers, as the endpoints and the consumers are. */
async function appendRate(log: Log): Promise<number> {
  const startedAt = performance.now();
  let left = load.records;
  const callers = Array.from({ length: 4 }, async () => {
    while (left > 0) {
      left -= load.recordsPerAppend;
      await log.append(topics.raw, recordsOf(load.recordsPerAppend));
    }
  });
  await Promise.all(callers);
  return rate(startedAt);
}

async function consumeRate(log: Log): Promise<number> {
  const startedAt = performance.now();
  let handled = 0;
  let end = (): void => {};
  const all = new Promise<void>((resolve) => (end = resolve));
  const consumer = log.consume({
    topic: topics.raw,
    group: "bench",
    batchRecordsMax: load.recordsPerAppend,
    async handle(records) {
      handled += records.length;
      if (handled >= load.records) end();
    },
  });
  await all;
  const consumed = rate(startedAt);
  await consumer.close();
  return consumed;
}

function rate(startedAt: number): number {
  return (load.records / (performance.now() - startedAt)) * 1_000;
}

function recordsOf(count: number): { key: string; value: Buffer }[] {
  const value = Buffer.alloc(load.valueBytes, 1);
  return Array.from({ length: count }, (_, index) => ({ key: `payment ${index}`, value }));
}

function onePartitionEach(): Record<Topic, TopicOptions> {
  const options = { partitions: 1, retentionMs: null, retentionBytes: null };
  return {
    [topics.raw]: options,
    [topics.incomplete]: options,
    [topics.facts]: options,
    [topics.rejected]: options,
    [topics.transactions]: options,
    [topics.movements]: options,
  };
}
