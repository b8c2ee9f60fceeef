/** The settings `KAFKA_…` in the form the client needs. */
import { readFileSync } from "node:fs";
import type { ConnectionOptions } from "node:tls";
import type { SASLOptions } from "kafkajs";
import { type Config, ConfigError } from "../../../config.js";
import type { KafkaSettings } from "./connection.js";

/** @throws ConfigError when settings do not go together or a file cannot be read */
export function kafkaSettings(config: Config): KafkaSettings {
  if (config.KAFKA_BROKERS === undefined) throw new Error("KAFKA_BROKERS is not set");
  return { brokers: config.KAFKA_BROKERS.split(","), tls: tlsOf(config), sasl: saslOf(config) };
}

function tlsOf(config: Config): ConnectionOptions | null {
  const files = ["KAFKA_TLS_CA_FILE", "KAFKA_TLS_CERT_FILE", "KAFKA_TLS_KEY_FILE"] as const;
  if (config.KAFKA_TLS === "off") {
    const idle = files.filter((name) => config[name] !== undefined);
    if (idle.length > 0) throw new ConfigError([`${idle.join(", ")}: set KAFKA_TLS=on, too`]);
    return null;
  }
  if ((config.KAFKA_TLS_CERT_FILE === undefined) !== (config.KAFKA_TLS_KEY_FILE === undefined)) {
    throw new ConfigError(["KAFKA_TLS_CERT_FILE, KAFKA_TLS_KEY_FILE: set both or neither"]);
  }
  const [ca, cert, key] = files.map((name) => contentOf(name, config[name]));
  return { ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) };
}

function contentOf(setting: string, path: string | undefined): string | undefined {
  if (path === undefined) return undefined;
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw new ConfigError([`${setting}: ${error instanceof Error ? error.message : path}`]);
  }
}

function saslOf(config: Config): SASLOptions | null {
  const {
    KAFKA_SASL_MECHANISM: mechanism,
    KAFKA_SASL_USERNAME: username,
    KAFKA_SASL_PASSWORD: password,
  } = config;
  if (mechanism === undefined && username === undefined && password === undefined) return null;
  if (mechanism === undefined || username === undefined || password === undefined) {
    throw new ConfigError([
      "KAFKA_SASL_MECHANISM, KAFKA_SASL_USERNAME, KAFKA_SASL_PASSWORD: set all of them or none",
    ]);
  }
  return { mechanism, username, password };
}
