/**
 * Ends that name no account of their own. A form A churn without a `subscription_id` ends the
 * oldest open subscription of its pool that was also sent without one; one with an id ends that
 * subscription, whatever account its start was under. Pairs are made by time, whatever the order
 * of arrival, so a late event may pair anew: an end is a change whose newest revision counts.
 */
import { limits } from "../config.js";
import { clickhouseTime, rowsIn } from "../backends/clickhouse-rows.js";
import { jsonRows } from "../backends/clickhouse-text.js";
import type { ClickHouse } from "../backends/clickhouse.js";
import type { Environment, Fact } from "../schemas/records.js";
import { type Change, insertChanges, rowScope } from "./changes.js";
import { listWaiting } from "./waiting-churns.js";

/** A row of `anonymous_sides`. */
export interface Side {
  readonly workspace: string;
  readonly environment: Environment;
  readonly pool: string;
  /** As ClickHouse writes it. */
  readonly at: string;
  readonly fact_id: string;
  readonly side: "start" | "churn";
  readonly provider: string;
  readonly subscription: string;
  readonly account: string;
  readonly event_id: string;
  readonly recorded_at: string;
}

/** @returns the changes inserted: ends that came true, and ends taken back */
export async function bookAnonymous(
  clickhouse: ClickHouse,
  batch: readonly Fact[],
): Promise<Change[]> {
  const sides = batch.flatMap(sideOf);
  if (sides.length === 0) return [];
  await insertSides(clickhouse, sides);
  const changes: Change[] = [];
  for (const pool of poolsOf(await knownSides(clickhouse, sides))) {
    const { ends, waiting } = pair(pool);
    const cause = pool.reduce((newest, side) =>
      side.recorded_at > newest.recorded_at ? side : newest,
    );
    const stored = await storedEnds(clickhouse, pool);
    for (const start of pool) {
      if (start.side !== "start") continue;
      const should = ends.get(start.fact_id) ?? null;
      if (should === (stored.get(endId(start)) ?? null)) continue;
      changes.push(endChange(start, should, cause, pool.length));
    }
    await listWaiting(clickhouse, batch, pool, waiting);
  }
  await insertChanges(clickhouse, changes);
  return changes;
}

/** Who ends when: the time of the churn by the start's fact, and the churns without a partner. */
export function pair(sides: readonly Side[]): { ends: Map<string, string>; waiting: Side[] } {
  const ends = new Map<string, string>();
  const waiting: Side[] = [];
  const open: Side[] = [];
  const inTime = [...sides].sort(
    (one, other) =>
      compare(one.at, other.at) ||
      // A start and a churn of the same moment: there is something to end.
      compare(other.side, one.side) ||
      compare(one.fact_id, other.fact_id),
  );
  let oldest = 0;
  for (const side of inTime) {
    if (side.side === "start") {
      open.push(side);
      continue;
    }
    // A named subscription is one, however often its price was told: the newest start has its
    // account, and a churn of what is ended already ends nothing.
    const ended = isNamed(side.pool) ? open.at(-1) : open[oldest];
    if (ended === undefined) {
      waiting.push(side);
      continue;
    }
    if (ends.has(ended.fact_id)) continue;
    if (!isNamed(side.pool)) oldest += 1;
    ends.set(ended.fact_id, side.at);
  }
  return { ends, waiting };
}

/** The pool of one subscription that has an id (`providers/record-facts.ts`). */
function isNamed(pool: string): boolean {
  return pool.startsWith('["named"');
}

function sideOf(fact: Fact): Side[] {
  if (!("Anonymous" in fact.body)) return [];
  const { pool, side, at, subscription, account } = fact.body.Anonymous;
  const { recorded_at, ...scope } = rowScope(fact);
  return [
    {
      ...scope,
      pool,
      at: clickhouseTime(at),
      fact_id: fact.fact_id,
      side,
      subscription,
      account,
      recorded_at,
    },
  ];
}

const columns =
  "workspace String, environment String, pool String, at DateTime64(3, 'UTC'), fact_id String, " +
  "side String, provider String, subscription String, account String, event_id String, " +
  "recorded_at DateTime64(3, 'UTC')";

async function insertSides(clickhouse: ClickHouse, sides: readonly Side[]): Promise<void> {
  const identity = "workspace, environment, pool, fact_id";
  await clickhouse.write(
    `INSERT INTO anonymous_sides SELECT * FROM ${jsonRows(columns, sides)}
     WHERE (${identity}) NOT IN (
       SELECT ${identity} FROM anonymous_sides WHERE ${inPools(sides)})`,
    {},
    "subscriptions",
  );
}

/** The earliest by time; past the maximum of a pool later ones wait for ever, said in the docs. */
async function knownSides(clickhouse: ClickHouse, touched: readonly Side[]): Promise<Side[]> {
  return clickhouse.rows<Side>(
    `SELECT workspace, environment, pool, at, fact_id, side, provider, subscription, account,
            event_id, recorded_at
     FROM anonymous_sides WHERE ${inPools(touched)}
     ORDER BY workspace, environment, pool, at, fact_id
     LIMIT ${limits.anonymousPoolSidesMax} BY workspace, environment, pool`,
  );
}

/** The ends recorded so far, by change id; null when the newest revision took it back. */
async function storedEnds(
  clickhouse: ClickHouse,
  pool: readonly Side[],
): Promise<Map<string, string | null>> {
  if (!pool.some(({ side }) => side === "churn")) return new Map();
  const starts = pool.filter(({ side }) => side === "start");
  const rows = await clickhouse.rows<{ change_id: string; at: string; void: number }>(
    `SELECT change_id, at, void FROM subscription_changes
     WHERE ${rowsIn(
       "(workspace, environment, account)",
       starts.map((start) => [start.workspace, start.environment, start.account]),
     )} AND ${rowsIn(
       "(change_id)",
       starts.map((start) => [endId(start)]),
     )}
     ORDER BY revision DESC LIMIT 1 BY change_id`,
  );
  return new Map(rows.map((row) => [row.change_id, row.void ? null : row.at]));
}

function endChange(start: Side, at: string | null, cause: Side, revision: number): Change {
  return {
    workspace: start.workspace,
    environment: start.environment,
    account: start.account,
    provider: start.provider,
    subscription: start.subscription,
    change_id: endId(start),
    revision,
    void: at === null ? 1 : 0,
    at: at ?? start.at,
    phase: "ended",
    event_id: cause.event_id,
    recorded_at: cause.recorded_at,
    currency: "",
    country: "ZZ",
    steps: [{ at: at ?? start.at, items: [] }],
  };
}

function endId(start: Side): string {
  return `${start.fact_id}:ended`;
}

function poolsOf(sides: readonly Side[]): Side[][] {
  const pools = new Map<string, Side[]>();
  for (const side of sides) {
    const key = JSON.stringify([side.workspace, side.environment, side.pool]);
    const pool = pools.get(key);
    if (pool) pool.push(side);
    else pools.set(key, [side]);
  }
  return [...pools.values()];
}

function inPools(sides: readonly Side[]): string {
  return rowsIn(
    "(workspace, environment, pool)",
    sides.map((side) => [side.workspace, side.environment, side.pool]),
  );
}

function compare(one: string, other: string): number {
  return one === other ? 0 : one < other ? -1 : 1;
}
