/** What one record of the log may have, whichever log it is. */
import type { NewRecord } from "./log.js";

/** One record of the log: what Kafka takes as a batch of its own, less its frame. */
export const logRecordBytesMax = 8 * 1024 * 1024 - 64 * 1024;

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
