/** The size of one record, on every log. */
import type { NewRecord } from "./log.js";

/** One batch on Kafka, with its frame: `max.message.bytes` of the topics. */
export const kafkaMessageBytesMax = 8 * 1024 * 1024;
const frameBytesMax = 64 * 1024;

/** One record, which may be a batch of its own. */
export const logRecordBytesMax = kafkaMessageBytesMax - frameBytesMax;

/** No log accepts this record, however often it is sent: the event is to blame, not a store. */
export class RecordTooLarge extends Error {
  override readonly name = "RecordTooLarge";
}

/** @throws RecordTooLarge before any of them is appended */
export function refuseTooLarge(records: readonly NewRecord[]): void {
  for (const { key, value } of records) {
    const bytes = Buffer.byteLength(key) + value.length;
    if (bytes <= logRecordBytesMax) continue;
    throw new RecordTooLarge(
      `a record of ${bytes} bytes is larger than the log takes (${logRecordBytesMax})`,
    );
  }
}
