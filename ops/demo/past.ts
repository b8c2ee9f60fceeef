/**
 * The demo's history, as the log has it of a business that has run for years: each call under the
 * moment at which it would have come, so that figures can be read as they were known then. Callers
 * of a service cannot do that, and need not: the demo writes into a folder of its own, whose key
 * it holds, before its service starts.
 */
import { readConfig } from "../../config.js";
import { parseBody } from "../../schemas/parse.js";
import { bulkKey } from "../../stores/log/log.js";
import { sealRawEvent } from "../../stores/vault/vault.js";
import { createProviders } from "../../providers/index.js";
import type { Provider } from "../../providers/provider.js";
import { createLogger } from "../../runtime/logger.js";
import { Releases } from "../../runtime/releases.js";
import type { Service } from "../../service.js";
import { openService } from "../../runtime/start/open.js";
import { startOfMonth } from "../../schemas/months.js";
import type { Postgres } from "../../stores/postgres/postgres.js";
import { eventId } from "../../schemas/ids.js";
import { rawEventCodec, topics } from "../../schemas/records/records.js";
import { accountHasher, type HashAccount, rawKey } from "../../stores/vault/account-hash.js";
import {
  beginExport,
  createBackfill,
  leaseBackfill,
  moveBackfill,
  prepareExport,
} from "../../workspaces/history/backfills.js";
import { openIntegrationCalls, takenVerdict } from "../../workspaces/integration-calls.js";
import { createIntegration } from "../../workspaces/integration-records.js";
import { createKey } from "../../workspaces/keys.js";
import { createWorkspace } from "../../workspaces/workspaces.js";
import type { Business } from "./business.js";
import { type DemoToken, demoTokens, newAccount, ofEach, signed } from "./integrations.js";
import type { Reported } from "./journal.js";
import type { Merchant } from "./merchant.js";

type MerchantAnywhere = Omit<Merchant, "url">;

/** Records appended at a time. */
const recordsAtOnce = 500;

/**
 * @param given.since ms since 1970: when the workspace and its integrations were made
 * @throws when the folder is in use, or an event is not one of its provider's
 */
export async function recordPast(
  dataFolder: string,
  { deliveries, receipts }: Pick<Business, "deliveries" | "receipts">,
  given: {
    readonly baseCurrency: "USD" | "EUR";
    readonly since: number;
    /** Over the partitions of the topic, as webhooks are; otherwise in the order of receipt. */
    readonly isSpread?: boolean;
    readonly signal?: AbortSignal;
    readonly onWritten?: (count: number) => void;
  },
): Promise<MerchantAnywhere> {
  const config = readConfig({ DATA_DIR: dataFolder, RATES_REFRESH: "off" });
  const logger = createLogger("silent");
  const releases = new Releases(logger);
  try {
    const opening = { logger, releases, withoutClickHouse: true };
    const { service } = await openService(config, opening);
    await service.rates.catchUp();
    const providers = createProviders(config);
    const opened = await makeWorkspace(service, providers, given);
    const { postgres, vault } = service;
    const hashAccount = await accountHasher(postgres, vault);
    const { isSpread = false } = given;
    const calls = openIntegrationCalls({ postgres, logger });
    for (let first = 0; first < deliveries.length; first += recordsAtOnce) {
      given.signal?.throwIfAborted();
      const chunk = deliveries.slice(first, first + recordsAtOnce);
      const records = await Promise.all(
        chunk.map((reported, index) => {
          calls.count(opened.integrations[reported.provider].id, takenVerdict);
          const receivedAt = receipts[first + index] ?? reported.at;
          const into = { service, providers, hashAccount, opened, isSpread };
          return recordOf(into, reported, receivedAt);
        }),
      );
      await service.log.append(topics.raw, records);
      given.onWritten?.(first + chunk.length);
    }
    await calls.close();
    const readAt = new Date(receipts.at(-1) ?? given.since);
    for (const token of demoTokens) {
      const { id: integration } = opened.integrations[token];
      const named = { workspace: opened.workspace, integration, since: given.since };
      await readHistory(postgres, providerOf(providers, token), named, readAt);
    }
    return { key: opened.key, integrations: opened.integrations };
  } finally {
    await releases.release();
  }
}

type Providers = ReadonlyMap<string, Provider>;

type Opened = Awaited<ReturnType<typeof makeWorkspace>>;

async function makeWorkspace(
  { postgres, vault }: Service,
  providers: Providers,
  { baseCurrency, since }: { readonly baseCurrency: "USD" | "EUR"; readonly since: number },
) {
  const made = new Date(since);
  const environment = "live";
  const given = { name: "Demo", base_currency: baseCurrency };
  const { id: workspace } = await createWorkspace(postgres, given, made);
  const wanted = { environment, scope: "Full Ingress", name: "Demo", expires_at: null } as const;
  const { key } = await createKey(postgres, workspace, wanted, made);
  const connect = async (provider: DemoToken) => {
    const account = newAccount(provider);
    const credentials = providerOf(providers, provider).credentials.parse(account.credentials);
    const integration = { provider, environment, name: null, credentials } as const;
    const row = await createIntegration(postgres, vault, workspace, integration, made);
    return { id: row.id, webhookPath: `/v1/webhooks/${row.token}`, account };
  };
  const integrations = await ofEach(connect);
  return { workspace, key, integrations };
}

/**
 * As whoever connects a provider reads what was before its first call. Here that is nothing: the
 * business began that day.
 */
async function readHistory(
  postgres: Postgres,
  { backfill, historyExport }: Provider,
  {
    since,
    ...of
  }: { readonly workspace: string; readonly integration: string } & { readonly since: number },
  at: Date,
): Promise<void> {
  const list = backfill?.lists[0]?.name ?? historyExport?.name;
  if (list === undefined) return;
  const given = { ...of, from: new Date(startOfMonth(since)), list };
  if (backfill === undefined) {
    await beginExport(postgres, await prepareExport(postgres, given, at), at, at);
  } else {
    await createBackfill(postgres, given, at);
  }
  const begun = await leaseBackfill(postgres, at);
  if (begun === null) throw new Error(`no history of ${of.integration} to read`);
  const ended = { ...begun, state: "done", comparison: [], restUntil: at } as const;
  await moveBackfill(postgres, begun, ended, at);
}

/** As the endpoint makes it of a call: believed, named and sealed. */
async function recordOf(
  into: {
    readonly service: Service;
    readonly providers: Providers;
    readonly hashAccount: HashAccount;
    readonly opened: Opened;
    readonly isSpread: boolean;
  },
  reported: Reported,
  receivedAt: number,
): Promise<{ readonly key: string; readonly value: Buffer }> {
  const { service, opened, hashAccount } = into;
  const provider = providerOf(into.providers, reported.provider);
  const { id: integration, account } = opened.integrations[reported.provider];
  const delivery = signed(reported.provider, account, reported.body, receivedAt);
  const verdict = await provider.verify(delivery, [account.credentials], receivedAt);
  if (!verdict.ok) throw new Error(`${provider.token}: ${verdict.reason}`);
  const parsed = parseBody(provider, delivery.body);
  const heading = parsed.ok ? provider.heading(parsed.value, delivery.headers, receivedAt) : null;
  if (heading === null) throw new Error(`no event of ${provider.token}`);
  const { workspace } = opened;
  const environment = "live";
  const meta = {
    event_id: eventId(workspace, environment, provider.token, heading.nativeId),
    workspace,
    environment,
    provider: provider.token,
    integration,
    form: "webhook",
    native_id: heading.nativeId,
    native_type: heading.nativeType,
    received_at: receivedAt,
    verdict: verdict.verdict,
    rates_edition: service.rates.edition,
  } as const;
  const value = rawEventCodec.encode(sealRawEvent(service.vault, meta, delivery.body));
  const key = rawKey(hashAccount, meta, heading.accountHint);
  // All bulk goes to one partition, so these are booked in the order of receipt.
  return { key: into.isSpread ? key : bulkKey(key), value };
}

function providerOf(providers: Providers, token: DemoToken): Provider {
  const provider = providers.get(token);
  if (provider === undefined) throw new Error(`no adapter for ${token}`);
  return provider;
}
