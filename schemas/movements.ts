/**
 * What MRR movements should be recorded: one SELECT over an account's subscription changes. The
 * incremental step, the rebuild, the audit and every reading under `known_at` use this text and no
 * other. Rules: `definitions.md`, MRR.
 *
 * Each account is one row of arrays, worked on element by element with the neighbours beside it:
 * half the work of window functions, which sort and compare whole texts row by row. What the
 * engine's planner makes of it matters as much for a few accounts, so (see docs/decisions)
 * - no step uses a name given in the same step: the planner would work it out once for each use,
 * - `arrayJoin(…)` and not the ARRAY JOIN clause, `if` in `if` and not AND over columns: both make
 *   it go through all that lies below, again and again,
 * - no array is named in a lambda over another's elements: the engine copies it for each of them.
 *
 * A row with a country is none of a subscription: it says where the account's customer is. The
 * earliest of an account counts for all its movements.
 *
 * Reads top-down: revisions → histories → states → cells → parts → moments → movements.
 */

import { bookedNow } from "./booked-at.js";
import { unknownCountry } from "./countries.js";
import { announcedBefore } from "./fact-bounds.js";
import { movementId } from "./ids.js";
import type { MovementRecord } from "./records/records.js";

/** The columns of a movement that its differences are taken by, in table order. */
export const movementDimensions = [
  "workspace",
  "environment",
  "account",
  "provider",
  "subscription",
  "external_id",
  "currency",
  "country",
  "at",
  "kind",
  "vintage",
] as const;

/**
 * How the id of a change ends that says only that the subscription is another account's from then
 * on: an end, whatever its phase, which gives it its place among changes of one moment.
 */
export const transferSuffix = ":transferred";

export const movementMeasures = ["mrr", "accounts", "subscriptions"] as const;

/** All but what caused it: the columns of `shouldBeSql`, as a statement lists them. */
export const movementColumns = [...movementDimensions, ...movementMeasures].join(", ");

/** All columns of the table, in its order: those of `differenceSql`. */
export const movementRowColumns = `${movementColumns}, recorded_at, event_id, booked_at`;

/** A recorded movement as the engine reports it, in texts: `SELECT ${recordedColumns}`. */
export interface RecordedMovementRow extends Omit<
  MovementRecord,
  "id" | "at" | "recorded_at" | "base_currency"
> {
  readonly at: string;
  readonly recorded_at: string;
}

export const recordedColumns =
  "workspace, environment, provider, account, subscription, external_id, currency, country, " +
  "kind, at, mrr, formatDateTime(vintage, '%Y-%m') AS vintage, recorded_at, event_id";

/** The same on the public topic and in lists, so that readers of both count each movement once. */
export function recordedMovementId(row: RecordedMovementRow): string {
  return movementId(
    row.workspace,
    row.environment,
    row.account,
    row.subscription,
    row.external_id,
    row.currency,
    row.country,
    row.at,
    row.kind,
    row.vintage,
    row.mrr,
    row.event_id,
    // Another delivery of the event may cause the same again, after others took it back.
    row.recorded_at,
  );
}

// Places in the tuples below, whose arrays are sorted from the first place on. They are numbers in
// the text, because a tuple gets names by a cast only: a fifth of the whole time.
const change = {
  subscription: 1,
  at: 2,
  phase: 3,
  id: 6,
  revision: 7,
  isVoid: 8,
  steps: 9,
};
const step = { at: 1, items: 2 };
const state = { subscription: 1, at: 2, items: 3, turns: 4 };
const item = { name: 1, sku: 2, price: 3, mrr: 4 };
const cell = { subscription: 1, item: 2, at: 3, sku: 4, counts: 5, price: 6, mrr: 7, turn: 8 };
const before = { sku: 1, counts: 2, price: 3, turn: 4 };
const part = { subscription: 1, sku: 2, at: 3, item: 4, mrr: 5, currency: 6 };
const counted = { at: 1, subscription: 3, sku: 4, currency: 5, mrr: 7, subscriptions: 8 };
const row = { part: 1, number: 2, before: 3, after: 4 };

/** Of each element the one before it; an empty one before the first. */
const preceding = (array: string): string => `arrayShiftRight(${array}, 1)`;
const nothing = "toDecimal128(0, 6)";
/** Facts announce nothing later (`schemas/fact-bounds.ts`): the end of what has no next change. */
const reach = `toDateTime64('${announcedBefore} 00:00:00', 3, 'UTC')`;

/**
 * @param changesFilter SQL condition on `subscription_changes`: which accounts, and (for a reading
 *   of the past) `recorded_at <= …`. It must keep whole accounts together.
 * @param changes SQL source with the columns of `subscription_changes`, for readings of several
 *   pasts at once
 * @returns a SELECT with the columns `movementDimensions` and `movementMeasures`
 */
export function shouldBeSql(changesFilter: string, changes = "subscription_changes"): string {
  return movementsSql(changesFilter, changes, { place: "", account: "true", columns: "" });
}

/**
 * The same for accounts without any recorded movement, as rows to be inserted: with the columns
 * `recorded_at` and `event_id`, of the newest event that touched the account. Only of those
 * accounts of which no two items changed at one moment: of others several rows may have equal
 * dimensions, and are one movement (`differenceSql`). These come in the order of the table, one for
 * each.
 */
export function firstMovementsSql(changesFilter: string): string {
  return movementsSql(changesFilter, "subscription_changes", {
    place: ", max((recorded_at, event_id))",
    account: "NOT arrayExists(parts -> length(parts) > 1, moments)",
    columns: ", place.5.1 AS recorded_at, place.5.2 AS event_id",
  });
}

function movementsSql(
  changesFilter: string,
  changes: string,
  added: { readonly place: string; readonly account: string; readonly columns: string },
): string {
  return `
WITH
  revisions AS (
    SELECT account, (any(workspace), any(environment), any(provider),
             argMinIf(country, (at, event_id, change_id), country != '')${added.place}) AS place,
           arraySort(c -> (c.${change.id}, c.${change.revision}), groupArray((subscription, at,
             phase, event_id, recorded_at, change_id, revision, void, steps))) AS revisions
    FROM ${changes}
    WHERE ${changesFilter}
    GROUP BY account
  ),
  -- A revision replaces the earlier ones of its change; a void one takes the change back. Of the
  -- changes of one moment of a subscription the last in this order counts: ended beats changed
  -- beats started, then the greater event id, then of one event the later reading (what its
  -- provider's API added).
  histories AS (
    SELECT account, place, arraySort(arrayFilter(
             (c, id, next_id) -> NOT c.${change.isVoid} AND id != next_id, revisions,
             revisions.${change.id}, arrayShiftLeft(revisions.${change.id}, 1))) AS changes
    FROM revisions
  ),
  -- A step announced for later comes true unless another change comes first, or its day is beyond
  -- what the engine counts. A change begins with its first step: of several at one moment only the
  -- last has steps before the next change. Each state is a turn but a pause: worth nothing without
  -- having ended here, for whatever reason (paused, unpaid, on trial, free), since nothing is no
  -- price.
  states AS (
    SELECT account, place, arrayFlatten(arrayMap(
             (subscription, phase, id, steps, next, next_at) -> arrayMap(
               s -> (subscription, s.${step.at}, s.${step.items},
                 if(empty(s.${step.items}),
                   phase IN ('ended', 'expired') OR endsWith(id, '${transferSuffix}'), 1)),
               arrayFilter(s -> s.${step.at} < if(subscription = next, next_at, ${reach}), steps)),
             changes.${change.subscription}, changes.${change.phase}, changes.${change.id},
             changes.${change.steps},
             arrayShiftLeft(changes.${change.subscription}, 1),
             arrayShiftLeft(changes.${change.at}, 1, ${reach}))) AS states
    FROM histories
  ),
  -- One cell for each item a state has, and one that counts nothing for each it no longer has: all
  -- of them in a pause, with their prices; else without one.
  cells AS (
    SELECT account, place, arraySort(arrayFlatten(arrayMap(
             (subscription, at, items, names, turns, turn, previous, names_before,
              prices_before) -> arrayConcat(
               arrayMap(i -> (subscription, i.${item.name}, at, i.${item.sku}, 1,
                 i.${item.price}, i.${item.mrr}, turn), items),
               arrayMap((name, price) -> (subscription, name, at, '', 0, price, ${nothing}, turn),
                 if(subscription = previous, arrayExcept(names_before, names), []),
                 if(subscription = previous, arrayResize(if(turns, [], prices_before),
                   length(arrayExcept(names_before, names))), []))),
             states.${state.subscription}, states.${state.at}, states.${state.items},
             states.${state.items}.${item.name}, states.${state.turns},
             arrayCumSum(states.${state.turns}), ${preceding(`states.${state.subscription}`)},
             ${preceding(`states.${state.items}.${item.name}`)},
             ${preceding(`states.${state.items}.${item.price}`)}))) AS cells
    FROM states
  ),
  -- Beside each cell what was there before; nothing at first.
  sequels AS (
    SELECT account, place, cells, arrayMap((c, previous) -> if(
             c.${cell.item} = previous.${cell.item}
               AND c.${cell.subscription} = previous.${cell.subscription},
             (previous.${cell.sku}, previous.${cell.counts}, previous.${cell.price},
               previous.${cell.turn}),
             ('', 0, '', 0)),
             cells, ${preceding("cells")}) AS befores
    FROM cells
  ),
  -- The rate is held while the price of the item is: only the first of equal prices sets a value,
  -- and one that missed a turn.
  held AS (
    SELECT account, place, cells, befores, arrayFill(
             (own, price, price_before, turn, turn_before) ->
               if(price = price_before, turn > turn_before + 1, 1),
             cells.${cell.mrr}, cells.${cell.price}, befores.${before.price},
             cells.${cell.turn}, befores.${before.turn}) AS held
    FROM sequels
  ),
  -- What the SKU of each item gains and loses at each moment: the difference where the two would be
  -- one movement. Items of one SKU stay apart here.
  parts AS (
    SELECT account, place, arraySort(arrayFilter(p -> p.${part.mrr} != 0, arrayConcat(
             arrayMap((c, b, value, previous) -> ${gainSql}, cells, befores, held,
               ${preceding("held")}),
             arrayMap((c, b, previous) -> ${lossSql}, cells, befores,
               ${preceding("held")})))) AS parts
    FROM held
  ),
  sku_sums AS (
    SELECT account, place, parts, arrayCumSum(parts.${part.mrr}) AS sums,
           ${differs("subscription", "sku")} AS is_new_sku,
           ${differs("subscription", "sku", "at")} AS is_first
    FROM parts
  ),
  -- Whether the subscription begins or ends to count for the SKU: reported by the first part of the
  -- moment. The sums run on from SKU to SKU, so each counts from where its first part found them.
  sku_moments AS (
    SELECT account, place, arraySort(arrayMap(
             (p, is_first, base, before, after) -> (p.${part.at}, -abs(p.${part.mrr}),
               p.${part.subscription}, p.${part.sku}, p.${part.currency}, p.${part.item},
               p.${part.mrr}, if(is_first, (after > base) - (before > base), 0)),
             parts, is_first, arrayFill((sum, is_new) -> is_new, ${preceding("sums")}, is_new_sku),
             ${preceding("sums")}, arrayReverseFill((sum, is_last) -> is_last, sums,
               arrayShiftLeft(is_first, 1, true)))) AS parts
    FROM sku_sums
  ),
  -- The account before and after each moment; its first part reports the account.
  moments AS (
    SELECT account, place, parts.${counted.at}[1] AS first_at, arraySplit(
             (p, at, at_before) -> at != at_before, parts, parts.${counted.at},
             ${preceding(`parts.${counted.at}`)}) AS moments
    FROM sku_moments
  ),
  totals AS (
    SELECT account, place, first_at, moments,
           arrayCumSum(arrayMap(parts -> arraySum(parts.${counted.mrr}), moments)) AS totals
    FROM moments
  ),
  movements AS (
    SELECT account, place, first_at, arrayJoin(arrayFlatten(arrayMap(
             (parts, before, after) -> arrayMap((p, number) -> (p, number, before, after),
               parts, arrayEnumerate(parts)),
             moments, ${preceding("totals")}, totals))) AS r
    FROM totals
    WHERE ${added.account}
  )
SELECT place.1 AS workspace, place.2 AS environment, account, place.3 AS provider,
       r.${row.part}.${counted.subscription} AS subscription,
       r.${row.part}.${counted.sku} AS external_id, r.${row.part}.${counted.currency} AS currency,
       if(place.4 = '', '${unknownCountry}', place.4) AS country, r.${row.part}.${counted.at} AS at,
       if(r.${row.before} = 0, if(r.${row.part}.${counted.at} = first_at, 'new', 'reactivation'),
         multiIf(r.${row.after} = 0, 'churn', r.${row.after} >= r.${row.before}, 'expansion',
           'contraction')) AS kind,
       toDate(toStartOfMonth(first_at)) AS vintage, r.${row.part}.${counted.mrr} AS mrr,
       toInt32(if(r.${row.number} = 1,
         (r.${row.after} > 0) - (r.${row.before} > 0), 0)) AS accounts,
       toInt32(r.${row.part}.${counted.subscriptions}) AS subscriptions${added.columns}
FROM movements`;
}

const currencyOf = (price: string): string => `substringIndex(${price}, ':', 1)`;

/** Whether a cell `c` counts for what `b` counted for, which was there before. */
const continues = [
  `c.${cell.counts} = b.${before.counts}`,
  `c.${cell.sku} = b.${before.sku}`,
  `${currencyOf(`c.${cell.price}`)} = ${currencyOf(`b.${before.price}`)}`,
].join(" AND ");

const gainSql = partSql(
  "c",
  cell,
  `if(c.${cell.counts} = 0, ${nothing}, if(${continues}, value - previous, value))`,
);

const lossSql = partSql(
  "b",
  before,
  `if(b.${before.counts} = 0 OR (${continues}), ${nothing}, -previous)`,
);

function partSql(side: "c" | "b", place: typeof before, mrr: string): string {
  return `(c.${cell.subscription}, ${side}.${place.sku}, c.${cell.at}, c.${cell.item}, ${mrr},
               ${currencyOf(`${side}.${place.price}`)})`;
}

/** Of each part, whether it differs in these from the one before it. */
function differs(...names: readonly (keyof typeof part)[]): string {
  const pairs = names.map((name) => `${name}, ${name}_before`).join(", ");
  const isOther = names.map((name) => `${name} != ${name}_before`).join(" OR ");
  const arrays = names.map((name) => `parts.${part[name]}, ${preceding(`parts.${part[name]}`)}`);
  return `arrayMap((${pairs}) -> ${isOther}, ${arrays.join(", ")})`;
}

/** SQL expressions over `workspace`, `environment`, `account`: what caused an account's rows. */
export interface Cause {
  readonly recordedAt: string;
  readonly eventId: string;
}

/**
 * *Should be recorded minus is recorded*, for the accounts of a condition: nothing when all is
 * right.
 *
 * @param accountsFilter SQL condition on workspace, environment and account
 * @param accounts of a few, planning the statement takes longest; of many, working on the rows does
 */
export function differenceSql(
  accountsFilter: string,
  cause: Cause,
  accounts: "few" | "many" = "few",
): string {
  const dimensions = movementDimensions.join(", ");
  const shouldBe = shouldBeSql(accountsFilter);
  return `
SELECT ${dimensions}, sum(m) AS mrr, toInt32(sum(a)) AS accounts, toInt32(sum(s)) AS subscriptions,
       ${cause.recordedAt} AS recorded_at, ${cause.eventId} AS event_id, ${bookedNow}
FROM (
  ${accounts === "few" ? plannedOnce(shouldBe, differenceColumns) : measured(`(${shouldBe})`, "")}
  UNION ALL
  ${measured("mrr_movements", "-")} WHERE ${accountsFilter}
)
GROUP BY ${dimensions}
HAVING mrr != 0 OR accounts != 0 OR subscriptions != 0`;
}

function measured(source: string, sign: "" | "-"): string {
  return `SELECT ${movementDimensions.join(", ")}, ${sign}mrr AS m, ${sign}accounts AS a,
         ${sign}subscriptions AS s
  FROM ${source}`;
}

const differenceColumns = [...movementDimensions, "m", "a", "s"];

/**
 * A scalar subquery is planned once; as it is, below a GROUP BY it would be three times.
 *
 * @param names of the columns of `movementColumns`, in their order
 */
export function plannedOnce(shouldBe: string, names: readonly string[]): string {
  const unpacked = names.map((name, index) => `row.${index + 1} AS ${name}`).join(", ");
  return `SELECT ${unpacked}
  FROM (
    SELECT arrayJoin((
      SELECT groupArray((${movementColumns}))
      FROM (${shouldBe})
    )) AS row
  )`;
}
