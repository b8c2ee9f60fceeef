/**
 * A log whose public topics are in the Confluent wire format. Callers append and read bodies of the
 * newest schema; on the topic each message names the schema it was written by.
 */
import { isPublic, readMessage, writeMessage } from "../../../schemas/records/public-topics.js";
import type { Topic } from "../../../schemas/records/records.js";
import type { Log, LogRecord, NewRecord } from "../log.js";
import type { PublicSchemas } from "./public-schemas.js";

export function withWireFormat(log: Log, schemas: PublicSchemas): Log {
  return {
    ...log,
    append: async (topic, records) => log.append(topic, messagesOf(topic, records)),
    consume: (options) => {
      if (!isPublic(options.topic)) return log.consume(options);
      return log.consume({
        ...options,
        handle: async (records) => options.handle(await Promise.all(records.map(bodyOf))),
      });
    },
    tail: (topic, handle, from) => {
      if (!isPublic(topic)) return log.tail(topic, handle, from);
      return log.tail(topic, async (record) => handle(await bodyOf(record)), from);
    },
    read: async (topic, partition, offset, recordsMax) => {
      const records = await log.read(topic, partition, offset, recordsMax);
      return isPublic(topic) ? Promise.all(records.map(bodyOf)) : records;
    },
    place: async (topic, partition, offset, records) =>
      log.place(topic, partition, offset, messagesOf(topic, records)),
  };

  function messagesOf(topic: Topic, records: readonly NewRecord[]): readonly NewRecord[] {
    if (!isPublic(topic)) return records;
    const { id } = schemas.writing(topic);
    return records.map((record) => ({ ...record, value: writeMessage(id, record.value) }));
  }

  async function bodyOf(record: LogRecord): Promise<LogRecord> {
    const { topic } = record;
    if (!isPublic(topic)) return record;
    const { schemaId, body } = readMessage(record.value);
    return { ...record, value: await schemas.toNewest(topic, schemaId, body) };
  }
}
