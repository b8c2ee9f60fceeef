/** Finds a raw event in the journal, or among records that the journal has yet to write. */
import { setImmediate as letOthersRun } from "node:timers/promises";
import { unavailable } from "../../schemas/http/errors.js";
import {
  type RawEventMeta,
  incompleteRecords,
  topics,
  type Tenant,
} from "../../schemas/records/records.js";
import type { Log, LogRecord } from "../../stores/log/log.js";
import { openIntact, readRawEvent } from "../../stores/vault/vault.js";
import type { Service } from "../../service.js";
import { groups } from "../../stores/watermark/watermark.js";
import { limits } from "../../config.js";
import { type JournalRow, journalQuery } from "./journal-query.js";

/** Records at the end of a topic that are searched for an event that is not in the journal yet. */
const eventSearchRecordsMax = 10_000;

interface SearchService extends Pick<Service, "clickhouse"> {
  readonly log: Pick<Log, "committed" | "ends" | "read">;
}

interface Waiting {
  readonly meta: RawEventMeta;
  readonly partition: number;
  readonly offset: bigint;
}

export interface FoundEvent {
  /** In order of receipt. */
  readonly journal: readonly JournalRow[];
  /** Empty when the journal has the event. */
  readonly waiting: readonly Waiting[];
}

/**
 * @returns null when the workspace has no such event in that environment
 * @throws ApiError 503 when too much waits to be searched
 */
export async function findEvent(
  service: SearchService,
  tenant: Tenant,
  eventId: string,
): Promise<FoundEvent | null> {
  // Positions first: what is journalled during the search is then behind them, or in the table.
  const places = await Promise.all(waitingPlaces.map((place) => tailOf(service, place)));
  const journal = await journalOf(service, tenant, eventId);
  if (journal.length > 0) return { journal, waiting: [] };
  const waiting = (await Promise.all(places.map((tail) => search(service, tail)))).flat();
  const found = waiting.filter(
    ({ meta }) =>
      meta.event_id === eventId &&
      meta.workspace === tenant.workspace &&
      meta.environment === tenant.environment,
  );
  if (found.length > 0) {
    // Only reading it shows whether a store's purchase is a test. From then on it must not be found
    // in the environment it was received for, although the journal's offset comes later.
    const environment = tenant.environment === "test" ? "live" : "test";
    const elsewhere = await journalOf(service, { ...tenant, environment }, eventId);
    return elsewhere.length > 0 ? null : { journal, waiting: found };
  }
  if (places.some(({ isCut }) => isCut)) {
    throw unavailable("journal_behind", "The journal is behind; the event may not be in it yet.");
  }
  return null;
}

async function journalOf({ clickhouse }: SearchService, tenant: Tenant, eventId: string) {
  const { sql, params } = journalQuery(tenant, [eventId], limits.eventDeliveriesMax + 1);
  return clickhouse.rows<JournalRow>(sql, params);
}

/** Received records that are in no journal yet, and how to read one. */
const waitingPlaces = [
  {
    topic: topics.raw,
    group: groups.journal,
    read: ({ partition, offset, value }: LogRecord): Waiting[] => {
      const raw = readRawEvent(value);
      return raw === null ? [] : [{ meta: raw.meta, partition, offset }];
    },
  },
  {
    topic: topics.incomplete,
    group: groups.complete,
    read: ({ value }: LogRecord): Waiting[] => {
      const { partition, offset, raw: bytes } = incompleteRecords.decode(value);
      const raw = readRawEvent(bytes);
      return raw === null ? [] : [{ meta: raw.meta, partition, offset }];
    },
  },
] as const;

type Place = (typeof waitingPlaces)[number];

interface Tail {
  readonly place: Place;
  /** By partition: the first offset wanted, and where the partition ended. */
  readonly parts: readonly { readonly from: bigint; readonly end: bigint }[];
  readonly isCut: boolean;
}

/** The newest waiting records, since whoever asks has usually just sent the event. */
async function tailOf({ log }: SearchService, place: Place): Promise<Tail> {
  const committed = await log.committed(place.topic, place.group);
  const ends = await log.ends(place.topic);
  const recordsMax = BigInt(Math.ceil(eventSearchRecordsMax / Math.max(1, ends.length)));
  let isCut = false;
  const parts = ends.map((end, partition) => {
    const handled = committed[partition] ?? 0n;
    isCut ||= end - handled > recordsMax;
    const from = end - handled > recordsMax ? end - recordsMax : handled;
    return { from, end };
  });
  return { place, parts, isCut };
}

/** Records read at a time; in between, other work gets its turn. */
const recordsAtOnce = 500;

async function search({ log }: SearchService, { place, parts }: Tail): Promise<Waiting[]> {
  const found: Waiting[] = [];
  for (const [partition, { from, end }] of parts.entries()) {
    for (let next = from; next < end;) {
      const batch = await log.read(place.topic, partition, next, recordsAtOnce);
      for (const record of batch) found.push(...place.read(record));
      next = (batch.at(-1)?.offset ?? end) + 1n;
      await letOthersRun();
    }
  }
  return found;
}

/** Whether the seal of a delivery's record is intact. */
export async function sealOf(
  { log, vault }: Pick<Service, "log" | "vault">,
  eventId: string,
  partition: number,
  offset: bigint,
): Promise<"intact" | "broken" | "removed"> {
  const [record] = await log.read(topics.raw, partition, offset, 1);
  if (record === undefined || record.offset !== offset) return "removed";
  const raw = readRawEvent(record.value);
  if (raw === null || raw.meta.event_id !== eventId) return "broken";
  return openIntact(vault, raw) === null ? "broken" : "intact";
}
