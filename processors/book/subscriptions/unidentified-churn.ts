/**
 * Ends that name no account of their own. A form A churn without a `subscription_id` ends the
 * oldest open subscription of its pool that was also sent without one; one with an id ends that
 * subscription, under any account. Pairs are made by time, not by order of arrival, so a late event
 * may change a pair: an end is a change whose newest revision counts.
 */
import { limits } from "../../../config.js";
import { clickhouseTime, matching } from "../../../clickhouse/rows.js";
import { partsOf } from "../../../clickhouse/sql-text.js";
import type { ClickHouse } from "../../../clickhouse/clickhouse.js";
import { chunksBySize } from "../../../runtime/chunk.js";
import { grouped } from "../../../runtime/grouped.js";
import type { Fact } from "../../../schemas/records/records.js";
import type { AccountSizes } from "./account-quota.js";
import { insertChanges, rowScope } from "./changes.js";
import type { TouchedAccount } from "./movements.js";
import { bySideReceipt, Pairing, type Side } from "./pairing.js";
import { listWaiting } from "./waiting-churns.js";
import { type Change, inAccounts } from "./change.js";

/** Of them, gone through again in one batch because others came late: after it, all at once. */
const unidentifiedPairedAgainMax = 200_000;

export interface PairedChurns {
  /**
   * The accounts whose ends came true or were taken back by this batch, under the event that did
   * it: inserted now, or before a crash that left their movements undone.
   */
  readonly touched: readonly TouchedAccount[];
  /** Churns whose ends their accounts had no room for, and what would have taken one back. */
  readonly refused: readonly Side[];
}

export async function pairChurns(
  clickhouse: ClickHouse,
  batch: readonly Fact[],
  sizes: AccountSizes | null = null,
): Promise<PairedChurns> {
  const sides = batch.flatMap(sideOf);
  if (sides.length === 0) return { touched: [], refused: [] };
  await insertSides(clickhouse, sides);
  const booked: PairedChurns[] = [];
  const { unidentifiedPoolSidesMax: sidesMax } = limits;
  for (const pools of chunksBySize(
    await sizesOf(clickhouse, sides),
    sidesMax,
    ({ size }) => size,
  )) {
    booked.push(await bookPools(clickhouse, sides, pools, sizes));
  }
  return {
    touched: booked.flatMap(({ touched }) => touched),
    refused: booked.flatMap(({ refused }) => refused),
  };
}

async function bookPools(
  clickhouse: ClickHouse,
  sides: readonly Side[],
  wanted: readonly Pool[],
  sizes: AccountSizes | null,
): Promise<PairedChurns> {
  const pools = poolsOf(await knownSides(clickhouse, wanted));
  const stored = await storedEnds(clickhouse, pools.filter(hasChurn).flat());
  const here = new Map(sides.map(({ fact_id, recorded_at }) => [fact_id, recorded_at]));
  const changes: Change[][] = [];
  const changedBefore: TouchedAccount[][] = [];
  const waiting: Side[][] = [];
  let pairedAgainMax: number = unidentifiedPairedAgainMax;
  for (const pool of pools) {
    const { pairing, revisions } = revisionsOf(pool, here, pairedAgainMax);
    pairedAgainMax -= pairing.pairedAgain;
    changes.push(missingIn(stored, pool, pairing, revisions));
    changedBefore.push(endedSince(firstReceipt(pool, here), pool, stored));
    waiting.push([...pairing.waiting]);
  }
  await listWaiting(clickhouse, pools.flat(), waiting.flat());
  const missing = changes.flat();
  const beyond = new Set(await insertChanges(clickhouse, missing, sizes));
  return {
    touched: [...missing.filter((end) => !beyond.has(end)), ...changedBefore.flat()],
    refused: beyond.size === 0 ? [] : pools.flatMap((pool) => refusedIn(pool, beyond)),
  };
}

/**
 * Whose ends had no room: a missing end is tried again with the next event of its pool, so it is
 * the churn's own event that is refused, and not the one that came.
 */
function refusedIn(pool: readonly Side[], beyond: ReadonlySet<Change>): Side[] {
  const ids = new Set(pool.filter(({ side }) => side === "start").map(endId));
  const ends = [...beyond].filter(({ change_id: id }) => ids.has(id));
  const takenBack = new Set(ends.flatMap((end) => (end.void === 1 ? end.event_id : [])));
  const moments = new Set(ends.flatMap((end) => (end.void === 1 ? [] : end.at)));
  return pool.filter(({ side, at, event_id: event }) => {
    return takenBack.has(event) || (side === "churn" && moments.has(at));
  });
}

/** Every revision that the sides of this batch or later ones made: each had its movements. */
function endedSince(since: string, pool: readonly Side[], stored: StoredEnds): TouchedAccount[] {
  return pool
    .flatMap((start) => stored.get(endId(start)) ?? [])
    .filter(({ recorded_at: recordedAt }) => recordedAt >= since);
}

/** Of the batch's sides in the pool, as they came now: a redelivery changed nothing before. */
function firstReceipt(pool: readonly Side[], here: ReadonlyMap<string, string>): string {
  return pool.flatMap(({ fact_id: id }) => here.get(id) ?? []).toSorted()[0] ?? "";
}

/**
 * The ends as known after each side, in order of receipt, from the first of this batch on. Where
 * sides have to be paired again, those of one receipt count together; past the maximum of that, all
 * that are left.
 */
function revisionsOf(
  pool: readonly Side[],
  here: ReadonlyMap<string, string>,
  pairedAgainMax: number,
): { pairing: Pairing; revisions: Change[] } {
  const pairing = new Pairing();
  const revisions: Change[] = [];
  const sides = pool.toSorted(bySideReceipt);
  const before = sides.findIndex(({ fact_id: id }) => here.has(id));
  for (const side of before < 0 ? sides : sides.slice(0, before)) pairing.add(side);
  pairing.moved();
  const pairedBefore = pairing.pairedAgain;
  for (const [index, side] of sides.entries()) {
    if (before < 0 || index < before) continue;
    pairing.add(side);
    const next = sides[index + 1];
    const isTogether = !pairing.isPaired && next?.recorded_at === side.recorded_at;
    const isTooMuch = pairing.pairedAgain - pairedBefore > pairedAgainMax;
    if (next !== undefined && (isTogether || isTooMuch)) continue;
    for (const start of pairing.moved()) {
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
  const newest = new Map<string, Revision>();
  for (const start of pool) {
    const known = stored.get(endId(start))?.at(-1);
    if (known !== undefined) newest.set(endId(start), known);
  }
  const missing = revisions.filter((change) => {
    const known = newest.get(change.change_id);
    return known === undefined || change.revision > known.revision;
  });
  for (const change of missing) newest.set(change.change_id, change);
  const cause = pool.toSorted(bySideReceipt).at(-1);
  for (const start of pool) {
    if (start.side !== "start" || cause === undefined) continue;
    const is = newest.get(endId(start));
    const should = ends.get(start) ?? null;
    if (should === (is === undefined || is.void === 1 ? null : is.at)) continue;
    missing.push(endChange(start, should, cause, Math.max(pool.length, (is?.revision ?? 0) + 1)));
  }
  return missing;
}

function sideOf(fact: Fact): Side[] {
  if (!("Unidentified" in fact.body)) return [];
  const { fact_id, native_type, partition } = fact;
  const reported = { ...rowScope(fact), ...fact.body.Unidentified };
  const at = clickhouseTime(reported.at);
  return [{ fact_id, native_type, partition, offset: fact.offset.toString(), ...reported, at }];
}

const columns =
  "workspace String, environment String, pool String, at DateTime64(3, 'UTC'), fact_id String, " +
  "side String, provider String, subscription String, account String, event_id String, " +
  "recorded_at DateTime64(3, 'UTC'), native_type String, partition UInt16, offset UInt64";

async function insertSides(clickhouse: ClickHouse, sides: readonly Side[]): Promise<void> {
  const identity = "workspace, environment, pool, fact_id";
  for (const { rows, table } of partsOf(columns, sides)) {
    await clickhouse.write(
      `INSERT INTO unidentified_sides SELECT * FROM ${table}
       WHERE (${identity}) NOT IN (
         SELECT ${identity} FROM unidentified_sides WHERE ${inPools(rows)})`,
      {},
      "subscriptions",
    );
  }
}

type Pool = Pick<Side, "workspace" | "environment" | "pool">;

/** The pools of these sides and how many sides each has, of which `knownSides` reads some. */
async function sizesOf(
  clickhouse: ClickHouse,
  sides: readonly Side[],
): Promise<(Pool & { readonly size: number })[]> {
  return clickhouse.rows<Pool & { readonly size: number }>(
    `SELECT workspace, environment, pool,
            toUInt32(least(count(), ${limits.unidentifiedPoolSidesMax})) AS size
     FROM unidentified_sides WHERE ${inPools(sides)}
     GROUP BY workspace, environment, pool ORDER BY workspace, environment, pool`,
  );
}

/** The earliest by time; past the maximum of a pool later ones wait for ever, said in the docs. */
async function knownSides(clickhouse: ClickHouse, touched: readonly Pool[]): Promise<Side[]> {
  return clickhouse.rows<Side>(
    `SELECT workspace, environment, pool, at, fact_id, side, provider, subscription, account,
            event_id, recorded_at, native_type, partition, offset
     FROM unidentified_sides WHERE ${inPools(touched)}
     ORDER BY workspace, environment, pool, at, fact_id
     LIMIT ${limits.unidentifiedPoolSidesMax} BY workspace, environment, pool`,
  );
}

type Revision = Pick<Change, "change_id" | "revision" | "at" | "void">;
/** By change id, each in the order of its revisions. */
type StoredEnds = ReadonlyMap<string, readonly (TouchedAccount & Revision)[]>;

async function storedEnds(clickhouse: ClickHouse, sides: readonly Side[]): Promise<StoredEnds> {
  const starts = sides.filter(({ side }) => side === "start");
  if (starts.length === 0) return new Map();
  const ids = starts.map((start) => ({ change_id: endId(start) }));
  const stored = await clickhouse.rows<TouchedAccount & Revision>(
    `SELECT workspace, environment, account, change_id, revision, at, void, event_id, recorded_at
     FROM subscription_changes
     WHERE ${inAccounts(starts)} AND ${matching(ids, "change_id")}
     ORDER BY revision`,
  );
  return grouped(stored, ({ change_id: id }) => id);
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
    country: "",
    steps: [{ at: at ?? start.at, items: [] }],
  };
}

function endId(start: Side): string {
  return `${start.fact_id}:ended`;
}

function poolsOf(sides: readonly Side[]): Side[][] {
  const nameOf = (side: Side) => JSON.stringify([side.workspace, side.environment, side.pool]);
  return [...grouped(sides, nameOf).values()];
}

function hasChurn(pool: readonly Side[]): boolean {
  return pool.some(({ side }) => side === "churn");
}

function inPools(sides: readonly Pool[]): string {
  return matching(sides, "workspace", "environment", "pool");
}
