import { clickhouseTime } from "../../stores/clickhouse/rows.js";
import type { LogRecord } from "../../stores/log/log.js";
import { insertRejects, type RejectRow } from "../../workspaces/rejects/rejects.js";
import type { Service } from "../../service.js";
import { type Fact, type Reject, rejectCodec, topics } from "../../schemas/records/records.js";

export interface RejectedEvent {
  readonly record: Pick<LogRecord, "partition" | "offset">;
  readonly event: Pick<
    Fact,
    "event_id" | "workspace" | "environment" | "provider" | "native_type" | "received_at"
  >;
  readonly step: string;
  /** A stable word. */
  readonly reason: string;
  /** A sentence for a person; no payload. */
  readonly detail: string;
}

/** Lists them and publishes them on their topic. May be repeated. */
export async function recordRejects(
  { clickhouse, log }: Pick<Service, "clickhouse" | "log">,
  rejects: readonly RejectedEvent[],
): Promise<void> {
  if (rejects.length === 0) return;
  await log.append(topics.rejected, rejects.map(rejectMessage));
  await insertRejects(clickhouse, rejects.map(rejectRow));
}

export function rejectMessage(rejected: RejectedEvent) {
  const { event_id: key } = rejected.event;
  return { topic: topics.rejected, key, value: rejectCodec.encode(rejectOf(rejected)) };
}

function rejectOf({ record, event, step, reason, detail }: RejectedEvent): Reject {
  const { event_id, workspace, environment, provider, native_type, received_at } = event;
  const name = { event_id, workspace, environment, provider, native_type, received_at };
  const { partition, offset } = record;
  return { ...name, step, reason, detail, partition, offset: offset.toString() };
}

/** Its revision is the receipt time, so that a repeat of the batch writes the same row. */
export function rejectRow(rejected: RejectedEvent): RejectRow {
  const message = rejectOf(rejected);
  return {
    ...message,
    received_at: clickhouseTime(message.received_at),
    state: "open",
    revision: message.received_at,
  };
}
