/**
 * Ends that name no account. A form A churn without a `subscription_id` ends the oldest open
 * subscription of its pool that was also sent without one; one with an id ends that subscription,
 * under any account. Pairs are made by time, so a late event may change a pair: an end is a change
 * whose newest revision counts.
 */
import { limits } from "../../../config.js";
import type { ClickHouse } from "../../../stores/clickhouse/clickhouse.js";
import { clickhouseTime, matching } from "../../../stores/clickhouse/rows.js";
import { partsOf } from "../../../stores/clickhouse/sql-text.js";
import { compare, grouped } from "../../../runtime/lists.js";
import type { Fact } from "../../../schemas/records/records.js";
import { rowScope } from "./changes.js";
import type { Change } from "../../../schemas/subscriptions/change.js";
import { bySideReceipt, Pairing, type Side, isNamed } from "./pairing.js";
import type { RejectRow } from "../../../workspaces/rejects/rejects.js";

/**
 * Sides gone through again in one batch because others came late; beyond it all are paired at once.
 */
const pairedAgainMax = 200_000;

export type EndRevision = Pick<
  Change,
  "account" | "change_id" | "revision" | "at" | "void" | "event_id" | "recorded_at"
>;

export const sideColumns =
  "workspace String, environment String, pool String, at DateTime64(3, 'UTC'), fact_id String, " +
  "side String, provider String, subscription String, account String, event_id String, " +
  "recorded_at DateTime64(3, 'UTC'), native_type String, partition UInt16, offset UInt64";

/** Empty: the fact is no side. */
export function sideOf(fact: Fact): Side[] {
  if (!("Unidentified" in fact.body)) return [];
  const { fact_id, native_type, partition } = fact;
  const reported = { ...rowScope(fact), ...fact.body.Unidentified };
  const at = clickhouseTime(reported.at);
  return [{ fact_id, native_type, partition, offset: fact.offset.toString(), ...reported, at }];
}

export function nameOfPool({ workspace, environment, pool }: Side): string {
  return JSON.stringify([workspace, environment, pool]);
}

/**
 * Inserts those that are missing.
 * @param sides of one pool
 */
export async function insertSides(clickhouse: ClickHouse, sides: readonly Side[]): Promise<void> {
  const identity = "workspace, environment, pool, fact_id";
  for (const { rows, table } of partsOf(sideColumns, sides)) {
    await clickhouse.write(
      `INSERT INTO unidentified_sides SELECT * FROM ${table}
       WHERE (${identity}) NOT IN (
         SELECT ${identity} FROM unidentified_sides
         WHERE ${matching(rows.slice(0, 1), "workspace", "environment", "pool")})`,
      {},
      "subscriptions",
    );
  }
}

interface PairedPool {
  readonly ends: readonly Change[];
  readonly waiting: readonly Side[];
}

/**
 * @param known all sides; beyond the maximum of a pool the later ones wait for ever
 * @param here ids of the new sides
 * @param booked the booked revisions
 */
export function pairPool(
  known: readonly Side[],
  here: ReadonlySet<string>,
  booked: readonly EndRevision[],
): PairedPool {
  const pool = known
    .toSorted((one, other) => compare(one.at, other.at) || compare(one.fact_id, other.fact_id))
    .slice(0, limits.unidentifiedPoolSidesMax);
  const { pairing, revisions } = revisionsOf(pool, here);
  return { ends: missingIn(booked, pool, pairing, revisions), waiting: pairing.waiting };
}

/**
 * The sides whose ends had no room. The next event of the pool tries a missing end again, so the
 * churn's own event is refused, not that one.
 */
export function refusedIn(pool: readonly Side[], beyond: readonly Change[]): Side[] {
  const ids = new Set(pool.filter(({ side }) => side === "start").map(endId));
  const ends = beyond.filter(({ change_id: id }) => ids.has(id));
  const takenBack = new Set(ends.flatMap((end) => (end.void === 1 ? end.event_id : [])));
  const moments = new Set(ends.flatMap((end) => (end.void === 1 ? [] : end.at)));
  return pool.filter(({ side, at, event_id: event }) => {
    return takenBack.has(event) || (side === "churn" && moments.has(at));
  });
}

/**
 * The ends as known after each side, in order of receipt, from the first new one on. Where sides
 * have to be paired again, those of one receipt count together; beyond the maximum, all that are
 * left.
 */
function revisionsOf(
  pool: readonly Side[],
  here: ReadonlySet<string>,
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
 * The revisions that are not booked. If a booked one knows less and has a greater number (a side
 * received earlier was booked later), one more brings the end to what it should be.
 */
function missingIn(
  booked: readonly EndRevision[],
  pool: readonly Side[],
  { ends }: Pairing,
  revisions: readonly Change[],
): Change[] {
  const newest = new Map<string, Pick<EndRevision, "revision" | "at" | "void">>();
  for (const [id, known] of grouped(booked, ({ change_id }) => change_id)) {
    const last = known.toSorted((one, other) => one.revision - other.revision).at(-1);
    if (last !== undefined) newest.set(id, last);
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

/** The id of the change that ends what began with this start. */
export function endId(start: Pick<Side, "fact_id">): string {
  return `${start.fact_id}:ended`;
}

const reason = "no_open_subscription";

/**
 * Churns without a partner are listed as rejects, `no_open_subscription`, and resolved when one
 * comes. Pure. Leaves out churns that name an existing subscription: they end it under any account
 * (`providers/record-facts.ts`).
 * @param changesOf of the churn's subscription, under any account
 */
export async function withoutStart(
  unpaired: readonly Side[],
  changesOf: (churn: Side) => Promise<readonly Change[]>,
): Promise<Side[]> {
  const waiting: Side[] = [];
  for (const churn of unpaired) {
    const known = isNamed(churn.pool) ? await changesOf(churn) : [];
    if (!known.some((change) => isStart(change) && change.at <= churn.at)) waiting.push(churn);
  }
  return waiting;
}

function isStart({ phase }: Change): boolean {
  return phase !== "ended" && phase !== "expired";
}

/** @param revision ms since 1970 */
export function rejectOf(churn: Side, revision: number): RejectRow {
  const detail = "No subscription that this churn could end is open at its time.";
  const received_at = churn.recorded_at;
  return { ...churn, received_at, step: "book", reason, detail, state: "open", revision };
}

/** @param revision ms since 1970 */
export function resolvedOf(churn: Side, revision: number): RejectRow {
  return { ...rejectOf(churn, revision), state: "resolved" };
}
