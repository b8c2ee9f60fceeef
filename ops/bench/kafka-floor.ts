/** kafkajs by itself on a topic that is there: an idempotent producer, a consumer of batches. */
import kafkajs, { type Kafka } from "kafkajs";
import { median } from "./figures.js";

export interface KafkaLoad {
  readonly records: number;
  readonly recordsPerAppend: number;
  readonly valueBytes: number;
  readonly singles: number;
}

export interface KafkaFloor {
  readonly singleMs: number;
  /** Records a second. */
  readonly produced: number;
  readonly consumed: number;
}

export async function measureKafkajs(
  broker: string,
  topic: string,
  load: KafkaLoad,
): Promise<KafkaFloor> {
  const kafka = new kafkajs.Kafka({ brokers: [broker], logLevel: kafkajs.logLevel.NOTHING });
  const createPartitioner = kafkajs.Partitioners.DefaultPartitioner;
  const producer = kafka.producer({ idempotent: true, createPartitioner });
  await producer.connect();
  const value = Buffer.alloc(load.valueBytes, 1);
  const spent: number[] = [];
  for (let index = 0; index < load.singles; index += 1) {
    const startedAt = performance.now();
    await producer.send({ topic, messages: [{ key: `key ${index}`, value }] });
    spent.push(performance.now() - startedAt);
  }
  const messages = Array.from({ length: load.recordsPerAppend }, (_, index) => ({
    key: `payment ${index}`,
    value,
  }));
  const startedAt = performance.now();
  for (let sent = 0; sent < load.records; sent += messages.length) {
    await producer.send({ topic, messages });
  }
  const produced = (load.records / (performance.now() - startedAt)) * 1_000;
  await producer.disconnect();
  return { singleMs: median(spent), produced, consumed: await consumeRate(kafka, topic, load) };
}

async function consumeRate(kafka: Kafka, topic: string, load: KafkaLoad): Promise<number> {
  const consumer = kafka.consumer({ groupId: "floor", maxWaitTimeInMs: 500 });
  await consumer.connect();
  await consumer.subscribe({ topic, fromBeginning: true });
  const startedAt = performance.now();
  let handled = 0;
  await new Promise<void>((resolve, reject) => {
    const run = consumer.run({
      async eachBatch({ batch }) {
        handled += batch.messages.length;
        if (handled >= load.records) resolve();
      },
    });
    run.catch(reject);
  });
  const consumed = (load.records / (performance.now() - startedAt)) * 1_000;
  await consumer.disconnect();
  return consumed;
}
