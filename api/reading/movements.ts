/**
 * MRR as of two moments, as a sum over rows.
 *
 * `mrr_movements` is additive, so `at` is a condition on time: whole months or days come from
 * aggregate projections and the rest from rows, because a condition on the time itself would bypass
 * the projection (docs/architecture.md). What is left to rows is the nearer part of the month: its
 * beginning is added, or its end taken off.
 *
 * `known_at` is more than a condition on `recorded_at`, for how events happened to be batched must
 * never show: the accounts something was learned about since then are taken out, and computed anew
 * from the changes known then (docs/architecture.md). They are few where `known_at` is recent.
 */
import { eachShard } from "../../clickhouse/cluster/shard-statements.js";
import { movementMeasures, shouldBeSql } from "../../schemas/movements.js";
import type { AsOf } from "./as-of.js";
import { isLateInMonth } from "./calendar.js";
import {
  type Query,
  asOfParams,
  atSql,
  knownAtSql,
  projectionSettingSql,
  tenantSql,
} from "./query.js";

/**
 * The aggregate projection that has all columns the sum needs, the coarsest that has, or `none`:
 * single rows. Sums of months know no day; those by SKU no currency and no country either.
 */
export type Wholes = "by_month_and_sku" | "by_month" | "by_vintage" | "by_day" | "none";

type Measure = (typeof movementMeasures)[number];

interface SumOptions {
  /** On the rows summed. */
  readonly condition?: string;
  /** Each costs reading. */
  readonly measures?: readonly Measure[];
}

/**
 * The sums of `measures` for each value of `columns`, which are columns of `mrr_movements` or
 * expressions over them with a name (`toStartOfMonth(at) AS month`).
 */
export function sumMovementsSql(
  columns: readonly string[],
  wholes: Wholes,
  asOf: AsOf,
  options: SumOptions = {},
): string {
  const names = columns.map((column) => column.split(" AS ").at(-1)).join(", ");
  const sums = signed(options.measures ?? movementMeasures, "sum");
  const parts = movementPartsSql(columns, wholes, asOf, options);
  return `SELECT ${names}, ${sums} FROM ${eachShard(parts)} GROUP BY ${names}`;
}

/** The same, still in parts: what stands for the rows, to be summed over each shard. */
export function movementPartsSql(
  columns: readonly string[],
  wholes: Wholes,
  asOf: AsOf,
  { condition = "true", measures = movementMeasures }: SumOptions = {},
): string {
  const select = columns.join(", ");
  const names = columns.map((column) => column.split(" AS ").at(-1)).join(", ");
  const parts = [...storedSources(wholes, asOf), ...correctionSources(asOf)].map(
    ({ source, values, projection }) => {
      const rows = `SELECT ${select}, ${signed(measures, values)} FROM ${source} AND ${condition}`;
      const sums = values === "sum" ? `${rows} GROUP BY ${names}` : rows;
      return projection === undefined ? sums : `${sums} ${projectionSettingSql(projection)}`;
    },
  );
  return parts.join("\nUNION ALL\n");
}

/** Of a source summed here, of single rows, or of rows taken off. */
type Values = "sum" | "+" | "-";

function signed(measures: readonly Measure[], values: Values): string {
  return measures
    .map((measure) => {
      if (values === "sum") return `sum(${measure}) AS ${measure}`;
      return values === "-" ? `-${measure} AS ${measure}` : measure;
    })
    .join(", ");
}

/**
 * The movements as of both moments, as sources that each hold whole accounts: what is summed for
 * each account by itself may be worked out source by source, and put together then. All end in a
 * condition.
 */
export function accountSources(asOf: AsOf): string[] {
  const rows = `mrr_movements WHERE ${tenantSql} AND ${upToAt}`;
  if (asOf.knownAt === null) return [rows];
  return [
    `${rows} AND account NOT IN (${touchedSql})`,
    `(${shouldBeSql(knownTouchedSql)}) WHERE at <= ${atSql}`,
  ];
}

/** One row when anything about the time up to `at` was recorded after `known_at`, else none. */
export function learnedSinceQuery(asOf: AsOf & { readonly knownAt: number }): Query {
  return {
    sql: `SELECT 1 AS learned FROM (${touchedSql}) LIMIT 1`,
    params: asOfParams(asOf),
  };
}

/** All end in a condition. */
interface Source {
  readonly source: string;
  readonly values: Values;
  /** The one that answers it, where one does. */
  readonly projection?: string;
}

/**
 * `identity` keeps the engine from holding the condition against each mark of the table itself,
 * which a projection replaces: most of the planning. Of the projection it uses the condition.
 */
const time = "identity(at)";
const upToAt = `${time} <= ${atSql}`;

/** What is recorded, as sources that together are each row once. */
function storedSources(wholes: Wholes, asOf: AsOf): Source[] {
  const rows = `mrr_movements WHERE ${tenantSql}`;
  if (wholes === "none") return [{ source: `${rows} AND ${upToAt}`, values: "sum" }];
  const sums = { values: "sum", projection: wholes } as const;
  if (wholes === "by_day") {
    const rest = `${time} >= toStartOfDay(${atSql}) AND ${upToAt}`;
    return [
      { source: `${rows} AND identity(toDate(at)) < toDate(${atSql})`, ...sums },
      { source: `${rows} AND ${rest}`, values: "+" },
    ];
  }
  const month = `toStartOfMonth(${atSql})`;
  const months = `${rows} AND identity(toStartOfMonth(at))`;
  return isLateInMonth(asOf.at)
    ? [
        { source: `${months} <= ${month}`, ...sums },
        {
          source: `${rows} AND ${time} > ${atSql} AND ${time} < ${month} + INTERVAL 1 MONTH`,
          values: "-",
        },
      ]
    : [
        { source: `${months} < ${month}`, ...sums },
        { source: `${rows} AND ${time} >= ${month} AND ${upToAt}`, values: "+" },
      ];
}

/**
 * What makes of the recorded rows those as of `known_at`: the rows of touched accounts with the
 * sign turned, and what should have been recorded of them then.
 */
function correctionSources(asOf: AsOf): Source[] {
  if (asOf.knownAt === null) return [];
  return [
    {
      source: `mrr_movements WHERE ${tenantSql} AND ${upToAt} AND account IN (${touchedSql})`,
      values: "-",
    },
    { source: `(${shouldBeSql(knownTouchedSql)}) WHERE at <= ${atSql}`, values: "+" },
  ];
}

/**
 * Accounts something was learned about after `known_at`. Changes report it where what was booked
 * together left no movement (one takes another back); a revision may have moved what it replaces
 * to after `at`, and a country counts for all movements. The movements are asked too, since a
 * booking may be seen half: its changes after this query read them, its movements before.
 */
const touchedSql = [
  { table: "subscription_changes", condition: `(${upToAt} OR revision > 1 OR country != '')` },
  { table: "mrr_movements", condition: upToAt },
]
  .map(
    ({ table, condition }) =>
      `SELECT account FROM ${table} ` +
      `WHERE ${tenantSql} AND ${condition} AND recorded_at > ${knownAtSql}`,
  )
  .join(" UNION ALL ");

/** The changes known at `known_at` of those accounts. */
const knownTouchedSql = [
  tenantSql,
  `recorded_at <= ${knownAtSql}`,
  `account IN (${touchedSql})`,
].join(" AND ");
