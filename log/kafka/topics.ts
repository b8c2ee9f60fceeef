/**
 * The topics on Kafka: made when absent, reported when they are not as they have to be. What others
 * set up is never altered: more partitions would move keys, a shorter retention would delete.
 */
import kafkajs, { type Admin } from "kafkajs";
import { ConfigError, limits } from "../../config.js";
import { asAdmin, type KafkaSettings, kafkaErrorType } from "./connection.js";
import { refusalOf, textOf } from "./start-errors.js";
import { type KafkaUse, refuseMissingRights } from "./permissions.js";
import type { TopicOptions } from "../log.js";
import type { Logger } from "../../runtime/logger.js";
import { kafkaMessageBytesMax } from "../record-size.js";
import { whenAnswering } from "../../runtime/start/wait-for-server.js";

interface KafkaTopic extends TopicOptions {
  /** As Kafka knows it. */
  readonly name: string;
  /** A topic that is there may have more or fewer partitions. */
  readonly keepsPartitions: boolean;
}

export interface WantedTopics {
  readonly topics: readonly KafkaTopic[];
  /** Copies of a topic that is made; null: what the brokers are set to. */
  readonly replication: number | null;
  /** What the rights of this user have to suffice for; null: that is not looked at. */
  readonly use: KafkaUse | null;
  /** How long brokers that do not answer are waited for. */
  readonly startMsMax?: number | undefined;
  /** Ends that waiting. */
  readonly stopping?: AbortSignal | undefined;
}

/**
 * @returns how many partitions each topic has, in the order given
 * @throws ConfigError with a sentence for a person
 */
export async function openTopics(
  settings: KafkaSettings,
  { topics, replication, use, stopping, startMsMax = limits.startPatienceMsMax }: WantedTopics,
  logger: Logger,
): Promise<number[]> {
  return whenAnswering(
    async () => {
      if (use !== null) await refuseMissingRights(settings, use, logger);
      return openAll(settings, topics, replication, logger);
    },
    (error) => refusalOf(error, settings),
    { waitsMsMax: startMsMax, pauseMs, stopping },
    logger,
  );
}

const pauseMs = 200;

async function openAll(
  settings: KafkaSettings,
  topics: readonly KafkaTopic[],
  replication: number | null,
  logger: Logger,
): Promise<number[]> {
  return asAdmin(settings, logger, async (admin) => {
    const there = new Set(await admin.listTopics());
    const open = async (topic: KafkaTopic): Promise<number> => {
      if (!there.has(topic.name)) await make(admin, topic, replication);
      return check(admin, topic, logger);
    };
    // Together, since a broker takes a while for each; of several refusals the first is reported.
    const opened = await Promise.allSettled(topics.map(open));
    return opened.map((one) => {
      if (one.status === "rejected") throw one.reason;
      return one.value;
    });
  });
}

async function make(admin: Admin, topic: KafkaTopic, replication: number | null): Promise<void> {
  const configEntries = Object.entries(expected(topic));
  // With three copies or more one may be away, and what is acknowledged is still on two.
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
    // A broker that starts, or that the controller has not heard of for a moment, does not count.
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
  if (count !== topic.partitions && !topic.keepsPartitions) {
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

/** Waits for a topic that was made a moment ago. */
async function partitionsOf(admin: Admin, topic: string): Promise<number> {
  try {
    const { topics } = await admin.fetchTopicMetadata({ topics: [topic] });
    const count = topics[0]?.partitions.length ?? 0;
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

/** Gives a topic more partitions, for a restore of a wider log. */
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
