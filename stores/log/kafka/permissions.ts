/**
 * Checks at start that Kafka allows what the process will do, because a topic that may only be
 * described looks usable until the first record. Each request is one that a broker refuses before
 * it looks at anything else, and that changes nothing where it is allowed: it names a partition
 * that no topic has, or a member that no group has.
 */
import type { Broker } from "kafkajs";
import { ConfigError, limits } from "../../../config.js";
import {
  KafkaConnection,
  type KafkaSettings,
  isGroupBroker,
  isNotAllowed,
  kafkaErrorType,
} from "./connection.js";
import type { LogUse, TopicOptions } from "../log.js";
import type { Logger } from "../../../runtime/logger.js";
import type { Topic } from "../../../schemas/records/records.js";

export interface KafkaTopics {
  readonly settings: KafkaSettings;
  /** Before the names of topics and groups, for several installations on one cluster. */
  readonly topicPrefix: string;
  readonly topics: Readonly<Record<Topic, TopicOptions>>;
  readonly logger: Logger;
}

/** @param topic its name on Kafka */
export function groupIdOf(topic: string, group: string): string {
  return `${topic}.${group}`;
}

/** @throws ConfigError that names every right that is missing */
export async function refuseMissingRights(given: KafkaTopics, use: LogUse): Promise<void> {
  const { settings, logger } = given;
  const connection = new KafkaConnection(settings, logger);
  const missing = await connection
    .within(limits.kafkaStartMsMax, async () => {
      const { cluster } = connection;
      await cluster.connect();
      await cluster.refreshMetadata();
      // Every broker knows what is allowed, whichever leads.
      return missingRights(await cluster.findControllerBroker(), given, use);
    })
    .finally(() => connection.abandon());
  if (missing.length === 0) return;
  const user = settings.sasl !== null && "username" in settings.sasl ? settings.sasl.username : "";
  throw new ConfigError([
    `${user === "" ? "KAFKA_BROKERS" : "KAFKA_SASL_USERNAME"}: Kafka does not let ` +
      `${user === "" ? "this user" : `the user ${user}`} do what is needed here: give it ` +
      missing.join("; "),
  ]);
}

/** One line for each right: `Write on the topics a, b`. */
async function missingRights(
  broker: Broker,
  { topicPrefix, topics }: KafkaTopics,
  use: LogUse,
): Promise<string[]> {
  const named = (list: readonly string[]): string[] => list.map((topic) => topicPrefix + topic);
  const [reads, writes] = [named(use.reads), named(use.appends)];
  const onlySeen = named(Object.keys(topics)).filter(
    (topic) => !reads.includes(topic) && !writes.includes(topic),
  );
  const groupIds = (isOurs: boolean): string[] =>
    Object.entries(topics).flatMap(([topic, { groups = [] }]) =>
      groups
        .filter((group) => use.consumes.includes(group) === isOurs)
        .map((group) => groupIdOf(topicPrefix + topic, group)),
    );
  const asked: [right: string, on: string, names: readonly string[], ask: Question][] = [
    ["Describe", "topic", onlySeen, describeTopic],
    ["Read", "topic", reads, readTopic],
    ["Write", "topic", writes, writeTopic],
    ["Read", "group", groupIds(true), readGroup],
    ["Describe", "group", groupIds(false), describeGroup],
  ];
  const refused = await Promise.all(
    asked.map(async ([right, on, names, ask]) => {
      const answers = await Promise.all(names.map((name) => isRefused(ask(broker, name))));
      const lacking = names.filter((_, index) => answers[index]);
      const plural = lacking.length > 1 ? "s" : "";
      return lacking.length > 0 ? [`${right} on the ${on}${plural} ${lacking.join(", ")}`] : [];
    }),
  );
  return refused.flat();
}

/** Any other answer is about the thing asked for, which does not exist. */
async function isRefused(answer: Promise<unknown>): Promise<boolean> {
  try {
    await answer;
    return false;
  } catch (error) {
    if (kafkaErrorType(error) === null) throw error;
    return isNotAllowed(error);
  }
}

type Question = (broker: Broker, name: string) => Promise<unknown>;

/** The largest number Kafka can name; no topic has so many partitions. */
const noPartition = 2 ** 31 - 1;

const describeTopic: Question = (broker, topic) => broker.metadata([topic]);

const readTopic: Question = (broker, topic) =>
  broker.fetch({
    maxWaitTime: 0,
    maxBytes: 1,
    topics: [{ topic, partitions: [{ partition: noPartition, fetchOffset: "0", maxBytes: 1 }] }],
  });

const writeTopic: Question = (broker, topic) =>
  broker.produce({
    topicData: [{ topic, partitions: [{ partition: noPartition, messages: [{ value: null }] }] }],
  });

const describeGroup: Question = (broker, groupId) => broker.offsetFetch({ groupId, topics: [] });

const readGroup: Question = async (broker, groupId) => {
  if (!isGroupBroker(broker)) throw new Error("this kafkajs has no group requests");
  await broker.heartbeat({ groupId, groupGenerationId: -1, memberId: "" });
};

/**
 * A right that was taken away from a running process is logged as a sentence, and rarely, since
 * only a person can help; the request is repeated as rarely.
 */
const deniedPauseMs = 10_000;

/** What was attempted; names on Kafka. */
interface Attempt {
  readonly right: "Read" | "Write";
  readonly topic: string;
  readonly groupId?: string;
}

/** Null: it is another error. */
export function denialOf(error: unknown, { right, topic, groupId }: Attempt): string | null {
  if (!isNotAllowed(error)) return null;
  const isGroup = kafkaErrorType(error) === "GROUP_AUTHORIZATION_FAILED";
  const place = isGroup ? `group ${groupId}` : `topic ${topic}`;
  return `Kafka does not give this user the right ${right} on the ${place} any more`;
}

/** @param otherwise what follows from any other error */
export function reportFailure(
  logger: Logger,
  error: unknown,
  attempt: Attempt,
  otherwise: string,
): void {
  const { topic, groupId } = attempt;
  const denial = denialOf(error, attempt);
  if (denial === null) logger.warn({ err: error, topic, groupId }, otherwise);
  else logger.error({ topic, groupId }, denial);
}

export function pauseAfter(error: unknown, pauseMs: number): number {
  return isNotAllowed(error) ? deniedPauseMs : pauseMs;
}
