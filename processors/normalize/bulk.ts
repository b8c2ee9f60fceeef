/** Normalizes bulk a little at a time, behind what others sent (stores/log/bulk.ts). */
import { setTimeout as pause } from "node:timers/promises";
import { bulkPartition } from "../../stores/log/bulk.js";
import type { LogRecord } from "../../stores/log/log.js";
import { chunksBySize } from "../../runtime/chunk.js";
import { topics } from "../../schemas/records/records.js";
import { recordsBehind } from "../../stores/watermark/backlog.js";
import { groups } from "../../stores/watermark/watermark.js";
import { normalize } from "./normalize.js";
import type { NormalizingService } from "./normalizing-service.js";

/** A slow machine books as many in about a quarter of a second. */
const recordsAtOnce = 250;
/** Facts that may wait for booking when the next ones are added. */
const factsWaitingMax = 500;
/** After this it goes on, because others may be busy for hours, and a store may be unavailable. */
const waitMsMax = 1_000;
const lookEveryMs = 20;

/** @param records of one partition */
export async function normalizeInTurn(
  service: NormalizingService,
  records: readonly LogRecord[],
): Promise<void> {
  if (records[0]?.partition !== bulkPartition(service.log)) return normalize(service, records);
  for (const some of chunksBySize(records, recordsAtOnce, () => 1)) {
    await othersAreBooked(service);
    await normalize(service, some);
  }
}

async function othersAreBooked({ log, stopping, watermark }: NormalizingService): Promise<void> {
  const until = performance.now() + waitMsMax;
  while (!stopping.aborted && performance.now() < until) {
    watermark.hurry("transactions");
    const waiting = await recordsBehind(log, topics.facts, groups.book, "handled");
    if (waiting <= factsWaitingMax) return;
    await pause(lookEveryMs);
  }
}
