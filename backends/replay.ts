/**
 * Puts rejected raw events back on the raw topic. The sealed bytes are the same; the receipt time
 * and the rates edition are new, because a replay is recorded now (`definitions.md`, Two clocks).
 */
import { limits } from "../config.js";
import { clickhouseTime } from "./clickhouse-rows.js";
import { rawEventCodec, topics } from "../schemas/records.js";
import { openRawEvent, sealRawEvent } from "./raw-event.js";
import { type RejectFilter, type RejectListRow, insertRejects, listRejects } from "./rejects.js";
import type { Service } from "./service.js";

export interface Replayed {
  readonly replayed: number;
  /** Whose raw record retention has removed. */
  readonly missing: number;
  /** More of them are open: ask again. */
  readonly more: boolean;
}

export type ReplayService = Pick<Service, "clickhouse" | "log" | "rates" | "vault" | "watermark">;

/** Up to `limits.replayRecordsMax` of the open rejects that pass the filter, newest first. */
export async function replayRejects(
  service: ReplayService,
  filter: Omit<RejectFilter, "state">,
): Promise<Replayed> {
  const open = await listRejects(
    service.clickhouse,
    { ...filter, state: "open" },
    null,
    limits.replayRecordsMax + 1,
  );
  const chosen = open.slice(0, limits.replayRecordsMax);
  const receipt = service.watermark.receive();
  try {
    const records = [];
    const found: RejectListRow[] = [];
    for (const reject of chosen) {
      const record = await stampedAgain(service, reject, receipt.receivedAt);
      if (record === null) continue;
      records.push(record);
      found.push(reject);
    }
    if (records.length > 0) {
      // 1. Durable on the topic; 2. then no longer open. A crash between the two leaves them open:
      // replayed twice is booked once, because the event ids are the same.
      service.watermark.check(receipt.receivedAt);
      await service.log.append(topics.raw, records);
      // Older than the replay itself: should that be rejected again, its row is the newest.
      const revision = receipt.receivedAt - 1;
      const rows = found.map((reject) => ({ ...reject, state: "replayed" as const, revision }));
      await insertRejects(service.clickhouse, rows);
    }
    return {
      replayed: records.length,
      missing: chosen.length - records.length,
      more: open.length > chosen.length,
    };
  } finally {
    receipt.settle();
  }
}

/** Each once: what is rejected again has a new receipt time and waits for the next news. */
export async function replayAll(
  service: ReplayService,
  filter: Omit<RejectFilter, "state" | "before">,
): Promise<void> {
  const before = clickhouseTime(Date.now());
  let more = true;
  while (more) ({ more } = await replayRejects(service, { ...filter, before }));
}

async function stampedAgain(
  { log, rates, vault }: ReplayService,
  reject: RejectListRow,
  receivedAt: number,
) {
  const offset = BigInt(reject.offset);
  const [record] = await log.read(topics.raw, reject.partition, offset, 1);
  if (record === undefined || record.offset !== offset) return null;
  const raw = rawEventCodec.decode(record.value);
  const body = openRawEvent(vault, raw);
  const meta = { ...raw.meta, received_at: receivedAt, rates_edition: rates.edition };
  return { key: record.key, value: rawEventCodec.encode(sealRawEvent(vault, meta, body)) };
}
