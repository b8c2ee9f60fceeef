/**
 * Which of the event types that figures need (`neededTypes` of each adapter) have come, from the
 * journal: `missing` only where something proves that they should have. Read on demand, and kept
 * for a moment, so that events cost nothing.
 */
import { clickhouseTime, fromClickhouseTime } from "../stores/clickhouse/rows.js";
import type { ClickHouse } from "../stores/clickhouse/clickhouse.js";
import type { Postgres } from "../stores/postgres/postgres.js";
import type { NeededTypes, Provider } from "../providers/provider.js";
import { ExpiringCache } from "../runtime/expiring-cache.js";
import type { NeededEvents } from "../schemas/http/manage.js";
import { type Connected, unpaidAfterMs, unpaidPurchases } from "./unpaid-purchases.js";

interface Source {
  readonly clickhouse: Pick<ClickHouse, "rows">;
  readonly postgres: Postgres;
  readonly providers: ReadonlyMap<string, Provider>;
}

interface Arrived {
  readonly integration: string;
  readonly native_type: string;
  readonly events: string;
  readonly first_at: string;
  readonly last_at: string;
}

const dayMs = 24 * 60 * 60 * 1000;
/** A look costs by the events it reads; its answer is kept for a second for each so many. */
const eventsPerSecond = 50_000;
const freshMs = { min: 2_000, max: 10 * 60_000 };
const workspacesKeptMax = 1_000;
const proofsLookedAtMax = 100;

interface Answer {
  readonly events: number;
  readonly byIntegration: ReadonlyMap<string, readonly NeededEvents[]>;
}

/** By workspace: what each of its integrations needs, by its id. */
export type NeededOf = (workspace: string) => Promise<ReadonlyMap<string, readonly NeededEvents[]>>;

export function openNeededEvents(source: Source): NeededOf {
  const cache = new ExpiringCache<Answer>({
    ttlMs: freshMs.min,
    ttlMsOf: ({ events }) =>
      Math.min(Math.max((events / eventsPerSecond) * 1000, freshMs.min), freshMs.max),
    entriesMax: workspacesKeptMax,
    load: (workspace) => neededOf(source, workspace, Date.now()),
  });
  return async (workspace: string) => (await cache.get(workspace)).byIntegration;
}

/** Integrations that evidently lack event types, by provider; 0 where all is well. */
export async function lackingByProvider(source: Source): Promise<Record<string, number>> {
  const lacking: Record<string, number> = {};
  const workspaces = await source.postgres.query<{ workspace: string }>(
    "SELECT DISTINCT workspace FROM integrations WHERE deleted_at IS NULL ORDER BY workspace",
  );
  for (const { workspace } of workspaces) {
    const connected = await connectedIn(source.postgres, workspace);
    const { byIntegration } = await neededOf(source, workspace, Date.now(), connected);
    for (const { id, provider } of connected) {
      const isLacking = byIntegration.get(id)?.some(({ state }) => state === "missing") === true;
      lacking[provider] = (lacking[provider] ?? 0) + (isLacking ? 1 : 0);
    }
  }
  return lacking;
}

/** @param now ms since 1970 */
export async function neededOf(
  source: Source,
  workspace: string,
  now: number,
  integrations?: readonly Connected[],
): Promise<Answer> {
  const connected = integrations ?? (await connectedIn(source.postgres, workspace));
  const rows = await arrivedIn(source.clickhouse, workspace, connected);
  const byIntegration = new Map<string, readonly NeededEvents[]>();
  for (const integration of connected) {
    const groups = source.providers.get(integration.provider)?.neededTypes ?? [];
    const own = rows.filter((row) => row.integration === integration.id);
    const needed: NeededEvents[] = [];
    for (const group of groups) needed.push(await stateOf(source, integration, group, own, now));
    byIntegration.set(integration.id, needed);
  }
  return { events: rows.reduce((sum, row) => sum + Number(row.events), 0), byIntegration };
}

function connectedIn(postgres: Postgres, workspace: string): Promise<Connected[]> {
  return postgres.query<Connected>(
    `SELECT id, workspace, provider, environment FROM integrations
     WHERE workspace = $1 AND deleted_at IS NULL`,
    [workspace],
  );
}

async function arrivedIn(
  clickhouse: Source["clickhouse"],
  workspace: string,
  connected: readonly Connected[],
): Promise<Arrived[]> {
  if (connected.length === 0) return [];
  return clickhouse.rows<Arrived>(
    `SELECT integration, native_type, toString(count()) AS events, min(received_at) AS first_at,
       max(received_at) AS last_at
     FROM raw_events
     WHERE workspace = {workspace:String} AND form = 'webhook'
       AND integration IN {integrations:Array(String)}
     GROUP BY integration, native_type`,
    { workspace, integrations: connected.map(({ id }) => id) },
  );
}

async function stateOf(
  { clickhouse, providers }: Source,
  integration: Connected,
  group: NeededTypes,
  arrived: readonly Arrived[],
  now: number,
): Promise<NeededEvents> {
  const own = arrived.filter(({ native_type: type }) => group.types.includes(type));
  const lastAt = own.length === 0 ? null : Math.max(...own.map(lastOf));
  const others = providers.get(integration.provider)?.neededTypes ?? [];
  const arrivedFor = (what: NeededTypes["for"]): number | null => {
    const types = others.find((other) => other.for === what)?.types ?? [];
    const firsts = arrived.filter(({ native_type: type }) => types.includes(type)).map(firstOf);
    return firsts.length === 0 ? null : Math.min(...firsts);
  };

  async function isMissing(): Promise<boolean> {
    const { purchasesIn = [], mrrDays = null, subscriptionsSold = false } = group.proof ?? {};
    // The steps below look only at what a cheaper one made suspect.
    const span = { from: lastAt === null ? 0 : lastAt + unpaidAfterMs, to: now - unpaidAfterMs };
    const isSuspect = arrived.some(
      (row) => purchasesIn.includes(row.native_type) && lastOf(row) > span.from,
    );
    if (isSuspect && span.from < span.to) {
      const most = proofsLookedAtMax;
      const look = await unpaidPurchases(clickhouse, integration, purchasesIn, span, most);
      if (look.unpaid.length > 0) return true;
    }
    if (lastAt !== null) return false;
    const subscribed = mrrDays === null ? null : arrivedFor("subscriptions");
    const since = now - (mrrDays ?? 0) * dayMs;
    if (subscribed !== null && subscribed < since && (await hasMrr(clickhouse, integration, since)))
      return true;
    const paid = subscriptionsSold ? arrivedFor("payments") : null;
    const isPaidLong = paid !== null && paid < now - unpaidAfterMs;
    return isPaidLong && soldSubscriptions(clickhouse, integration, now - unpaidAfterMs);
  }

  const state = (await isMissing()) ? "missing" : lastAt === null ? "not_seen" : "received";
  return {
    for: group.for,
    types: [...group.types],
    state,
    last_at: lastAt === null ? null : new Date(lastAt).toISOString(),
  };
}

function firstOf({ first_at: at }: Arrived): number {
  return fromClickhouseTime(at);
}

function lastOf({ last_at: at }: Arrived): number {
  return fromClickhouseTime(at);
}

async function hasMrr(
  clickhouse: Source["clickhouse"],
  { workspace, environment, provider }: Connected,
  since: number,
): Promise<boolean> {
  const [row] = await clickhouse.rows<{ has: number }>(
    `SELECT sum(mrr) > 0 AS has FROM mrr_movements
     WHERE workspace = {workspace:String} AND environment = {environment:String}
       AND provider = {provider:String} AND at <= {since:DateTime64(3, 'UTC')}`,
    { workspace, environment, provider, since: clickhouseTime(since) },
  );
  return row?.has === 1;
}

async function soldSubscriptions(
  clickhouse: Source["clickhouse"],
  { workspace, environment, provider }: Connected,
  before: number,
): Promise<boolean> {
  const rows = await clickhouse.rows(
    `SELECT 1 FROM transactions
     WHERE workspace = {workspace:String} AND environment = {environment:String}
       AND provider = {provider:String} AND type = 'subscription' AND backfill = 0
       AND recorded_at <= {before:DateTime64(3, 'UTC')} LIMIT 1`,
    { workspace, environment, provider, before: clickhouseTime(before) },
  );
  return rows.length > 0;
}
