/** Makes the events of a backfill durable, as the ingest endpoints do. */
import { settledAfter } from "../../stores/watermark/in-flight-receipts.js";
import { bulkKey } from "../../stores/log/log.js";
import { sealRawEvent } from "../../stores/vault/vault.js";
import type { Backfill } from "../../workspaces/history/backfills.js";
import type { Integration } from "../../workspaces/integrations.js";
import type { Service } from "../../service.js";
import type { HistoryEvent } from "../../providers/backfill.js";
import type { Provider } from "../../providers/provider.js";
import { eventId, historyEventId } from "../../schemas/ids.js";
import { rawEventCodec, type RawEventMeta, topics } from "../../schemas/records/records.js";
import { type HashAccount, rawKey } from "../../stores/vault/account-hash.js";

/**
 * The key is of the other mode than the integration: its events would go to the other environment.
 */
export class WrongMode extends Error {
  override readonly name = "WrongMode";
}

/**
 * Resolves when they are durable. Their receipt is now.
 * @throws WrongMode, LogUnavailable
 */
export async function takeHistory(
  service: Pick<Service, "log" | "rates" | "vault" | "watermark"> & {
    readonly hashAccount: HashAccount;
  },
  provider: Provider,
  { id: integration, workspace, environment }: Integration,
  events: readonly HistoryEvent[],
  from: Backfill["source"] = "api",
): Promise<void> {
  if (events.length === 0) return;
  const { hashAccount, log, rates, vault, watermark } = service;
  const receipt = watermark.receive(workspace);
  await settledAfter(receipt, async () => {
    const records = events.map(({ nativeId, body, isProviders }) => {
      const heading = provider.heading(body);
      if (heading === null) throw new Error(`a backfill of ${provider.token} made no event`);
      if (heading.sandbox !== null && heading.sandbox !== (environment === "test")) {
        throw new WrongMode(
          `The key reads ${heading.sandbox ? "a sandbox" : "live data"}; ` +
            "the integration is of the other environment.",
        );
      }
      const idOf = isProviders === true ? eventId : historyEventId;
      const meta: RawEventMeta = {
        event_id: idOf(workspace, environment, provider.token, nativeId),
        workspace,
        environment,
        provider: provider.token,
        integration,
        form: "history",
        native_id: nativeId,
        native_type: heading.nativeType,
        received_at: receipt.receivedAt,
        verdict: from,
        rates_edition: rates.edition,
      };
      const bytes = Buffer.from(JSON.stringify(body));
      const value = rawEventCodec.encode(sealRawEvent(vault, meta, bytes));
      return { key: bulkKey(rawKey(hashAccount, meta, heading.accountHint)), value };
    });
    watermark.check(receipt.receivedAt);
    await log.append(topics.raw, records);
  });
}
