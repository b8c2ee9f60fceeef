/**
 * A record on which its consumer fails by itself (stores/log/partition-consumer.ts): its raw event
 * becomes a reject, `internal_error`, and all others go on. What is booked of it stays; a replay
 * books what is missing.
 */
import { factRecords, incompleteRecords, topics } from "../../schemas/records/records.js";
import type { Message } from "../book/booked.js";
import type { LogRecord } from "../../stores/log/log.js";
import { readRawEvent } from "../../stores/vault/vault.js";
import type { Service } from "../../service.js";
import { isStoreAway } from "../../stores/store-away.js";
import { groups } from "../../stores/watermark/watermark.js";
import {
  insertRawEvents,
  rawEventRow,
  type NormalizingService,
  type Rejected,
} from "../normalize/outcome.js";
import { unreadable } from "../normalize/read-raw.js";
import { recordRejects, type RejectedEvent } from "./record-reject.js";

type PassingService = Pick<Service, "clickhouse" | "log" | "logger" | "metrics"> &
  Pick<NormalizingService, "recent">;

/** @throws while a store is unavailable */
export async function passOver(
  service: PassingService,
  group: string,
  record: LogRecord,
  error: unknown,
): Promise<void> {
  const step = group;
  const behind = eventBehind(record) ?? { record, event: unreadable(record) };
  const rejected = { ...behind, step, reason: "internal_error", detail };
  try {
    await recordRejects(service, [rejected]);
  } catch (cause) {
    if (isStoreAway(cause)) throw cause;
    // The event cannot be listed, but its place can.
    const event = { ...unreadable(behind.record), workspace: behind.event.workspace };
    await recordRejects(service, [{ ...rejected, event }]);
  }
  if (group !== groups.book) await journal(service, record, group);
  service.metrics.internalErrors.inc({ group });
  const { topic, partition, offset } = record;
  const where = { group, topic, partition, offset: offset.toString() };
  service.logger.error(
    { err: error, eventId: behind.event.event_id, ...where },
    "an event could not be handled: it is listed as a reject, and the others go on",
  );
}

/** The event behind a message that cannot be published; a replay publishes it again. */
export async function passOverMessage(
  service: Pick<Service, "clickhouse" | "log" | "logger" | "metrics">,
  { topic, about }: Message,
  error: unknown,
): Promise<void> {
  if (about !== undefined) {
    const { partition, offset } = about;
    const record = { partition, offset: BigInt(offset) };
    const why = { step: groups.book, reason: "internal_error", detail };
    await recordRejects(service, [{ record, event: about, ...why }]);
  }
  service.metrics.internalErrors.inc({ group: groups.book });
  const where = { topic, eventId: about?.event_id };
  service.logger.error({ err: error, ...where }, "a message could not be published; others go on");
}

const detail =
  "The service failed on this event alone: its log line with this event's id has the reason. " +
  "Replay it with the version that mends it.";

function eventBehind(record: LogRecord): Pick<RejectedEvent, "record" | "event"> | null {
  try {
    if (record.topic === topics.facts) {
      const fact = factRecords.decode(record.value);
      return { record: fact, event: fact };
    }
    return rawBehind(record);
  } catch {
    return null;
  }
}

function rawBehind(record: LogRecord): Pick<Rejected, "record" | "event"> | null {
  if (record.topic === topics.raw) {
    const raw = readRawEvent(record.value);
    return raw && { record, event: raw.meta };
  }
  const { partition, offset, raw: value } = incompleteRecords.decode(record.value);
  const raw = readRawEvent(value);
  return raw && { record: { ...record, topic: topics.raw, partition, offset }, event: raw.meta };
}

/** Writes the outcome as far as possible; the list of rejects has it in any case. */
async function journal(
  { clickhouse, logger, recent }: PassingService,
  record: LogRecord,
  group: string,
): Promise<void> {
  // An event to which the API only adds is booked, and the journal says so.
  if (group === groups.enrich) return;
  try {
    const behind = rawBehind(record);
    if (behind === null) return;
    const why = { step: group, reason: "internal_error", detail };
    const outcome = { ...behind, kind: "rejected" as const, ...why };
    // The journal will read it, and would fail on it, too.
    if (group === groups.normalize) return recent.keep([outcome]);
    const row = rawEventRow(outcome);
    if (row !== null) await insertRawEvents(clickhouse, [row]);
  } catch (error) {
    if (isStoreAway(error)) throw error;
    logger.error({ err: error, group }, "a rejected event could not be written to the journal");
  }
}
