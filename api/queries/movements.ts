/**
 * MRR as of two moments, as a sum over rows.
 *
 * `mrr_movements` is additive, so `at` is a condition on time: whole months and days come from
 * aggregate projections and the rest from rows, because a condition on the time itself would bypass
 * the projection (`design.md`, Tables).
 *
 * `known_at` is more than a condition on `recorded_at`, for how events happened to be batched must
 * never show: the accounts something was learned about since then are taken out, and computed anew
 * from the changes known then (`design.md`, Tables). They are few where `known_at` is recent.
 */
import { shouldBeSql } from "../../schemas/movements.js";
import type { AsOf } from "../as-of.js";
import { type Query, asOfParams, atSql, knownAtSql, tenantSql } from "./query.js";

/**
 * Which aggregate projection has all columns the sum needs, the coarsest that has, or `none`:
 * single rows. Below whole months lie whole days, and rows.
 */
export type Wholes = "by_month" | "by_day" | "by_vintage" | "none";

/**
 * The sums of `mrr`, `accounts` and `subscriptions` for each value of `columns`, which are columns
 * of `mrr_movements` or expressions over them with a name (`toStartOfMonth(at) AS month`).
 *
 * @param condition on the rows summed
 */
export function sumMovementsSql(
  columns: readonly string[],
  wholes: Wholes,
  asOf: AsOf,
  condition = "true",
): string {
  const select = columns.join(", ");
  const names = columns.map((column) => column.split(" AS ").at(-1)).join(", ");
  const sums = "sum(mrr) AS mrr, sum(accounts) AS accounts, sum(subscriptions) AS subscriptions";
  const parts = [...storedSources(wholes), ...correctionSources(asOf)].map(
    (source) => `SELECT ${select}, ${sums} FROM ${source} AND ${condition} GROUP BY ${names}`,
  );
  return `SELECT ${names}, ${sums} FROM (\n${parts.join("\nUNION ALL\n")}\n) GROUP BY ${names}`;
}

/**
 * The movements as of both moments, as sources that each hold whole accounts: what is summed for
 * each account by itself may be worked out source by source, and put together then. All end in a
 * condition.
 */
export function accountSources(asOf: AsOf): string[] {
  const rows = `mrr_movements WHERE ${tenantSql} AND at <= ${atSql}`;
  if (asOf.knownAt === null) return [rows];
  return [
    `${rows} AND account NOT IN (${touchedSql})`,
    `(${shouldBeSql(knownTouchedSql)}) WHERE at <= ${atSql}`,
  ];
}

/** One row when anything about the time up to `at` was recorded after `known_at`, else none. */
export function learnedSinceQuery(asOf: AsOf & { readonly knownAt: number }): Query {
  return {
    sql: `SELECT 1 AS learned FROM mrr_movements
WHERE ${tenantSql} AND at <= ${atSql} AND recorded_at > ${knownAtSql} LIMIT 1`,
    params: asOfParams(asOf),
  };
}

/**
 * What is recorded, as sources that do not overlap; all end in a condition. A projection is used
 * where the condition is on its own columns. `identity` keeps the engine from holding the condition
 * against each mark of the table itself, which the projection replaces: half of the planning.
 */
function storedSources(wholes: Wholes): string[] {
  const rows = `mrr_movements WHERE ${tenantSql}`;
  const months = `${rows} AND identity(toStartOfMonth(at)) < toStartOfMonth(${atSql})`;
  const days = `${rows} AND identity(toDate(at)) < toDate(${atSql})`;
  const rest = (start: string): string =>
    `${rows} AND identity(at) >= ${start}(${atSql}) AND identity(at) <= ${atSql}`;
  return {
    none: [`${rows} AND at <= ${atSql}`],
    by_vintage: [months, rest("toStartOfMonth")],
    by_day: [days, rest("toStartOfDay")],
    by_month: [
      months,
      `${days} AND identity(toDate(at)) >= toStartOfMonth(${atSql})`,
      rest("toStartOfDay"),
    ],
  }[wholes];
}

/**
 * What makes of the recorded rows those as of `known_at`: the rows of touched accounts with the
 * sign turned, and what should have been recorded of them then.
 */
function correctionSources(asOf: AsOf): string[] {
  if (asOf.knownAt === null) return [];
  return [
    `(
  SELECT * EXCEPT (mrr, accounts, subscriptions),
         -mrr AS mrr, -accounts AS accounts, -subscriptions AS subscriptions
  FROM mrr_movements
  WHERE ${tenantSql} AND account IN (${touchedSql})
) WHERE at <= ${atSql}`,
    `(${shouldBeSql(knownTouchedSql)}) WHERE at <= ${atSql}`,
  ];
}

/**
 * Accounts something was learned about after `known_at`. The movements are asked too, since a
 * booking may be seen half: its changes after this query read them, its movements before.
 */
const touchedSql = ["subscription_changes", "mrr_movements"]
  .map(
    (table) =>
      `SELECT account FROM ${table} ` +
      `WHERE ${tenantSql} AND at <= ${atSql} AND recorded_at > ${knownAtSql}`,
  )
  .join(" UNION ALL ");

/** The changes known at `known_at` of those accounts. */
const knownTouchedSql = [
  tenantSql,
  `recorded_at <= ${knownAtSql}`,
  `account IN (${touchedSql})`,
].join(" AND ");
