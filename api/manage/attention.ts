/**
 * `GET …/attention`: what an environment's figures miss, or may miss soon. Every screen of the
 * dashboard asks for it, so it is kept for a few seconds.
 */
import { limits } from "../../config.js";
import { staleDays } from "../../workspaces/rates/rates.js";
import { type OpenRejects, countOpenRejects } from "../../workspaces/rejects/rejects.js";
import { ExpiringCache } from "../../runtime/expiring-cache.js";
import type { Service } from "../../service.js";
import { type AttentionView, attention, attentionQuery } from "../../schemas/http/manage.js";
import { type RateSource, rateSources } from "../../schemas/money/rates.js";
import type { Environment, Tenant } from "../../schemas/records/records.js";
import { callsOf } from "../../workspaces/integration-calls.js";
import { integrationsOf } from "../../workspaces/integration-records.js";
import type { CoverageOf } from "../../workspaces/history/coverage.js";
import type { NeededOf } from "../../workspaces/needed-events.js";
import type { Provider } from "../../providers/provider.js";
import { type Manage, ofWorkspace } from "./calls.js";
import { callHealth } from "./integrations/health.js";
import { storedEnvironment } from "./environments.js";

const keptMs = 5_000;
const keptMax = 1_000;
const rejectGroupsMax = 100;
const integrationsMax = 200;
/** Time to enter the URL at the provider after connecting it. */
const waitingMsMax = 24 * 60 * 60 * 1000;
/** Old rates matter if payments of this many days needed them. */
const ratesUsedDays = 30;

type AttentionService = Pick<Service, "clickhouse" | "postgres" | "rates">;

interface Known {
  readonly neededOf: NeededOf;
  readonly coverageOf: CoverageOf;
  readonly providers: ReadonlyMap<string, Pick<Provider, "backfill" | "historyExport">>;
}

export function openAttention(service: AttentionService, known: Known): Manage["attentionOf"] {
  const keptOf = (environment: Environment) =>
    new ExpiringCache({
      ttlMs: keptMs,
      entriesMax: keptMax,
      load: (id) => readAttention(service, known, { workspace: id, environment }, Date.now()),
    });
  const kept = { live: keptOf("live"), test: keptOf("test") };
  return (id, environment) => kept[environment].get(id);
}

export const attentionRoutes = [
  ofWorkspace.get("/attention", "What keeps figures from being whole", {
    right: "look",
    query: attentionQuery,
    answer: attention,
    run: ({ attentionOf, of, query }) =>
      attentionOf(of.id, storedEnvironment(query.environment ?? "Production")),
  }),
];

/** @param now ms since 1970 */
async function readAttention(
  service: AttentionService,
  known: Known,
  tenant: Tenant,
  now: number,
): Promise<AttentionView> {
  const { postgres, clickhouse } = service;
  const [connected, webhooks, rejects, rates, needed] = await Promise.all([
    integrationsOf(postgres, tenant, integrationsMax),
    disabledWebhooks(postgres, tenant),
    countOpenRejects(clickhouse, tenant, rejectGroupsMax),
    staleRates(service, tenant),
    known.neededOf(tenant.workspace),
  ]);
  const [integrations, history] = await Promise.all([
    silentAmong(postgres, connected, needed, now),
    Promise.all(connected.map((row) => unreadHistory(row, known, tenant, now))),
  ]);
  return {
    rejects: rejects.map((group) => ({
      ...rejectGroup(group),
      integration: soleId(connected.filter(({ provider }) => provider === group.provider)),
    })),
    rates,
    integrations,
    history: history.flat(),
    webhooks,
  };
}

/** Those that are silent, or whose calls are refused. */
export async function silentIntegrations(
  postgres: AttentionService["postgres"],
  tenant: Tenant,
  now: number,
): Promise<AttentionView["integrations"]> {
  const connected = await integrationsOf(postgres, tenant, integrationsMax);
  return silentAmong(postgres, connected, new Map(), now);
}

async function silentAmong(
  postgres: AttentionService["postgres"],
  connected: readonly Connected[],
  needed: Awaited<ReturnType<NeededOf>>,
  now: number,
): Promise<AttentionView["integrations"]> {
  const calls = connected.length === 0 ? [] : await callsOf(postgres, connected.map(idOf));
  return connected.flatMap((row) => {
    const own = calls.filter(({ integration }) => integration === row.id);
    return silentOrFailing(row, callHealth(own, now, needed.get(row.id)), now);
  });
}

async function disabledWebhooks(
  postgres: AttentionService["postgres"],
  { workspace, environment }: Tenant,
): Promise<AttentionView["webhooks"]> {
  const rows = await postgres.query<DisabledWebhook>(
    `SELECT id, url, disabled_by, disabled_at FROM webhook_endpoints
     WHERE workspace = $1 AND environment = $2 AND disabled_by <> 'member'
     ORDER BY disabled_at DESC, id LIMIT $3`,
    [workspace, environment, limits.webhookEndpointsMax],
  );
  return rows.map(({ id, url, disabled_by, disabled_at: at }) => {
    return { id, host: new URL(url).host, disabled_by, since: at.toISOString() };
  });
}

interface DisabledWebhook extends Pick<AttentionView["webhooks"][number], "id" | "disabled_by"> {
  readonly url: string;
  readonly disabled_at: Date;
}

function rejectGroup({ provider, reason, step, events, last_at: at }: OpenRejects) {
  const last_received_at = `${at.replace(" ", "T")}Z`;
  return { provider, reason, step, events: Number(events), last_received_at };
}

async function staleRates(
  { clickhouse, rates }: AttentionService,
  { workspace, environment }: Tenant,
): Promise<AttentionView["rates"]> {
  const [days, ages] = [rates.newestDay(), rates.newestAgeDays()];
  const stale = rateSources.filter((source) => ages[source] > staleDays);
  if (stale.length === 0) return [];
  const used = await clickhouse.rows<{ readonly source: RateSource }>(
    `SELECT DISTINCT fx_source AS source FROM transactions
     WHERE workspace = {workspace:String} AND environment = {environment:String}
       AND timestamp >= now() - toIntervalDay({days:UInt16})`,
    { workspace, environment, days: ratesUsedDays },
  );
  const isUsed = new Set(used.map(({ source }) => source));
  return stale
    .filter((source) => isUsed.has(source))
    .map((source) => ({ source, newest_day: days[source] }));
}

type Connected = Awaited<ReturnType<typeof integrationsOf>>[number];

function silentOrFailing(
  { id, provider, name, created_at }: Connected,
  { state, taken, refused }: ReturnType<typeof callHealth>,
  now: number,
): AttentionView["integrations"] {
  if (state === "receiving") return [];
  if (state === "waiting" && now - created_at.getTime() < waitingMsMax) return [];
  const since = (state === "refused" ? refused : taken)?.last_at ?? created_at;
  const refused_reason = state === "refused" ? (refused?.verdict ?? null) : null;
  return [{ id, provider, name, state, since: since.toISOString(), refused_reason }];
}

async function unreadHistory(
  row: Connected,
  { coverageOf, providers }: Known,
  { workspace }: Tenant,
  now: number,
): Promise<AttentionView["history"]> {
  const { backfill, historyExport } = providers.get(row.provider) ?? {};
  if (backfill === undefined && historyExport === undefined) return [];
  const { unread_until } = await coverageOf(workspace, row, now);
  const { id, provider, name } = row;
  return unread_until === null ? [] : [{ id, provider, name, unread_until }];
}

function idOf({ id }: { readonly id: string }): string {
  return id;
}

function soleId(rows: readonly Connected[]): string | null {
  return rows.length === 1 ? (rows[0]?.id ?? null) : null;
}
