/** Logs of tests on a real Kafka: a topic prefix each, so that one broker serves many. */
import { randomUUID } from "node:crypto";
import { openKafkaLog } from "../../../stores/log/kafka/kafka-log.js";
import type { KafkaSettings } from "../../../stores/log/kafka/connection.js";
import type { Log, TopicOptions } from "../../../stores/log/log.js";
import type { LogInstallation } from "../log-contract.js";
import { lmdbTopics } from "../log-topics.js";
import type { Logger } from "../../../runtime/logger.js";
import { testLogger } from "../../harness/stores.js";

export function openTestKafkaLog(
  brokers: string,
  topicPrefix: string,
  options: Partial<TopicOptions> = {},
  settings: Partial<KafkaSettings> = {},
  logger = testLogger,
): Promise<Log> {
  return openKafkaLog({
    settings: { brokers: brokers.split(","), tls: null, sasl: null, ...settings },
    topicPrefix,
    replication: null,
    topics: lmdbTopics(options),
    logger,
  });
}

export interface KafkaInstallation extends LogInstallation {
  /** Of its topics on the brokers. */
  readonly prefix: string;
  open(
    options?: Partial<TopicOptions>,
    settings?: Partial<KafkaSettings>,
    logger?: Logger,
  ): Promise<Log>;
}

export function installKafka(brokers: string): KafkaInstallation {
  const prefix = `test-${randomUUID()}.`;
  return {
    prefix,
    open: (...words) => openTestKafkaLog(brokers, prefix, ...words),
    appenderWords: ["kafka", brokers, prefix],
    // Topics end with their broker's folder.
    remove: () => Promise.resolve(),
  };
}
