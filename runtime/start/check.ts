/**
 * `npm start -- check`: whether the configured servers answer, and their users have the rights they
 * need. Makes nothing.
 */
import { type Config, ConfigError } from "../../config.js";
import type { LogUse } from "../../stores/log/log.js";
import { topicOptions } from "../../stores/log/topic-options.js";
import { openPostgres } from "../../stores/postgres/open.js";
import type { storeFolders } from "../../stores/data-folder.js";
import type { Logger } from "../logger.js";

export interface Checked {
  readonly line: string;
  readonly isUsable: boolean;
}

export async function checkServers(config: Config, use: LogUse, logger: Logger) {
  const { DATA_DIR, KAFKA_BROKERS, CLICKHOUSE_URL, DATABASE_URL, SCHEMA_REGISTRY_URL } = config;
  const shards = config.CLICKHOUSE_SHARD_URLS?.split(",") ?? [];
  const embedded = (store: keyof typeof storeFolders): Checked => {
    return { line: `${store}: embedded, in ${DATA_DIR}`, isUsable: true };
  };
  return Promise.all([
    KAFKA_BROKERS === undefined ? embedded("log") : reported(() => kafka(config, use, logger)),
    CLICKHOUSE_URL === undefined
      ? embedded("clickhouse")
      : reported(() => clickhouse(CLICKHOUSE_URL, "CLICKHOUSE_URL")),
    ...shards.map((url) => reported(() => clickhouse(url, "CLICKHOUSE_SHARD_URLS"))),
    DATABASE_URL === undefined
      ? embedded("postgres")
      : reported(() => postgres(DATABASE_URL, "DATABASE_URL", logger)),
    ...(config.STATE_DATABASE_URLS?.split(",") ?? []).map((url) =>
      reported(() => postgres(url, "STATE_DATABASE_URLS", logger)),
    ),
    ...(SCHEMA_REGISTRY_URL === undefined
      ? []
      : [reported(() => registry(SCHEMA_REGISTRY_URL, logger))]),
  ]);
}

async function reported(check: () => Promise<string>): Promise<Checked> {
  try {
    return { line: await check(), isUsable: true };
  } catch (error) {
    if (error instanceof ConfigError) return { line: error.problems.join("\n"), isUsable: false };
    return { line: error instanceof Error ? error.message : String(error), isUsable: false };
  }
}

async function kafka(config: Config, use: LogUse, logger: Logger): Promise<string> {
  const { checkKafka } = await import("../../stores/log/kafka/topics.js");
  const { kafkaSettings } = await import("../../stores/log/kafka/settings.js");
  const settings = kafkaSettings(config);
  const topicPrefix = config.KAFKA_TOPIC_PREFIX ?? "";
  const topics = topicOptions(config, config.KAFKA_PARTITIONS);
  const brokers = await checkKafka({ settings, topicPrefix, topics, logger }, use);
  return `Kafka answers at ${config.KAFKA_BROKERS}: brokers ${brokers}, all rights`;
}

async function clickhouse(url: string, setting: string): Promise<string> {
  const { whenUsable } = await import("../../stores/clickhouse/server/start-checks.js");
  const { version, database } = await whenUsable({ url, patienceMs: 0 }, setting, [], false);
  return `ClickHouse ${version} answers at ${new URL(url).host}, database ${database}: all rights`;
}

async function postgres(url: string, setting: string, logger: Logger): Promise<string> {
  const opened = await openPostgres({ url, patienceMs: 0 }, logger);
  try {
    const [found] = await opened.query<{ version: string; name: string; may_make: boolean }>(
      `SELECT current_setting('server_version') AS version, current_database() AS name,
         to_regclass('migrations') IS NOT NULL
           OR coalesce(has_schema_privilege(current_schema(), 'CREATE'), false) AS may_make`,
    );
    const { host } = new URL(url);
    if (found?.may_make !== true) {
      throw new ConfigError([
        `${setting}: the user may make no tables in the database ${found?.name} at ${host}; ` +
          "GRANT CREATE ON SCHEMA public to it",
      ]);
    }
    return `Postgres ${found.version} answers at ${host}, database ${found.name}: all rights`;
  } finally {
    await opened.close();
  }
}

async function registry(url: string, logger: Logger): Promise<string> {
  const { Registry } = await import("../../stores/log/registry/schema-registry.js");
  const found = new Registry(url, logger);
  await found.check();
  return `The schema registry answers at ${found.name}`;
}
