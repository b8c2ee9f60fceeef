/** What normalizes and asks for more, over the service of a test. */
import { credentialsSeenMs } from "../../workspaces/rejects/credential-replays.js";
import { openCustomers } from "../../workspaces/customers/customers.js";
import { hadIntegration } from "../../workspaces/integrations.js";
import { findWorkspace } from "../../workspaces/workspaces.js";
import { accountHasher } from "../../stores/vault/account-hash.js";
import { openProviderApis } from "../../providers/api/provider-api.js";
import { answersOf, openStoredAnswers } from "../../providers/api/stored-answers.js";
import { openStoredObjects } from "../../providers/api/stored-objects.js";
import type { LogRecord } from "../../stores/log/log.js";
import { sealRawEvent } from "../../stores/vault/vault.js";
import type { Service } from "../../service.js";
import {
  incompleteRecords,
  rawEventCodec,
  type RawEventMeta,
  topics,
} from "../../schemas/records/records.js";
import type { EnrichingService } from "../../processors/enrich/enrich-required.js";
import { RecentlyPublished } from "../../processors/enrich/recently-published.js";
import { createProviders } from "../../providers/index.js";
import { RecentOutcomes } from "../../processors/normalize/outcome.js";

type Stores = "clickhouse" | "integrations" | "log" | "postgres" | "rates" | "vault";

/** @param parts in place of its own */
export async function enrichingOver(
  service: Pick<Service, Stores | "config" | "logger" | "watermark">,
  parts: Partial<EnrichingService> = {},
): Promise<EnrichingService> {
  const { postgres, vault } = service;
  const hashAccount = await accountHasher(postgres, vault);
  return {
    ...service,
    providers: createProviders(service.config),
    recent: new RecentOutcomes(),
    reported: new RecentlyPublished(),
    objects: openStoredObjects(postgres),
    hadIntegration: hadIntegration(postgres),
    storedAnswers: openStoredAnswers(postgres, vault),
    baseCurrencyOf: async (workspace) =>
      (await findWorkspace(service.postgres, workspace))?.base_currency ?? null,
    apis: openProviderApis(service.config),
    answersKept: answersOf(service.postgres),
    hashAccount,
    customers: openCustomers({ postgres, vault, hashAccount }),
    stopping: new AbortController().signal,
    keptNews: () => {},
    ratesKnown: () => {},
    answered: () => {},
    ...parts,
  };
}

/** As if credentials had been entered so long ago that every process uses them. */
export async function passCredentialsSeen({ postgres }: Pick<Service, "postgres">): Promise<void> {
  await postgres.query(
    `UPDATE credential_replays
     SET seen_at = clock_timestamp() - $1::float8 * interval '1 millisecond'`,
    [credentialsSeenMs],
  );
}

/** As normalizing leaves it: sealed by the endpoint, for the topic of questions. */
export function incompleteOf(
  vault: Service["vault"],
  meta: RawEventMeta,
  body: object,
  step: "complete" | "enrich",
): LogRecord {
  const raw = rawEventCodec.encode(sealRawEvent(vault, meta, Buffer.from(JSON.stringify(body))));
  const place = { partition: 0, offset: 0n };
  const value = incompleteRecords.encode({ step, ...place, received_at: meta.received_at, raw });
  return { topic: topics.incomplete, ...place, key: meta.event_id, value };
}
