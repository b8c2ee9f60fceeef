/**
 * The log on Apache Kafka. Other processes append to the same topics and are members of the same
 * groups. The consumer group of a topic is `<topic>.<group>`.
 */
import kafkajs from "kafkajs";
import { compressFrameSync, decompressFrameSync } from "lz4-napi";
import { limits } from "../../../config.js";
import type { Topic } from "../../../schemas/records/records.js";
import { KafkaAppender, Pending } from "./appender.js";
import { asAdmin } from "./connection.js";
import { KafkaGroup } from "./consume.js";
import type { Bound, NamedTopic } from "./fetch.js";
import type { GroupPlace } from "./group.js";
import { partitionWithBulk, refuseTooLarge, type Log, type NewRecord } from "../log.js";
import { groupIdOf } from "./permissions.js";
import { KafkaReader } from "./reader.js";
import { type KafkaTail, tailTopic } from "./tail.js";
import { type WantedTopics, openTopics, widenTopic } from "./topics.js";
import { Subscriptions } from "../subscriptions.js";

interface TopicLog {
  readonly named: NamedTopic;
  partitions: number;
  readonly appender: KafkaAppender;
  /** Tails that do not know yet where the topic ends. */
  readonly placing: Set<KafkaTail>;
}

/** Empty records appended at a time to reach an offset that retention had passed. */
const fillRecords = 10_000;

/** @throws ConfigError with a sentence for a person when it cannot be used */
export async function openKafkaLog(given: WantedTopics): Promise<Log> {
  const { settings, topicPrefix, logger } = given;
  registerLz4();
  const pending = new Pending(limits.logPendingBytesMax);
  const reader = new KafkaReader(settings, logger);
  const logs = new Map<Topic, TopicLog>();
  for (const [topic, partitions] of await openTopics(given)) {
    const named = { topic, name: topicPrefix + topic };
    const appender = new KafkaAppender(settings, named.name, pending, logger);
    logs.set(topic, { named, partitions, appender, placing: new Set() });
  }
  const members = new Map<KafkaGroup, string>();
  const subscriptions = new Subscriptions();

  function topicLog(topic: Topic): TopicLog {
    const log = logs.get(topic);
    if (log === undefined) throw new Error(`there is no topic ${topic}`);
    return log;
  }

  function groupId(topic: Topic, group: string): string {
    return groupIdOf(topicLog(topic).named.name, group);
  }

  function places(topic: Topic, group: string): Promise<GroupPlace[]> {
    const log = topicLog(topic);
    return reader.places(log.named, groupId(topic, group), log.partitions);
  }

  async function bounds(topic: Topic, bound: Bound): Promise<bigint[]> {
    const { named, partitions } = topicLog(topic);
    return reader.bounds(named, partitions, bound);
  }

  async function boundsOf(topic: Topic, partition: number): Promise<Record<Bound, bigint>> {
    const earliest = (await bounds(topic, "earliest"))[partition];
    const end = (await bounds(topic, "end"))[partition];
    if (earliest === undefined || end === undefined) {
      throw new Error(`${topic} has no partition ${partition}`);
    }
    return { earliest, end };
  }

  return {
    shared: true,

    async append(topic: Topic, records: readonly NewRecord[]) {
      if (records.length === 0) return [];
      refuseTooLarge(records);
      const log = topicLog(topic);
      // A tail of this process delivers what is appended after it was requested.
      await Promise.all([...log.placing].map(({ placed }) => placed));
      return log.appender.append(
        records.map(({ key, value }) => ({
          key,
          value,
          partition: partitionWithBulk(topic, key, log.partitions, partitionOf),
        })),
      );
    },

    async checkAppends(topic) {
      topicLog(topic).appender.check();
    },

    consume(options) {
      const { named } = topicLog(options.topic);
      const id = groupId(options.topic, options.group);
      const ask = (count: number): Promise<GroupPlace[]> => reader.places(named, id, count);
      const group = new KafkaGroup(settings, named, id, options, ask, logger);
      members.set(group, id);
      return subscriptions.add([group], () => members.delete(group));
    },

    tail(topic, handle, from = new Map()) {
      const log = topicLog(topic);
      const ends = (): Promise<bigint[]> => bounds(topic, "end");
      const tail = tailTopic(settings, log.named, handle, from, ends, logger);
      log.placing.add(tail);
      void tail.placed.then(() => log.placing.delete(tail));
      return subscriptions.add([tail]);
    },

    read: (topic, partition, offset, recordsMax) =>
      partition < topicLog(topic).partitions
        ? reader.read(topicLog(topic).named, partition, offset, recordsMax)
        : Promise.resolve([]),

    partitionOf: (topic, key) =>
      partitionWithBulk(topic, key, topicLog(topic).partitions, partitionOf),

    ends: (topic) => bounds(topic, "end"),

    earliest: (topic) => bounds(topic, "earliest"),

    async committed(topic, group) {
      return (await places(topic, group)).map(({ offset }) => offset);
    },

    async handled(topic, group) {
      const id = groupId(topic, group);
      const here = [...members].flatMap(([member, of]) => (of === id ? [member.handled()] : []));
      const announced = await places(topic, group);
      return announced.map(({ handled }, partition) =>
        here.reduce((most, own) => {
          const place = own.get(partition) ?? 0n;
          return place > most ? place : most;
        }, handled),
      );
    },

    seek: (topic, group, offsets) =>
      reader.seek(topicLog(topic).named, groupId(topic, group), offsets),

    async widen(topic, count) {
      const log = topicLog(topic);
      if (count <= log.partitions) return;
      await widenTopic(settings, log.named.name, count, logger);
      await log.appender.renew();
      log.partitions = count;
    },

    // Kafka gives offsets in order only. Those to be left out get empty records, which are then
    // deleted. Once this resolves no reader ever gets one, even if an earlier try was killed before
    // it deleted them.
    async begin(topic, partition, offset) {
      const { named, appender } = topicLog(topic);
      const { earliest, end } = await boundsOf(topic, partition);
      for (let next = end; next < offset; next += BigInt(fillRecords)) {
        const left = offset - next;
        const length = left < fillRecords ? Number(left) : fillRecords;
        const empty = { partition, key: "", value: Buffer.alloc(0) };
        await appender.append(Array.from({ length }, () => empty));
      }
      if (earliest >= offset) return;
      await asAdmin(settings, logger, async (admin) => {
        // The admin has to know the topic before it can find its leaders.
        await admin.fetchTopicOffsets(named.name);
        const partitions = [{ partition, offset: offset.toString() }];
        await admin.deleteTopicRecords({ topic: named.name, partitions });
      });
    },

    async place(topic, partition, offset, records) {
      const { named, appender } = topicLog(topic);
      const { end } = await boundsOf(topic, partition);
      if (end !== offset) {
        throw new Error(`${named.name}, ${partition} ends at ${end} and cannot take ${offset}`);
      }
      if (records.length === 0) return;
      const [first] = await appender.append(records.map((one) => ({ ...one, partition })));
      if (first?.offset !== offset) {
        throw new Error(`something else appended to ${named.name} during a restore`);
      }
    },

    async close() {
      await subscriptions.close();
      await Promise.all([...logs.values()].map(({ appender }) => appender.close()));
      reader.close();
    },
  };
}

/**
 * LZ4 for kafkajs, which brings only gzip: frames as the Java client writes and reads them.
 * Synchronous, because a batch of few records takes 4 µs, and 90 by way of libuv's threads.
 */
function registerLz4(): void {
  kafkajs.CompressionCodecs[kafkajs.CompressionTypes.LZ4] = () => ({
    compress: async ({ buffer }: { readonly buffer: Buffer }) => compressFrameSync(buffer),
    decompress: async (buffer: Buffer) => decompressFrameSync(buffer),
  });
}

/**
 * Which partition a key is in: murmur2 of its bytes, as in Kafka's Java client, so that other
 * producers and data teams find keys where they expect them. Never to change: a key keeps its
 * partition. kafkajs computes the same in BigInt.
 */
const seed = 0x9747b28c;
const factor = 0x5bd1e995;
const shift = 24;

export function partitionOf(key: string, partitions: number): number {
  return (murmur2(Buffer.from(key, "utf8")) & 0x7fffffff) % partitions;
}

function murmur2(bytes: Buffer): number {
  let hash = seed ^ bytes.length;
  const wholeBytes = bytes.length & ~3;
  for (let index = 0; index < wholeBytes; index += 4) {
    let word = Math.imul(bytes.readInt32LE(index), factor);
    word = Math.imul(word ^ (word >>> shift), factor);
    hash = Math.imul(hash, factor) ^ word;
  }
  const left = bytes.length - wholeBytes;
  if (left > 0) {
    for (let index = left - 1; index >= 0; index -= 1) {
      hash ^= (bytes[wholeBytes + index] ?? 0) << (8 * index);
    }
    hash = Math.imul(hash, factor);
  }
  hash = Math.imul(hash ^ (hash >>> 13), factor);
  return hash ^ (hash >>> 15);
}
