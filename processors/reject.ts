/** A reject as its topic and its table hold it. */
import { clickhouseTime } from "../backends/clickhouse-rows.js";
import type { RejectRow } from "../backends/rejects.js";
import type { Reject } from "../schemas/records.js";
import type { Rejected } from "./read-raw.js";

export function rejectMessage({ record, event, step, reason, detail }: Rejected): Reject {
  return {
    event_id: event.event_id,
    workspace: event.workspace,
    environment: event.environment,
    provider: event.provider,
    native_type: event.native_type,
    received_at: event.received_at,
    step,
    reason,
    detail,
    partition: record.partition,
    offset: record.offset.toString(),
  };
}

/** Its revision is the receipt time, so that a repeat of the batch writes the same row. */
export function rejectRow(rejected: Rejected): RejectRow {
  const message = rejectMessage(rejected);
  return {
    ...message,
    received_at: clickhouseTime(message.received_at),
    state: "open",
    revision: message.received_at,
  };
}
