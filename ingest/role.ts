/** The role `ingest`: the two doors. Stateless; any number of processes may run it. */
import { requireKey } from "../backends/http/auth.js";
import { openIntegrationCalls } from "../backends/integration-calls.js";
import { resealIntegrations } from "../backends/reseal.js";
import { openReceipts } from "../backends/receipts.js";
import { createProviders } from "../providers/index.js";
import { ingestRoute } from "./events.js";
import type { DoorService } from "./take.js";
import { webhookRoute } from "./webhooks.js";

export async function start(service: DoorService): Promise<void> {
  if (service.config.VAULT_ENCRYPTION_KEY_PREVIOUS !== undefined) {
    const integrations = await resealIntegrations(service.postgres, service.vault);
    service.logger.info({ integrations }, "secrets are sealed under the new vault key");
  }
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
