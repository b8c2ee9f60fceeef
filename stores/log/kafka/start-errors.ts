/**
 * Turns what keeps a start from using Kafka into a sentence for a person: which setting is wrong,
 * what was found, what to do. By the errors of Kafka, OpenSSL and kafkajs.
 */
import { NoKafka, type KafkaSettings, firstOf, kafkaErrorType, mayPass } from "./connection.js";

export interface Refusal {
  /** Begins with the settings to check. */
  readonly sentence: string;
  /** A starting broker, or a new topic, may answer otherwise soon. */
  readonly mayPass: boolean;
}

export function refusalOf(error: unknown, settings: KafkaSettings): Refusal {
  const met = metBy(error, settings);
  const known = refusals.find((one) => one.isMet(met, settings));
  return {
    sentence:
      known?.sentence(met, settings) ?? `KAFKA_BROKERS: ${met.place} cannot be used: ${met.text}`,
    mayPass: (known === undefined || known.mayPass === true) && mayPass(error),
  };
}

export function textOf(error: unknown): string {
  const first = firstOf(error);
  const text = first instanceof Error ? first.message : String(first);
  // OpenSSL's texts contain its functions and files.
  return text
    .replace(/[0-9A-F]+:error:[^:]*:SSL routines:[^:]*:([^:]+):.*/s, "$1")
    .replace(/[\s:]+$/, "");
}

interface Met {
  /** One broker where it is known which. */
  readonly place: string;
  readonly text: string;
  readonly type: string | null;
  /** Of the operating system, of TLS, or our own. */
  readonly code: string;
  /** Where the connection failed; null when the error does not say. */
  readonly broker: string | null;
  /** The topic that was to be made; null for other errors. */
  readonly topic: string | null;
  /** The request that the broker does not know; null for other errors. */
  readonly request: string | null;
}

interface Known {
  isMet(met: Met, settings: KafkaSettings): boolean;
  sentence(met: Met, settings: KafkaSettings): string;
  /** Left out: waiting would not change it. */
  readonly mayPass?: true;
}

const brokerPort = "name the port of its brokers, 9092 unless it was changed";
const unreachable = /ECONNREFUSED|ENOTFOUND|EAI_AGAIN|UNREACH/;

/** The first that matches is reported. */
const refusals: readonly Known[] = [
  {
    isMet: ({ request }) => request === "Metadata",
    sentence: (met) =>
      `KAFKA_BROKERS: ${met.place} is a controller, which takes no records: ${brokerPort}`,
  },
  {
    isMet: ({ request }) => request !== null,
    sentence: (met) =>
      `KAFKA_BROKERS: ${met.place} does not know a request that is needed ` +
      `(${met.request}): Kafka 2.1 or later is needed`,
  },
  {
    isMet: ({ code }) => code === NoKafka.tls,
    sentence: (met) =>
      `KAFKA_TLS: ${met.place} asks for TLS: set KAFKA_TLS=on, or name a port without`,
  },
  {
    isMet: ({ code }) => code === NoKafka.http || code === NoKafka.other,
    sentence: (met, { brokers }) =>
      `KAFKA_BROKERS: what answers at ${met.broker ?? brokers.join(", ")} is ` +
      `${met.code === NoKafka.http ? "an HTTP server and no Kafka" : "no Kafka"}: ${brokerPort}`,
  },
  {
    isMet: ({ text, type }) =>
      type === "UNSUPPORTED_SASL_MECHANISM" || /mechanism is not supported/.test(text),
    sentence: (met, settings) =>
      `KAFKA_SASL_MECHANISM: ${met.place} takes no login by ` +
      `${settings.sasl?.mechanism ?? "none"}: set one of its sasl.enabled.mechanisms`,
  },
  {
    isMet: ({ type }) => type === "ILLEGAL_SASL_STATE",
    sentence: (met) =>
      `KAFKA_SASL_MECHANISM: ${met.place} takes no login at this port: leave ` +
      "KAFKA_SASL_… out, or name the port that takes one",
  },
  {
    isMet: ({ type }) => type === "INVALID_REPLICATION_FACTOR",
    sentence: (met) =>
      `KAFKA_REPLICATION: the topic ${met.topic} cannot be made with so many copies: ${met.text}`,
    mayPass: true,
  },
  {
    isMet: ({ text }) => /SASL|authentication/i.test(text),
    sentence: (met) =>
      `KAFKA_SASL_USERNAME, KAFKA_SASL_PASSWORD: ${met.place} refused the login: ` + met.text,
  },
  {
    // An alert is the other side's complaint about ours.
    isMet: ({ text }) => /alert.*certificate|certificate required/i.test(text),
    sentence: (met) =>
      `KAFKA_TLS_CERT_FILE, KAFKA_TLS_KEY_FILE: ${met.place} refused the ` +
      `certificate of this service, or asks for one: ${met.text}`,
  },
  {
    isMet: ({ code }) => code === "ERR_TLS_CERT_ALTNAME_INVALID",
    sentence: (met) =>
      `KAFKA_BROKERS: the certificate of ${met.place} is of another name: ` +
      `${met.text}. Name the brokers, also in their advertised.listeners, as it does`,
  },
  {
    isMet: ({ text }) => /certificate/i.test(text),
    sentence: (met) =>
      `KAFKA_TLS_CA_FILE: the certificate of ${met.place} is not trusted: ` +
      `${met.text}. Set it to the file with its authority's certificate (PEM)`,
  },
  {
    isMet: ({ text }) => /wrong version number|before secure TLS/.test(text),
    sentence: (met) =>
      `KAFKA_TLS: ${met.place} does not speak TLS: set KAFKA_TLS=off, or name the ` +
      "port that does",
    mayPass: true,
  },
  {
    isMet: ({ text, broker }, { brokers }) =>
      unreachable.test(text) && broker !== null && !brokers.includes(broker),
    sentence: (met, { brokers }) =>
      `KAFKA_BROKERS: Kafka at ${brokers.join(", ")} answers, and names its broker ` +
      `${met.broker}, which cannot be reached from here: ${met.text}. Set ` +
      "advertised.listeners of that broker to an address that leads to it from here",
    mayPass: true,
  },
  {
    isMet: ({ text }) => unreachable.test(text),
    sentence: (met) => `KAFKA_BROKERS: ${met.place} cannot be reached: ${met.text}`,
    mayPass: true,
  },
  {
    isMet: ({ text }, { sasl }) => text.startsWith("Closed connection") && sasl === null,
    sentence: (met) =>
      `KAFKA_BROKERS: ${met.place} closes the connection: it asks for a login ` +
      "(KAFKA_SASL_MECHANISM), or is no Kafka",
    mayPass: true,
  },
  {
    // A server that waits for TLS, or speaks another protocol, is as silent as a broker that hangs.
    isMet: ({ text }) => /timed out|timeout|no answer|not connected|Closed connection/i.test(text),
    sentence: (met, settings) =>
      `KAFKA_BROKERS: ${met.place} gives no answer: it does not work, or cannot be ` +
      `used with KAFKA_TLS=${settings.tls === null ? "off" : "on"}: ${met.text}`,
    mayPass: true,
  },
];

function metBy(error: unknown, { brokers }: KafkaSettings): Met {
  const broker = propertyOf(error, "broker");
  return {
    place: `Kafka at ${broker ?? brokers.join(", ")}`,
    text: textOf(error),
    type: kafkaErrorType(error),
    code: propertyOf(error, "code") ?? "",
    broker,
    topic: propertyOf(error, "topic"),
    request: propertyOf(error, "apiName"),
  };
}

/** Of the error or its cause. */
function propertyOf(error: unknown, name: string): string | null {
  for (let cause = firstOf(error); cause instanceof Error; cause = cause.cause) {
    const value: unknown = Reflect.get(cause, name);
    if (typeof value === "string") return value;
  }
  return null;
}
