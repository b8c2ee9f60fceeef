/**
 * Puts rejected raw events back on the raw topic. The sealed bytes are the same; the receipt time
 * and the rates edition are new, because a replay is recorded now (`definitions.md`, Two clocks).
 * The first receipt goes with them, because it dates events without a date.
 */
import { limits } from "../../config.js";
import { fromClickhouseTime } from "../../stores/clickhouse/rows.js";
import { settledAfter } from "../../stores/watermark/in-flight-receipts.js";
import { type RawEventMeta, rawEventCodec, topics } from "../../schemas/records/records.js";
import {
  firstReceivedAt,
  openIntact,
  readRawEvent,
  sealRawEvent,
} from "../../stores/vault/vault.js";
import {
  type RejectFilter,
  type RejectListRow,
  type RejectPosition,
  insertRejects,
  listRejects,
} from "./rejects.js";
import type { Service } from "../../service.js";

export interface Replayed {
  readonly replayed: number;
  /** Rejects whose raw record retention has removed, or whose seal is broken. */
  readonly missing: number;
  /** More of them are open: ask again. */
  readonly more: boolean;
}

export type ReplayService = Pick<Service, "clickhouse" | "log" | "rates" | "vault" | "watermark">;

type Filter = Omit<RejectFilter, "state">;

/**
 * Replays up to `limits.replayRecordsMax` of the open rejects that pass the filter, newest first.
 * What cannot be replayed stays open and is passed over, so that repeated calls come to an end.
 */
export function replayRejects(service: ReplayService, filter: Filter): Promise<Replayed> {
  return replayPages(service, filter, ({ replayed }) => replayed > 0);
}

/**
 * Replays all that are open now, each once: what is rejected again has a new receipt time, and
 * waits for the next news.
 */
export async function replayAll(
  service: ReplayService,
  filter: Filter,
): Promise<Omit<Replayed, "more">> {
  const { replayed, missing } = await replayPages(service, filter, () => false);
  return { replayed, missing };
}

interface Page extends Omit<Replayed, "more"> {
  /** Where the next one begins; null at the end. */
  readonly last: RejectPosition | null;
}

/** Page by page, up to the end or until it is enough. */
async function replayPages(
  service: ReplayService,
  filter: Filter,
  isEnough: (page: Page) => boolean,
): Promise<Replayed> {
  let [replayed, missing] = [0, 0];
  for (let after: RejectPosition | null = null; ;) {
    const page: Page = await replayPage(service, filter, after);
    replayed += page.replayed;
    missing += page.missing;
    after = page.last;
    if (after === null || isEnough(page)) return { replayed, missing, more: after !== null };
  }
}

async function replayPage(
  service: ReplayService,
  filter: Filter,
  after: RejectPosition | null,
): Promise<Page> {
  const rowsMax = limits.replayRecordsMax;
  const open = await listRejects(
    service.clickhouse,
    { ...filter, state: "open" },
    after,
    rowsMax + 1,
  );
  const chosen = open.slice(0, rowsMax);
  const found: Found[] = [];
  for (const reject of chosen) {
    const record = await intactRecord(service, reject);
    if (record !== null) found.push({ reject, ...record });
  }
  if (found.length > 0) await putBack(service, found);
  return {
    replayed: found.length,
    missing: chosen.length - found.length,
    last: open.length > chosen.length ? positionOf(chosen.at(-1)) : null,
  };
}

interface Found {
  readonly reject: RejectListRow;
  readonly key: string;
  readonly meta: RawEventMeta;
  readonly body: Buffer;
}

async function putBack(service: ReplayService, found: readonly Found[]): Promise<void> {
  // Received after all of it, even if another process's clock was ahead or ours was set back.
  const times = found.map(({ reject }) => fromClickhouseTime(reject.received_at));
  const receipt = service.watermark.receive(undefined, Math.max(...times) + 2);
  const { receivedAt } = receipt;
  await settledAfter(receipt, async () => {
    // 1. Durable on the topic; 2. then no longer open. After a crash between the two they are
    // replayed twice, but booked once, because the event ids are the same.
    const records = found.map((one) => stampedAgain(service, one, receivedAt));
    service.watermark.check(receivedAt);
    await service.log.append(topics.raw, records);
    // Older than the replay itself, so that another rejection is the newest row; newer than the
    // present row.
    const revision = receivedAt - 1;
    const rows = found.map(({ reject }) => ({ ...reject, state: "replayed" as const, revision }));
    await insertRejects(service.clickhouse, rows);
  });
}

function positionOf(reject: RejectListRow | undefined): RejectPosition | null {
  return reject === undefined ? null : { receivedAt: reject.received_at, id: reject.event_id };
}

/** Null: retention has removed it, or its seal is broken. */
export async function intactRecord(
  { log, vault }: Pick<Service, "log" | "vault">,
  at: { readonly event_id: string; readonly partition: number; readonly offset: string },
): Promise<Omit<Found, "reject"> | null> {
  const offset = BigInt(at.offset);
  const [record] = await log.read(topics.raw, at.partition, offset, 1);
  if (record === undefined || record.offset !== offset) return null;
  const raw = readRawEvent(record.value);
  // Another event's bytes sealed under this one's name would be believed from then on.
  if (raw === null || raw.meta.event_id !== at.event_id) return null;
  const body = openIntact(vault, raw);
  return body && { key: record.key, meta: raw.meta, body };
}

function stampedAgain({ rates, vault }: ReplayService, found: Found, receivedAt: number) {
  const meta = {
    ...found.meta,
    received_at: receivedAt,
    first_received_at: firstReceivedAt(found.meta),
    rates_edition: rates.edition,
  };
  return { key: found.key, value: rawEventCodec.encode(sealRawEvent(vault, meta, found.body)) };
}
