/** The servers that can be started on this machine, and what they are known by. */
export const serverNames = ["postgres", "clickhouse", "kafka"] as const;
export type ServerName = (typeof serverNames)[number];

/** The service's setting that takes the server's URL. */
export const settingOf = {
  postgres: "DATABASE_URL",
  clickhouse: "CLICKHOUSE_URL",
  kafka: "KAFKA_BROKERS",
} as const satisfies Record<ServerName, string>;

/** Where clients of such servers look first, and what docker-compose.yml has inside. */
export const usualPorts = { postgres: 5432, clickhouse: 8123, clickhouseTcp: 9000, kafka: 9092 };
