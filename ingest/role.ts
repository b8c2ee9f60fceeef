/** The role `ingest`: the two endpoints. Stateless; any number of processes may run it. */
import { requireKey } from "../http/auth.js";
import { openIntegrationCalls } from "../workspaces/integration-calls.js";
import { type Log, LogUnavailable, type LogUse } from "../stores/log/log.js";
import { accountHasher } from "../stores/vault/account-hash.js";
import { resealSecrets } from "../workspaces/reseal.js";
import { openReceipts } from "./idempotency.js";
import { createProviders } from "../providers/index.js";
import { NotReady } from "../runtime/readiness.js";
import { topics } from "../schemas/records/records.js";
import { ingestRoute } from "./events.js";
import type { IngestService } from "./append-sealed.js";
import { webhookRoute } from "./webhooks.js";

export const logUse: LogUse = { reads: [], appends: [topics.raw], consumes: [] };

export async function start(given: Omit<IngestService, "hashAccount">): Promise<void> {
  const { VAULT_ENCRYPTION_KEY_PREVIOUS: previousKey } = given.config;
  if (previousKey !== undefined) {
    const secrets = await resealSecrets(given.postgres, given.vault, previousKey);
    const reported = "all secrets are sealed under the vault key; the previous one may be removed";
    given.logger.info({ secrets }, reported);
  }
  const hashAccount = await accountHasher(given.postgres, given.vault);
  const service: IngestService = { ...given, hashAccount };
  service.readiness.add("appending events", () => appending(service.log));
  const providers = createProviders(service.config);
  const receipts = openReceipts(service);
  service.releases.push("receipts", () => receipts.close());
  const calls = openIntegrationCalls(service);
  service.releases.push("counts of webhook calls", () => calls.close());
  service.router.post("/v1/webhooks/:token", webhookRoute(service, providers, calls));
  service.router.post(
    "/v1/events/ingest",
    requireKey(service, { scope: "ingest" }),
    ingestRoute({ service, providers, receipts }),
  );
}

/** While appends fail every event would be refused, so ingest is not ready even if reads work. */
async function appending(log: Log): Promise<void> {
  try {
    await log.checkAppends(topics.raw);
  } catch (error) {
    throw error instanceof LogUnavailable ? new NotReady(error.message, { cause: error }) : error;
  }
}
