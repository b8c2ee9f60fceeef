/** Whether Kafka can be used, for a person who asks before a start. Makes nothing. */
import { ConfigError } from "../../config.js";
import { type KafkaSettings, asAdmin } from "./connection.js";
import { type KafkaUse, refuseMissingRights } from "./permissions.js";
import { refusalOf } from "./start-errors.js";
import type { Logger } from "../../runtime/logger.js";

/** @returns how many brokers there are. @throws ConfigError */
export async function checkKafka(
  settings: KafkaSettings,
  use: KafkaUse,
  logger: Logger,
): Promise<number> {
  try {
    await refuseMissingRights(settings, use, logger);
    const { brokers } = await asAdmin(settings, logger, (admin) => admin.describeCluster());
    return brokers.length;
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    throw new ConfigError([refusalOf(error, settings).sentence]);
  }
}
