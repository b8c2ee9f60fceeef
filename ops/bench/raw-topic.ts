/** Fills the raw topic of an installation that is not running, as its endpoints would have. */
import { openService } from "../../runtime/start/open.js";
import { listIntegrations } from "../../workspaces/integration-records.js";
import { createLogger } from "../../runtime/logger.js";
import { sealRawEvent } from "../../stores/log/raw-event.js";
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

/** With the events that name the products first. */
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
  const events = Number(count);
  const logger = createLogger("warn");
  const releases = new Releases(logger);
  const config = readConfig({ DATA_DIR: folder, RATES_REFRESH: "off" });
  const { service } = await openService(config, { logger, releases });
  const { log, postgres, rates, vault } = service;
  const page = { rowsMax: 1, after: null };
  const [connected] = await listIntegrations(postgres, vault, workspace, page);
  if (connected === undefined) throw new Error("the workspace has no integration");
  const { id: integration } = connected;
  const lastAtMs = Date.now();
  const sales = new StripeSales(integration);
  const queue = sales.products(lastAtMs - events);
  const recordAt = (index: number) => {
    const receivedAt = lastAtMs - events + index + 1;
    if (queue.length === 0) queue.push(...sales.next(receivedAt));
    const { body, type } = queue.shift() ?? { body: Buffer.alloc(0), type: "" };
    const nativeId = `${integration}_${index}`;
    const event_id = eventId(workspace, "live", "stripe", nativeId);
    const meta = {
      event_id,
      workspace,
      environment: "live" as const,
      provider: "stripe",
      integration,
      form: "webhook" as const,
      native_id: nativeId,
      native_type: type,
      received_at: receivedAt,
      verdict: "hmac",
      rates_edition: rates.edition,
    };
    const value = rawEventCodec.encode(sealRawEvent(vault, meta, body));
    return { key: `${workspace}:${event_id}`, value };
  };
  for (let from = 0; from < events; from += recordsPerAppend) {
    const length = Math.min(recordsPerAppend, events - from);
    await log.append(
      topics.raw,
      Array.from({ length }, (_, index) => recordAt(from + index)),
    );
  }
  await releases.release();
  report({ lastAtMs });
  process.disconnect();
}
