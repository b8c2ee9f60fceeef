/**
 * The topics on Kafka: made when absent, reported when unsuitable. Existing topics are never
 * altered: more partitions would move keys, a shorter retention would delete.
 */
import kafkajs, { type Admin } from "kafkajs";
import { ConfigError, limits } from "../../../config.js";
import { type Topic, topics } from "../../../schemas/records/records.js";
import { asAdmin, type KafkaSettings, kafkaErrorType } from "./connection.js";
import { refusalOf, textOf } from "./start-errors.js";
import { type KafkaTopics, refuseMissingRights } from "./permissions.js";
import { type LogUse, type TopicOptions, kafkaMessageBytesMax } from "../log.js";
import type { Logger } from "../../../runtime/logger.js";
import { whenAnswering } from "../../../runtime/wait-for-server.js";

export interface WantedTopics extends KafkaTopics {
  /** Copies of each partition of a new topic; null: the brokers' default. */
  readonly replication: number | null;
  /** What its user needs rights for; left out: they are not checked. */
  readonly use?: LogUse | undefined;
  /** How long it waits for brokers that do not answer; default: `startPatienceMsMax`. */
  readonly startMsMax?: number;
  /** Ends that waiting. */
  readonly stopping?: AbortSignal | undefined;
}

/**
 * @returns how many partitions each topic has
 * @throws ConfigError with a sentence for a person
 */
export async function openTopics(wanted: WantedTopics): Promise<Map<Topic, number>> {
  const { settings, use, stopping, logger, startMsMax = limits.startPatienceMsMax } = wanted;
  return whenAnswering(
    async () => {
      if (use !== undefined) await refuseMissingRights(wanted, use);
      return openAll(wanted);
    },
    (error) => refusalOf(error, settings),
    { waitsMsMax: startMsMax, pauseMs, stopping },
    logger,
  );
}

/**
 * Checks Kafka for a person before a start. Makes nothing.
 * @returns how many brokers there are.
 * @throws ConfigError
 */
export async function checkKafka(given: KafkaTopics, use: LogUse): Promise<number> {
  const { settings, logger } = given;
  try {
    await refuseMissingRights(given, use);
    const { brokers } = await asAdmin(settings, logger, (admin) => admin.describeCluster());
    return brokers.length;
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    throw new ConfigError([refusalOf(error, settings).sentence]);
  }
}

const pauseMs = 200;

type KafkaTopic = TopicOptions & {
  /** As Kafka knows it. */
  readonly name: string;
};

async function openAll({
  settings,
  topicPrefix,
  topics: options,
  replication,
  logger,
}: WantedTopics): Promise<Map<Topic, number>> {
  return asAdmin(settings, logger, async (admin) => {
    const there = new Set(await admin.listTopics());
    const open = async (topic: Topic): Promise<[Topic, number]> => {
      const named = { ...options[topic], name: topicPrefix + topic };
      if (!there.has(named.name)) await make(admin, named, replication);
      return [topic, await check(admin, named, logger)];
    };
    // Together, since a broker takes a while for each; of several refusals the first is reported.
    const opened = await Promise.allSettled(Object.values(topics).map(open));
    return new Map(
      opened.map((one) => {
        if (one.status === "rejected") throw one.reason;
        return one.value;
      }),
    );
  });
}

async function make(admin: Admin, topic: KafkaTopic, replication: number | null): Promise<void> {
  const configEntries = Object.entries(expected(topic));
  // With three copies or more one may be unavailable, and an acknowledged record is still on two.
  if (replication !== null && replication >= 3) {
    configEntries.push(["min.insync.replicas", String(replication - 1)]);
  }
  try {
    // False when another process was quicker.
    await admin.createTopics({
      waitForLeaders: true,
      topics: [
        {
          topic: topic.name,
          numPartitions: topic.partitions,
          replicationFactor: replication ?? brokersDefault,
          configEntries: configEntries.map(([name, value]) => ({ name, value })),
        },
      ],
    });
  } catch (error) {
    const isOfCopies = kafkaErrorType(error) === "INVALID_REPLICATION_FACTOR";
    if (!isOfCopies) throw topicError(error, topic.name, "made");
    // A starting broker does not count, nor one that the controller has not heard of for a moment.
    const { brokers } = await admin.describeCluster();
    const retriable = replication === null || brokers.length === 0 || replication <= brokers.length;
    throw Object.assign(new Error(textOf(error)), {
      type: "INVALID_REPLICATION_FACTOR",
      retriable,
      topic: topic.name,
    });
  }
}

const brokersDefault = -1;

function expected(topic: KafkaTopic): Record<string, string> {
  return {
    "cleanup.policy": "delete",
    "retention.ms": String(topic.retentionMs ?? -1),
    "retention.bytes": String(
      topic.retentionBytes === null ? -1 : Math.ceil(topic.retentionBytes / topic.partitions),
    ),
    "max.message.bytes": String(kafkaMessageBytesMax),
  };
}

async function check(admin: Admin, topic: KafkaTopic, logger: Logger): Promise<number> {
  const count = await partitionsOf(admin, topic.name);
  if (count !== topic.partitions) {
    throw new ConfigError([
      `KAFKA_PARTITIONS: the topic ${topic.name} was made with ${count} partitions and cannot be ` +
        `opened with ${topic.partitions}: a key would move to another partition and lose its ` +
        `order. Set it to ${count}`,
    ]);
  }
  const found = await configOf(admin, topic.name);
  if (found === null) {
    logger.warn({ topic: topic.name }, "this user may not see how the topic is configured");
    return count;
  }
  const bytesMax = Number(found.get("max.message.bytes"));
  if (bytesMax < kafkaMessageBytesMax) {
    throw new ConfigError([
      `KAFKA_BROKERS: the topic ${topic.name} takes batches of ${bytesMax} bytes; it has to take ` +
        `${kafkaMessageBytesMax}. Set its max.message.bytes`,
    ]);
  }
  if (found.get("cleanup.policy")?.includes("compact") === true) {
    throw new ConfigError([
      `KAFKA_BROKERS: the topic ${topic.name} is compacted, which would lose all records of ` +
        "a key but the last. Set its cleanup.policy to delete",
    ]);
  }
  for (const [name, value] of Object.entries(expected(topic))) {
    if (name === "max.message.bytes" || found.get(name) === value) continue;
    const values = { topic: topic.name, name, is: found.get(name), setting: value };
    logger.warn(values, "the topic differs from the settings and is left unchanged");
  }
  return count;
}

/** Waits for a topic that was just made. */
async function partitionsOf(admin: Admin, topic: string): Promise<number> {
  try {
    const { topics: found } = await admin.fetchTopicMetadata({ topics: [topic] });
    const count = found[0]?.partitions.length ?? 0;
    if (count === 0) throw new Error(`the topic ${topic} has no partitions`);
    return count;
  } catch (error) {
    throw topicError(error, topic, "read");
  }
}

/** Null when this user may not see it. */
async function configOf(admin: Admin, topic: string): Promise<Map<string, string> | null> {
  try {
    const { resources } = await admin.describeConfigs({
      includeSynonyms: false,
      resources: [{ type: kafkajs.ConfigResourceTypes.TOPIC, name: topic }],
    });
    const entries = resources[0]?.configEntries ?? [];
    return new Map(entries.map(({ configName, configValue }) => [configName, configValue]));
  } catch (error) {
    if (kafkaErrorType(error) === "TOPIC_AUTHORIZATION_FAILED") return null;
    throw error;
  }
}

function topicError(error: unknown, topic: string, done: "made" | "read"): unknown {
  const type = kafkaErrorType(error);
  if (type === "TOPIC_AUTHORIZATION_FAILED" || type === "CLUSTER_AUTHORIZATION_FAILED") {
    const rights = done === "made" ? "Create and Describe" : "Describe, Read and Write";
    return new ConfigError([
      `KAFKA_BROKERS: this user may not have the topic ${topic} ${done}. Give it the rights ` +
        `${rights} on it, or have someone make the topics`,
    ]);
  }
  return error;
}

/** Gives a topic more partitions, to restore a wider log. */
export async function widenTopic(
  settings: KafkaSettings,
  topic: string,
  count: number,
  logger: Logger,
): Promise<void> {
  await asAdmin(settings, logger, async (admin) => {
    await admin.createPartitions({ topicPartitions: [{ topic, count }] });
    while ((await partitionsOf(admin, topic)) < count) {
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  });
}
