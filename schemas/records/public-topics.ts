/**
 * The topics data teams read: their subjects, every version of their schemas that was ever
 * released, and the Confluent wire format, in which each message names the schema it is written by:
 * a zero byte, the schema's id as 4 bytes big-endian, the Avro body.
 */
import { type Topic, movementSchema, topics, transactionSchema } from "./records.js";

export type PublicTopic = typeof topics.transactions | typeof topics.movements;

/** The schema each topic is written by now; its text is that of the newest release. */
export const publicSchemas: Readonly<Record<PublicTopic, unknown>> = {
  [topics.transactions]: transactionSchema,
  [topics.movements]: movementSchema,
};
export const publicTopics: readonly PublicTopic[] = [topics.transactions, topics.movements];

export interface Release {
  readonly topic: PublicTopic;
  /** Counts from 1. Its text is `schemas/released/<topic>.<version>.avsc`. */
  readonly version: number;
  /**
   * The id where no registry gives one. Far above what registries count up to from 1 (or from
   * 100,000): a registry that is asked for it answers that there is none, never with another
   * schema.
   */
  readonly ownId: number;
}

/** Only ever added to: messages with these ids lie on topics and in files of other people. */
export const releases: readonly Release[] = [
  { topic: topics.transactions, version: 1, ownId: 1_900_001_001 },
  { topic: topics.transactions, version: 2, ownId: 1_900_001_002 },
  { topic: topics.movements, version: 1, ownId: 1_900_002_001 },
  { topic: topics.movements, version: 2, ownId: 1_900_002_002 },
  { topic: topics.movements, version: 3, ownId: 1_900_002_003 },
  { topic: topics.movements, version: 4, ownId: 1_900_002_004 },
];

export function isPublic(topic: Topic): topic is PublicTopic {
  return Object.hasOwn(publicSchemas, topic);
}

/** As Confluent's TopicNameStrategy names it. @param prefix of the topic's name on the broker */
export function subjectOf(topic: PublicTopic, prefix: string): string {
  return `${prefix}${topic}-value`;
}

const headBytes = 5;

export function writeMessage(schemaId: number, body: Buffer): Buffer {
  const message = Buffer.allocUnsafe(headBytes + body.length);
  message.writeUInt8(0, 0);
  message.writeInt32BE(schemaId, 1);
  body.copy(message, headBytes);
  return message;
}

export interface Message {
  readonly schemaId: number;
  readonly body: Buffer;
}

export function readMessage(message: Buffer): Message {
  if (message[0] !== 0 || message.length < headBytes) {
    throw new Error("a message does not begin with the id of its schema");
  }
  return { schemaId: message.readInt32BE(1), body: message.subarray(headBytes) };
}
