/** Which stores of this process are embedded. */
import type { Config } from "../../config.js";

/** The settings that are absent, so that their backend is the embedded one. */
export function embeddedBackends(config: Config): string[] {
  return (["KAFKA_BROKERS", "CLICKHOUSE_URL", "DATABASE_URL"] as const).filter(
    (name) => config[name] === undefined,
  );
}
