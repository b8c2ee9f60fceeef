/** Logs of tests on a real Kafka: a topic prefix each, so that one broker serves many. */
import { randomUUID } from "node:crypto";
import { openKafkaLog } from "../../../stores/log/kafka/kafka-log.js";
import type { KafkaSettings } from "../../../stores/log/kafka/connection.js";
import type { Log, TopicOptions } from "../../../stores/log/log.js";
import type { LogInstallation } from "../log-contract.js";
import { lmdbTopics } from "../log-topics.js";
import type { Logger } from "../../../runtime/logger.js";
import { testLogger } from "../../harness/stores.js";

type Wanted = Parameters<typeof openKafkaLog>[0];

/** Of brokers that ask for no login. */
export function plainSettings(...brokers: readonly string[]): KafkaSettings {
  return { brokers, tls: null, sasl: null };
}

/** @param given what a test depends on, beside the usual of a broker alone */
export function openTestKafkaLog(given: Partial<Wanted> & Pick<Wanted, "settings">): Promise<Log> {
  const usual = { topicPrefix: "", replication: null, topics: lmdbTopics(), logger: testLogger };
  return openKafkaLog({ ...usual, ...given });
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
    open: (options, more = {}, logger = testLogger) => {
      const settings = { ...plainSettings(...brokers.split(",")), ...more };
      const topics = lmdbTopics(options);
      return openTestKafkaLog({ settings, topicPrefix: prefix, topics, logger });
    },
    appenderWords: ["kafka", brokers, prefix],
    // Topics end with their broker's folder.
    remove: () => Promise.resolve(),
  };
}
