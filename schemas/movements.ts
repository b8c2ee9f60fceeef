/**
 * What MRR movements should be recorded: one SELECT over an account's subscription changes. The
 * incremental step, the rebuild, the audit and every reading under `known_at` use this text and no
 * other. Rules: `definitions.md`, MRR.
 *
 * `arrayJoin(…)` and not the ARRAY JOIN clause: the engine's analyzer works twice through all that
 * lies below such a clause, before the first row is read.
 *
 * Reads top-down: winners → states → cells → held → parts → totals → movements.
 */

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

export const movementMeasures = ["mrr", "accounts", "subscriptions"] as const;

/** An account is a keyed hash over its workspace, environment and provider too: enough alone. */
const owner = "account, subscription";
const farFuture = "toDateTime64('2299-12-31 00:00:00', 3, 'UTC')";
/** `leadInFrame` and `lagInFrame` see only the frame, so it must be the whole partition. */
const wholePartition = "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING";

/**
 * @param changesFilter SQL condition on `subscription_changes`: which accounts, and (for a reading
 *   of the past) `recorded_at <= …`. It must keep whole accounts together.
 * @param changes SQL source with the columns of `subscription_changes`, for readings of several
 *   pasts at once
 * @returns a SELECT with the columns `movementDimensions` and `movementMeasures`
 */
export function shouldBeSql(changesFilter: string, changes = "subscription_changes"): string {
  return `
WITH
  -- One change for each moment of a subscription: ended beats changed beats started, then the
  -- greater event id, then of one event the later reading (what its provider's API added). A
  -- revision replaces its earlier ones; a void one takes the change back.
  winners AS (
    SELECT ${owner}, country, at, steps,
           (workspace, environment, provider) AS place
    FROM (
      SELECT * FROM ${changes}
      WHERE ${changesFilter}
      ORDER BY revision DESC
      LIMIT 1 BY account, change_id
    )
    WHERE NOT void
    -- The owner first: what follows sorts by it, and finds it sorted.
    ORDER BY ${owner}, at, phase DESC, event_id DESC, recorded_at DESC, change_id DESC
    LIMIT 1 BY ${owner}, at
  ),
  -- A step announced for later comes true unless another change comes first.
  states AS (
    SELECT place, ${owner}, country, step.1 AS at, step.2 AS items
    FROM (
      SELECT *, arrayJoin(arrayFilter(s -> s.1 < next_at, steps)) AS step
      FROM (
        SELECT *, leadInFrame(at, 1, ${farFuture}) OVER (
          PARTITION BY ${owner} ORDER BY at ${wholePartition}) AS next_at
        FROM winners
      )
    )
  ),
  -- One row for each item a state has, and one without a price for each it no longer has.
  cells AS (
    SELECT place, ${owner}, at, entry.1 AS item, entry.2 AS external_id,
           entry.3 AS price, entry.4 AS own_mrr, if(price = '', '', country) AS cell_country
    FROM (
      SELECT *, arrayJoin(arrayConcat(items, arrayMap(name -> (name, '', '', toDecimal128(0, 6)),
        arrayFilter(name -> NOT has(names, name), names_before)))) AS entry
      FROM (
        SELECT *, tupleElement(items, 1) AS names, lagInFrame(names) OVER (
          PARTITION BY ${owner} ORDER BY at ${wholePartition}) AS names_before
        FROM states
      )
    )
  ),
  -- The rate is held while the price of the item is: only the first of equal prices sets a value.
  held AS (
    SELECT *, anyLastIf(own_mrr, price != price_before) OVER (
      PARTITION BY ${owner}, item ORDER BY at
      ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS value
    FROM (
      SELECT *, lagInFrame(price) OVER item_states AS price_before,
             lagInFrame(external_id) OVER item_states AS external_id_before,
             lagInFrame(cell_country) OVER item_states AS country_before
      FROM cells
      WINDOW item_states AS (PARTITION BY ${owner}, item ORDER BY at ${wholePartition})
    )
    WHERE price != price_before OR external_id != external_id_before
       OR cell_country != country_before
  ),
  -- What the SKU of each item gains and loses at each moment. Items of one SKU stay apart here:
  -- a GROUP BY costs the engine's planner as much as all that lies below it.
  parts AS (
    SELECT place, ${owner}, item, at, if(gained, external_id, external_id_before) AS sku,
           splitByChar(':', if(gained, price, price_before))[1] AS currency,
           if(gained, cell_country, country_before) AS country,
           if(gained, value, -value_before) AS mrr
    FROM (
      SELECT *, arrayJoin([true, false]) AS gained
      FROM (
        SELECT *, lagInFrame(value) OVER (
          PARTITION BY ${owner}, item ORDER BY at ${wholePartition}) AS value_before
        FROM held
      )
    )
    WHERE mrr != 0
  ),
  -- The account before and after, and whether the subscription begins or ends to count for the SKU.
  totals AS (
    SELECT *,
           sum(mrr) OVER (PARTITION BY account ORDER BY at
             RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS total_after,
           total_after - sum(mrr) OVER (PARTITION BY account, at) AS total_before,
           sum(mrr) OVER (PARTITION BY ${owner}, sku ORDER BY at
             RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS sku_after,
           sku_after - sum(mrr) OVER (PARTITION BY ${owner}, sku, at) AS sku_before,
           row_number() OVER (PARTITION BY ${owner}, sku, at ORDER BY item, mrr)
             AS sku_row,
           row_number() OVER (
             PARTITION BY account, at
             ORDER BY abs(mrr) DESC, subscription, sku, currency, country, item, mrr)
             AS account_row,
           min(at) OVER (PARTITION BY account) AS first_at
    FROM parts
  )
SELECT place.1 AS workspace, place.2 AS environment, account, place.3 AS provider, subscription,
       sku AS external_id, currency, country, at,
       multiIf(
         total_before = 0 AND at = first_at, 'new',
         total_before = 0, 'reactivation',
         total_after = 0, 'churn',
         total_after >= total_before, 'expansion',
         'contraction') AS kind,
       toDate(toStartOfMonth(first_at)) AS vintage,
       mrr,
       toInt32(if(account_row = 1, (total_after > 0) - (total_before > 0), 0)) AS accounts,
       toInt32(if(sku_row = 1, (sku_after > 0) - (sku_before > 0), 0)) AS subscriptions
FROM totals`;
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
       ${cause.recordedAt} AS recorded_at, ${cause.eventId} AS event_id
FROM (
  ${accounts === "few" ? plannedOnce(shouldBe) : measured(`(${shouldBe})`, "")}
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

/** A scalar subquery is planned once; as it is, below the GROUP BY it would be three times. */
function plannedOnce(shouldBe: string): string {
  const unpacked = [...movementDimensions, "m", "a", "s"]
    .map((name, index) => `row.${index + 1} AS ${name}`)
    .join(", ");
  return `SELECT ${unpacked}
  FROM (
    SELECT arrayJoin((
      SELECT groupArray((${movementDimensions.join(", ")}, ${movementMeasures.join(", ")}))
      FROM (${shouldBe})
    )) AS row
  )`;
}
