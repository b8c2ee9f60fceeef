/** Makes calls durable: seals what was verified and appends it to the raw topic. */
import { bulkKey } from "../stores/log/log.js";
import { sealRawEvent } from "../stores/vault/vault.js";
import { mapInTurns } from "../runtime/lists.js";
import type { Provider } from "../providers/provider.js";
import type { Service } from "../service.js";
import { type RawEventMeta, rawEventCodec, topics } from "../schemas/records/records.js";
import { type HashAccount, rawKey } from "../stores/vault/account-hash.js";
import type { Receipts } from "./idempotency.js";

export interface Taken {
  readonly meta: RawEventMeta;
  readonly body: Buffer;
  /** Spreads the topic; nothing depends on it. */
  readonly accountHint: string | null;
}

export type IngestService = Pick<
  Service,
  | "adminToken"
  | "config"
  | "integrations"
  | "keys"
  | "limits"
  | "log"
  | "logger"
  | "metrics"
  | "postgres"
  | "rates"
  | "readiness"
  | "releases"
  | "router"
  | "sessions"
  | "vault"
  | "watermark"
> & { readonly hashAccount: HashAccount };

export interface IngestEndpoint {
  readonly service: IngestService;
  readonly providers: ReadonlyMap<string, Provider>;
  readonly receipts: Receipts;
}

/** Of one batch: others need not wait behind more (stores/log/log.ts). */
const eventsAmongOthersMax = 100;

/**
 * Resolves when every event is durable in the log; answer 2xx only after that.
 * @throws LogUnavailable, PostgresUnavailable
 */
export async function appendSealed(
  service: Pick<IngestService, "hashAccount" | "log" | "metrics" | "vault" | "watermark">,
  events: readonly Taken[],
): Promise<void> {
  const { hashAccount, log, metrics, vault, watermark } = service;
  const isBulk = events.length > eventsAmongOthersMax;
  const records = await mapInTurns(events, ({ meta, body, accountHint }) => {
    const key = rawKey(hashAccount, meta, accountHint);
    const value = rawEventCodec.encode(sealRawEvent(vault, meta, body));
    return { key: isBulk ? bulkKey(key) : key, value };
  });
  for (const { meta } of events) watermark.check(meta.received_at);
  const end = metrics.appendSeconds.startTimer();
  await log.append(topics.raw, records);
  end();
}
