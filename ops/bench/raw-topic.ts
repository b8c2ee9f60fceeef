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
import { type SaleEvent, StripeSales } from "./stripe-sales.js";
import type { Service } from "../../service.js";
import { z } from "zod";

/** Events lie one millisecond apart, so that a `complete_to` says how many are booked. */
export interface Progress {
  readonly events: number;
  bookedAt(completeToMs: number): number;
}

export interface Filling {
  /** Events come from their integrations in turn. */
  readonly workspaces: readonly string[];
  readonly events: number;
  /** That each integration sells; left out: as many as `StripeSales` has. */
  readonly products?: number;
  /** Left out: the events that name the products, then sales. */
  readonly only?: "products" | "sales";
}

export function fillTopic(folder: string, filling: Filling): Promise<Progress> {
  const { events } = filling;
  return withChild("raw-topic", [folder, JSON.stringify(filling)], (message) => {
    const { lastAtMs } = filled.parse(message);
    return {
      events,
      bookedAt: (completeToMs) => Math.max(0, Math.min(events, events + completeToMs - lastAtMs)),
    };
  });
}

const fillingSchema = z.object({
  workspaces: z.array(z.string()).min(1),
  events: z.number(),
  products: z.number().optional(),
  only: z.enum(["products", "sales"]).optional(),
});
const filled = z.object({ lastAtMs: z.number() });
const recordsPerAppend = 1_000;

/** Runs as a child. */
export async function run([folder = "", asked = ""]: readonly string[]): Promise<void> {
  const { workspaces, events, products, only } = fillingSchema.parse(JSON.parse(asked));
  const logger = createLogger("warn");
  const releases = new Releases(logger);
  const config = readConfig({ DATA_DIR: folder, RATES_REFRESH: "off" });
  const { service } = await openService(config, { logger, releases });
  const { log, rates, vault } = service;
  const lastAtMs = Date.now();
  const sources: Source[] = [];
  for (const workspace of workspaces) {
    for (const integration of await integrationsOf(service, workspace)) {
      const sales = new StripeSales(integration, products);
      const queue = only === "sales" ? [] : sales.products(lastAtMs - events);
      sources.push({ workspace, integration, sales, queue });
    }
  }
  for (let from = 0; from < events; from += recordsPerAppend) {
    const records = Array.from(
      { length: Math.min(recordsPerAppend, events - from) },
      (_, index) => {
        const source = sources[(from + index) % sources.length];
        if (source === undefined) throw new Error("no workspace has an integration");
        const { workspace, integration, sales, queue } = source;
        const receivedAt = lastAtMs - events + from + index + 1;
        if (queue.length === 0) queue.push(...sales.next(receivedAt));
        const { body, type } = queue.shift() ?? { body: Buffer.alloc(0), type: "" };
        const nativeId = `${integration}_${only ?? ""}${from + index}`;
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
      },
    );
    await log.append(topics.raw, records);
  }
  await releases.release();
  report({ lastAtMs });
  process.disconnect();
}

interface Source {
  readonly workspace: string;
  readonly integration: string;
  readonly sales: StripeSales;
  readonly queue: SaleEvent[];
}

async function integrationsOf(
  { postgres, vault }: Pick<Service, "postgres" | "vault">,
  workspace: string,
): Promise<string[]> {
  const page = { rowsMax: integrationsMax, after: null };
  const found = await listIntegrations(postgres, vault, workspace, page);
  return found.map(({ id }) => id);
}

/** Of a workspace. */
const integrationsMax = 100;
