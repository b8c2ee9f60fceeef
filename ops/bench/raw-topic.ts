/** Fills the raw topic of an installation that is not running, as its endpoints would have. */
import { openService } from "../../runtime/start/open.js";
import { listIntegrations } from "../../workspaces/integration-records.js";
import { createLogger } from "../../runtime/logger.js";
import { sealRawEvent } from "../../log/raw-event.js";
import { Releases } from "../../runtime/releases.js";
import { readConfig } from "../../config.js";
import { eventId } from "../../schemas/ids.js";
import { rawEventCodec, topics } from "../../schemas/records/records.js";
import { report, withChild } from "./processes.js";
import { StripeSales } from "./stripe-sales.js";
import { z } from "zod";

/** Events lie one millisecond apart, so that a `complete_to` says how many are booked. */
export interface Progress {
  readonly events: number;
  bookedAt(completeToMs: number): number;
}

export function fillTopic(folder: string, workspace: string, events: number): Promise<Progress> {
  return withChild("raw-topic", [folder, workspace, String(events)], (message) => {
    const { lastAtMs } = filled.parse(message);
    return {
      events,
      bookedAt: (completeToMs) => Math.max(0, Math.min(events, events + completeToMs - lastAtMs)),
    };
  });
}

const filled = z.object({ lastAtMs: z.number() });
const recordsPerAppend = 1_000;

/** Runs as a child. */
export async function run([
  folder = "",
  workspace = "",
  count = "",
]: readonly string[]): Promise<void> {
  const logger = createLogger("warn");
  const releases = new Releases(logger);
  const config = readConfig({ DATA_DIR: folder, RATES_REFRESH: "off" });
  const { service } = await openService(config, { logger, releases });
  const { log, postgres, rates, vault } = service;
  const page = { rowsMax: 1, after: null };
  const [stripe] = await listIntegrations(postgres, vault, workspace, page);
  if (stripe === undefined) throw new Error(`${workspace} has no integration`);
  const events = Number(count);
  const lastAtMs = Date.now();
  const sales = new StripeSales("full");
  const queue = sales.products(lastAtMs - events);
  for (let from = 0; from < events; from += recordsPerAppend) {
    const records = Array.from(
      { length: Math.min(recordsPerAppend, events - from) },
      (_, index) => {
        const receivedAt = lastAtMs - events + from + index + 1;
        if (queue.length === 0) queue.push(...sales.next(receivedAt));
        const { body, type } = queue.shift() ?? { body: Buffer.alloc(0), type: "" };
        const nativeId = `${workspace}_${from + index}`;
        const event_id = eventId(workspace, "live", "stripe", nativeId);
        const meta = {
          event_id,
          workspace,
          environment: "live" as const,
          provider: "stripe",
          integration: stripe.id,
          form: "webhook" as const,
          native_id: nativeId,
          native_type: type,
          received_at: receivedAt,
          verdict: "hmac",
          rates_edition: rates.edition,
        };
        const value = rawEventCodec.encode(sealRawEvent(vault, meta, body));
        return { key: `${workspace}:${event_id}`, value };
      },
    );
    await log.append(topics.raw, records);
  }
  await releases.release();
  report({ lastAtMs });
  process.disconnect();
}
