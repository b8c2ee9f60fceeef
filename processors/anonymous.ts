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
import type { Fact } from "../schemas/records.js";
import { type Change, insertChanges, rowScope } from "./changes.js";
import type { TouchedAccount } from "./movements.js";
import { bySideReceipt, Pairing, type Side } from "./pairing.js";
import { listWaiting } from "./waiting-churns.js";

/**
 * @returns the accounts whose ends came true or were taken back by this batch, under the event that
 *   did it: inserted now, or before a crash that left their movements undone
 */
export async function bookAnonymous(
  clickhouse: ClickHouse,
  batch: readonly Fact[],
): Promise<TouchedAccount[]> {
  const sides = batch.flatMap(sideOf);
  if (sides.length === 0) return [];
  await insertSides(clickhouse, sides);
  const changes: Change[] = [];
  const changedBefore: TouchedAccount[] = [];
  for (const pool of poolsOf(await knownSides(clickhouse, sides))) {
    const here = new Set(sides.map(({ fact_id }) => fact_id));
    const { pairing, revisions } = revisionsOf(pool, here);
    const stored = await storedEnds(clickhouse, pool);
    changes.push(...missingIn(stored, pool, pairing, revisions));
    changedBefore.push(...endedSince(firstReceipt(sides, pool), stored));
    await listWaiting(clickhouse, batch, pool, pairing.waiting);
  }
  await insertChanges(clickhouse, changes);
  return [...changes, ...changedBefore];
}

/** Every revision that the sides of this batch or later ones made: each had its movements. */
function endedSince(since: string, { revisions }: StoredEnds): TouchedAccount[] {
  return revisions
    .filter(({ recorded_at: recordedAt }) => recordedAt >= since)
    .map(({ workspace, environment, account, event_id, recorded_at }) => {
      return { workspace, environment, account, event_id, recorded_at };
    });
}

/** Of the batch's sides in the pool, as they came now: a redelivery changed nothing before. */
function firstReceipt(sides: readonly Side[], pool: readonly Side[]): string {
  const ids = new Set(pool.map(({ fact_id }) => fact_id));
  const here = sides.filter(({ fact_id }) => ids.has(fact_id));
  return here.map(({ recorded_at }) => recorded_at).toSorted()[0] ?? "";
}

/** The ends as known after each side, in order of receipt, from the first of this batch on. */
function revisionsOf(
  pool: readonly Side[],
  here: ReadonlySet<string>,
): { pairing: Pairing; revisions: Change[] } {
  const pairing = new Pairing();
  const revisions: Change[] = [];
  let isHere = false;
  for (const [index, side] of pool.toSorted(bySideReceipt).entries()) {
    isHere ||= here.has(side.fact_id);
    const moved = pairing.add(side);
    if (!isHere) continue;
    for (const start of moved) {
      revisions.push(endChange(start, pairing.ends.get(start) ?? null, side, index + 1));
    }
  }
  return { pairing, revisions };
}

/**
 * The revisions that are not stored. Where one that is stored knows less and has a greater number
 * (a side received earlier came to booking later), a last one brings the end to what it should be.
 */
function missingIn(
  stored: StoredEnds,
  pool: readonly Side[],
  { ends }: Pairing,
  revisions: readonly Change[],
): Change[] {
  const newest = new Map(stored.newest);
  const missing = revisions.filter((change) => {
    const known = stored.newest.get(change.change_id);
    return known === undefined || change.revision > known.revision;
  });
  for (const { change_id, revision, at, void: isVoid } of missing) {
    newest.set(change_id, { revision, at: isVoid ? null : at });
  }
  const cause = pool.toSorted(bySideReceipt).at(-1);
  for (const start of pool) {
    if (start.side !== "start" || cause === undefined) continue;
    const is = newest.get(endId(start));
    const should = ends.get(start) ?? null;
    if (should === (is?.at ?? null)) continue;
    missing.push(endChange(start, should, cause, Math.max(pool.length, (is?.revision ?? 0) + 1)));
  }
  return missing;
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

interface StoredEnds {
  /** By change id; null: taken back. */
  readonly newest: ReadonlyMap<string, { readonly revision: number; readonly at: string | null }>;
  readonly revisions: readonly TouchedAccount[];
}

async function storedEnds(clickhouse: ClickHouse, pool: readonly Side[]): Promise<StoredEnds> {
  if (!pool.some(({ side }) => side === "churn")) return { newest: new Map(), revisions: [] };
  const starts = pool.filter(({ side }) => side === "start");
  const revisions = await clickhouse.rows<
    TouchedAccount & Pick<Change, "change_id" | "revision" | "at" | "void">
  >(
    `SELECT workspace, environment, account, change_id, revision, at, void, event_id, recorded_at
     FROM subscription_changes
     WHERE ${rowsIn(
       "(workspace, environment, account)",
       starts.map((start) => [start.workspace, start.environment, start.account]),
     )} AND ${rowsIn(
       "(change_id)",
       starts.map((start) => [endId(start)]),
     )}
     ORDER BY revision`,
  );
  const newest = new Map(
    revisions.map(({ change_id, revision, at, void: isVoid }) => [
      change_id,
      { revision, at: isVoid ? null : at },
    ]),
  );
  return { newest, revisions };
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
