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
import { fromSql } from "./intervals.js";
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
export type Wholes = MonthWholes | "by_vintage" | "by_day" | "none";

type MonthWholes = "by_month_and_sku" | "by_month";

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
  return sumsSql(columns, movementPartsSql(columns, wholes, asOf, options), options);
}

/** The same, still in parts: what stands for the rows, to be summed over each shard. */
export function movementPartsSql(
  columns: readonly string[],
  wholes: Wholes,
  asOf: AsOf,
  options: SumOptions = {},
): string {
  const sources = [...storedSources(wholes, asOf), ...correctionSources(asOf)];
  return partsSql(sources, () => columns, options);
}

/**
 * The same for intervals from the parameter `from` on, and for all time before: of that, and of
 * intervals that are whole months, no sum of single days is read.
 *
 * @param columnsOf the columns, over the SQL of a day that lies where the row does
 */
export function sumMovementSeriesSql(
  columnsOf: (day: string) => readonly string[],
  { months, isOfMonths }: { readonly months: MonthWholes; readonly isOfMonths: boolean },
  asOf: AsOf,
  options: SumOptions,
): string {
  const stored = isOfMonths
    ? storedSources(months, asOf).map((source) => ({ ...source, day: monthOfRow }))
    : daySources(months);
  const sources = [...stored, ...correctionSources(asOf)];
  return sumsSql(columnsOf(dayOfRow), partsSql(sources, columnsOf, options), options);
}

const dayOfRow = "toDate(at)";
const monthOfRow = "toStartOfMonth(at)";

function sumsSql(columns: readonly string[], parts: string, { measures }: SumOptions): string {
  const names = namesOf(columns);
  const sums = signed(measures ?? movementMeasures, "sum");
  return `SELECT ${names}, ${sums} FROM ${eachShard(parts)} GROUP BY ${names}`;
}

function partsSql(
  sources: readonly Source[],
  columnsOf: (day: string) => readonly string[],
  { condition = "true", measures = movementMeasures }: SumOptions,
): string {
  const parts = sources.map(({ source, values, projection, day = dayOfRow }) => {
    const columns = columnsOf(day);
    const rows =
      `SELECT ${columns.join(", ")}, ${signed(measures, values)} ` +
      `FROM ${source} AND ${condition}`;
    const sums = values === "sum" ? `${rows} GROUP BY ${namesOf(columns)}` : rows;
    return projection === undefined ? sums : `${sums} ${projectionSettingSql(projection)}`;
  });
  return parts.join("\nUNION ALL\n");
}

function namesOf(columns: readonly string[]): string {
  return columns.map((column) => column.split(" AS ").at(-1)).join(", ");
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
  /** SQL of a day that the projection knows of what it sums. */
  readonly day?: string;
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
    return [{ source: `${rows} AND identity(${dayOfRow}) < toDate(${atSql})`, ...sums }, restOfDay];
  }
  const month = `toStartOfMonth(${atSql})`;
  const months = `${rows} AND identity(${monthOfRow})`;
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

const restOfDay: Source = {
  source: `mrr_movements WHERE ${tenantSql} AND ${time} >= toStartOfDay(${atSql}) AND ${upToAt}`,
  values: "+",
};

/** Months up to the one in which `from` lies, then days, then rows of the last day. */
function daySources(months: MonthWholes): Source[] {
  const rows = `mrr_movements WHERE ${tenantSql}`;
  const month = `toStartOfMonth(${fromSql})`;
  return [
    {
      source: `${rows} AND identity(${monthOfRow}) < ${month}`,
      values: "sum",
      projection: months,
      day: monthOfRow,
    },
    {
      source:
        `${rows} AND identity(${dayOfRow}) >= ${month} ` +
        `AND identity(${dayOfRow}) < toDate(${atSql})`,
      values: "sum",
      projection: "by_day",
    },
    restOfDay,
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
 *
 * @param countries whether the figures tell countries apart
 */
export function learnedAccountsSql({
  tables = ["subscription_changes", "mrr_movements"],
  countries,
}: {
  readonly tables?: readonly ("subscription_changes" | "mrr_movements")[];
  readonly countries: boolean;
}): string {
  const touching = {
    subscription_changes: `(${upToAt} OR revision > 1${countries ? " OR country != ''" : ""})`,
    mrr_movements: upToAt,
  };
  return tables
    .map(
      (table) =>
        `SELECT account FROM ${table} ` +
        `WHERE ${tenantSql} AND ${touching[table]} AND recorded_at > ${knownAtSql}`,
    )
    .join(" UNION ALL ");
}

const touchedSql = learnedAccountsSql({ countries: true });

/** The changes known at `known_at` of those accounts. */
const knownTouchedSql = [
  tenantSql,
  `recorded_at <= ${knownAtSql}`,
  `account IN (${touchedSql})`,
].join(" AND ");
