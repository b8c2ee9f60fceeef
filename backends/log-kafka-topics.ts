/**
 * The topics on Kafka: made when absent, told of when they are not as they have to be. What others
 * set up is never altered: more partitions would move keys, a shorter retention would delete.
 */
import kafkajs, { type Admin } from "kafkajs";
import { ConfigError, limits } from "../config.js";
import {
  asAdmin,
  type KafkaSettings,
  isConnectionError,
  kafkaErrorType,
} from "./log-kafka-connection.js";
import type { TopicOptions } from "./log.js";
import type { Logger } from "./logger.js";

export interface KafkaTopic extends TopicOptions {
  /** As Kafka knows it. */
  readonly name: string;
  /** A topic that is there may have more or fewer partitions. */
  readonly keepsPartitions: boolean;
}

/**
 * @returns how many partitions each topic has, in the order given
 * @throws ConfigError with a sentence for a person
 */
export async function openTopics(
  settings: KafkaSettings,
  topics: readonly KafkaTopic[],
  replication: number | null,
  logger: Logger,
  startMsMax: number = limits.kafkaStartMsMax,
): Promise<number[]> {
  const until = performance.now() + startMsMax;
  for (;;) {
    try {
      return await openAll(settings, topics, replication, logger);
    } catch (error) {
      if (!isPassing(error) || performance.now() > until) throw forPerson(error, settings);
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  }
}

const pauseMs = 200;

/** Kafka may start at the same time, and no broker knows at once what another has made. */
function isPassing(error: unknown): boolean {
  const types = ["UNKNOWN_TOPIC_OR_PARTITION", "LEADER_NOT_AVAILABLE", "NOT_CONTROLLER"];
  return types.includes(typeOf(error) ?? "") || isConnectionError(error);
}

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
    // Together, since a broker takes a while for each; of several refusals the first is told.
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
    throw topicError(error, topic.name, "made");
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
    "max.message.bytes": String(limits.kafkaMessageBytesMax),
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
  if (bytesMax < limits.kafkaMessageBytesMax) {
    throw new ConfigError([
      `KAFKA_BROKERS: the topic ${topic.name} takes batches of ${bytesMax} bytes; it has to take ` +
        `${limits.kafkaMessageBytesMax}. Set its max.message.bytes`,
    ]);
  }
  for (const [name, value] of Object.entries(expected(topic))) {
    if (name === "max.message.bytes" || found.get(name) === value) continue;
    const values = { topic: topic.name, name, is: found.get(name), setting: value };
    logger.warn(values, "the topic is kept as it is, which is not what the settings say");
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
  const type = typeOf(error);
  if (type === "TOPIC_AUTHORIZATION_FAILED" || type === "CLUSTER_AUTHORIZATION_FAILED") {
    const rights = done === "made" ? "Create and Describe" : "Describe, Read and Write";
    return new ConfigError([
      `KAFKA_BROKERS: this user may not have the topic ${topic} ${done}. Give it the rights ` +
        `${rights} on it, or have someone make the topics`,
    ]);
  }
  if (type === "INVALID_REPLICATION_FACTOR") {
    return new ConfigError([
      `KAFKA_REPLICATION: the topic ${topic} cannot be made with so many copies: ${told(error)}`,
    ]);
  }
  return error;
}

/** `createTopics` wraps one error for each topic. */
function typeOf(error: unknown): string | null {
  const inner = error instanceof Error && "errors" in error ? error.errors : null;
  return kafkaErrorType(Array.isArray(inner) ? inner[0] : error);
}

function forPerson(error: unknown, settings: KafkaSettings): unknown {
  if (error instanceof ConfigError) return error;
  const text = told(error);
  return new ConfigError([`${subjectOf(text, settings)}: ${text}`]);
}

/** Which settings are wrong, by what Kafka, OpenSSL and kafkajs say. */
function subjectOf(text: string, { brokers, tls }: KafkaSettings): string {
  const where = `Kafka at ${brokers.join(", ")}`;
  if (/SASL|authentication/i.test(text)) {
    return `KAFKA_SASL_USERNAME, KAFKA_SASL_PASSWORD: ${where} refused the login`;
  }
  // An alert is what the other side says of ours.
  if (/alert.*certificate|certificate required/i.test(text)) {
    return `KAFKA_TLS_CERT_FILE, KAFKA_TLS_KEY_FILE: ${where} refused the certificate`;
  }
  if (/certificate|altnames/i.test(text)) {
    return `KAFKA_TLS_CA_FILE: the certificate of ${where} is not trusted`;
  }
  if (/ECONNREFUSED|ENOTFOUND|EAI_AGAIN|UNREACH/.test(text)) {
    return `KAFKA_BROKERS: ${where} cannot be reached`;
  }
  const misfit = `cannot be used with KAFKA_TLS=${tls === null ? "off" : "on"}`;
  // Who waits for TLS, and who waits for something else, say as little as a broker that hangs.
  if (/timed out|timeout|no answer|not connected/i.test(text)) {
    return `KAFKA_BROKERS: ${where} gives no answer: it does not work, or ${misfit}`;
  }
  return `KAFKA_BROKERS: ${where} ${misfit}`;
}

function told(error: unknown): string {
  const inner = error instanceof Error && "errors" in error ? error.errors : null;
  const first: unknown = Array.isArray(inner) ? inner[0] : error;
  return first instanceof Error ? first.message : String(first);
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
