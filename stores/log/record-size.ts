/** What one record of the log may have, whichever log it is. */
import type { NewRecord } from "./log.js";

/** One batch on Kafka, with its frame: what `max.message.bytes` of the topics allows. */
export const kafkaMessageBytesMax = 8 * 1024 * 1024;
const frameBytesMax = 64 * 1024;

/** One record of the log, which may be a batch of its own. */
export const logRecordBytesMax = kafkaMessageBytesMax - frameBytesMax;

/** No log takes this record, however often it is sent: an event to blame, not a store. */
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
