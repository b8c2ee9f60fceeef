/**
 * The log on Apache Kafka. Other processes append to the same topics and are members of the same
 * groups. A group of a topic is the consumer group `<topic>.<group>`.
 */
import { limits } from "../../config.js";
import { type Topic, topics } from "../../schemas/records/records.js";
import { KafkaAppender, Pending } from "./appender.js";
import type { KafkaSettings } from "./connection.js";
import { type KafkaGroup, consumeGroup } from "./consume.js";
import type { NamedTopic } from "./fetch.js";
import { registerLz4 } from "./lz4.js";
import { partitionOf } from "./partitioner.js";
import { type Target, beginPartition, placeRecords } from "./restore-records.js";
import { KafkaReader } from "./reader.js";
import type { KafkaUse } from "./permissions.js";
import { type KafkaTail, tailTopic } from "./tail.js";
import { openTopics, widenTopic } from "./topics.js";
import { refuseTooLarge } from "../record-size.js";
import type { Log, LogUse, NewRecord, Subscription, TopicOptions } from "../log.js";
import type { Logger } from "../../runtime/logger.js";

export interface KafkaLogOptions {
  readonly settings: KafkaSettings;
  /** Before the names of topics and groups, for several installations on one cluster. */
  readonly topicPrefix: string;
  /** Copies of each partition of a topic that is made; null: what the brokers are set to. */
  readonly replication: number | null;
  readonly topics: Readonly<Record<Topic, TopicOptions>>;
  /** Topics that are there keep their partitions, as many as they are. */
  readonly keepsPartitions?: boolean;
  /** What its user needs the rights for; left out: nobody looks whether it has them. */
  readonly use?: LogUse | undefined;
  readonly logger: Logger;
  /** Bytes that may wait to be durable; more are refused. */
  readonly pendingBytesMax?: number;
  /** How long brokers that do not answer are waited for; `startPatienceMsMax` when left out. */
  readonly startMsMax?: number;
  /** Ends that waiting. */
  readonly stopping?: AbortSignal | undefined;
}

interface TopicLog {
  readonly named: NamedTopic;
  partitions: number;
  readonly appender: KafkaAppender;
  /** Tails that do not know yet where the topic ends. */
  readonly placing: Set<KafkaTail>;
}

/** @throws ConfigError with a sentence for a person when it cannot be used */
export async function openKafkaLog(given: KafkaLogOptions): Promise<Log> {
  const { settings, topicPrefix, logger, keepsPartitions = false } = given;
  registerLz4();
  const names = Object.values(topics);
  const wanted = {
    topics: names.map((topic) => ({
      ...given.topics[topic],
      name: topicPrefix + topic,
      keepsPartitions,
    })),
    replication: given.replication,
    use: given.use ? kafkaUse(given.use, given) : null,
    startMsMax: given.startMsMax,
    stopping: given.stopping,
  };
  const partitions = await openTopics(settings, wanted, logger);
  const pending = new Pending(given.pendingBytesMax ?? limits.logPendingBytesMax);
  const reader = new KafkaReader(settings, logger);
  const logs = new Map<string, TopicLog>();
  for (const [index, topic] of names.entries()) {
    logs.set(topic, {
      named: { topic, name: topicPrefix + topic },
      partitions: partitions[index] ?? 0,
      appender: new KafkaAppender(settings, topicPrefix + topic, pending, logger),
      placing: new Set(),
    });
  }
  /** Members of this process, with their group. */
  const members = new Map<KafkaGroup, string>();
  const subscriptions = new Set<Subscription>();

  function topicLog(topic: Topic): TopicLog {
    const log = logs.get(topic);
    if (log === undefined) throw new Error(`there is no topic ${topic}`);
    return log;
  }

  function groupId(topic: Topic, group: string): string {
    return groupIdOf(topicLog(topic).named.name, group);
  }

  function subscribe(part: Subscription, ended: () => void): Subscription {
    let closing: Promise<void> | null = null;
    const subscription: Subscription = {
      close() {
        closing ??= part.close().finally(() => {
          subscriptions.delete(subscription);
          ended();
        });
        return closing;
      },
    };
    subscriptions.add(subscription);
    return subscription;
  }

  function committed(topic: Topic, group: string): Promise<bigint[]> {
    const log = topicLog(topic);
    return reader.committed(log.named, groupId(topic, group), log.partitions);
  }

  async function target(topic: Topic, partition: number): Promise<Target> {
    const { named, partitions: count, appender } = topicLog(topic);
    const earliest = (await reader.earliest(named, count))[partition];
    const end = (await reader.ends(named, count))[partition];
    if (earliest === undefined || end === undefined) {
      throw new Error(`${topic} has no partition ${partition}`);
    }
    return { settings, named, appender, logger, partition, earliest, end };
  }

  return {
    shared: true,

    async append(topic: Topic, records: readonly NewRecord[]) {
      if (records.length === 0) return [];
      refuseTooLarge(records);
      const log = topicLog(topic);
      // A tail of this process gives what is appended after it was asked for.
      await Promise.all([...log.placing].map(({ placed }) => placed));
      return log.appender.append(
        records.map(({ key, value }) => ({
          key,
          value,
          partition: partitionOf(key, log.partitions),
        })),
      );
    },

    consume(options) {
      const { named } = topicLog(options.topic);
      const id = groupId(options.topic, options.group);
      const ask = (count: number): Promise<bigint[]> => reader.committed(named, id, count);
      const group = consumeGroup(settings, named, id, options, ask, logger);
      members.set(group, id);
      return subscribe(group, () => members.delete(group));
    },

    tail(topic, handle, from = new Map()) {
      const log = topicLog(topic);
      const ends = (): Promise<bigint[]> => reader.ends(log.named, log.partitions);
      const tail = tailTopic(settings, log.named, handle, from, ends, logger);
      log.placing.add(tail);
      void tail.placed.then(() => log.placing.delete(tail));
      return subscribe(tail, () => {});
    },

    read: (topic, partition, offset, recordsMax) =>
      partition < topicLog(topic).partitions
        ? reader.read(topicLog(topic).named, partition, offset, recordsMax)
        : Promise.resolve([]),

    ends: (topic) => reader.ends(topicLog(topic).named, topicLog(topic).partitions),

    earliest: (topic) => reader.earliest(topicLog(topic).named, topicLog(topic).partitions),

    committed,

    async handled(topic, group) {
      const id = groupId(topic, group);
      const own = [...members].filter(([, of]) => of === id);
      const here = own.map(([member]) => member.handled());
      const elsewhere = await committed(topic, group);
      return elsewhere.map((offset, partition) =>
        here.reduce((most, places) => {
          const place = places.get(partition) ?? 0n;
          return place > most ? place : most;
        }, offset),
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

    async begin(topic, partition, offset) {
      await beginPartition(await target(topic, partition), offset);
    },

    async place(topic, partition, offset, records) {
      await placeRecords(await target(topic, partition), offset, records);
    },

    async close() {
      await Promise.all([...subscriptions].map((subscription) => subscription.close()));
      await Promise.all([...logs.values()].map(({ appender }) => appender.close()));
      reader.close();
    },
  };
}

/** By the names on Kafka. */
export function kafkaUse(
  { reads, appends, consumes }: LogUse,
  { topicPrefix, topics: options }: Pick<KafkaLogOptions, "topicPrefix" | "topics">,
): KafkaUse {
  const named = (list: readonly Topic[]): string[] => list.map((topic) => topicPrefix + topic);
  return {
    topics: Object.keys(options).map((topic) => topicPrefix + topic),
    reads: named(reads),
    writes: named(appends),
    groups: Object.entries(options).flatMap(([topic, { groups = [] }]) =>
      groups.map((group) => groupIdOf(topicPrefix + topic, group)),
    ),
    isMember: consumes,
  };
}

/** @param name of the topic, on Kafka */
function groupIdOf(name: string, group: string): string {
  return `${name}.${group}`;
}
