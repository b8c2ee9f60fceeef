/**
 * MRR as of two moments, as a sum over rows. `mrr_movements` is additive, so `at` is a condition on
 * time (`parts.ts`).
 *
 * `known_at` is more than a condition on `recorded_at`, for how events happened to be batched must
 * never show: the accounts something was learned about since then are taken out, and computed anew
 * from the changes known then (docs/architecture.md). They are few where `known_at` is recent.
 */
import { eachShard } from "../../clickhouse/cluster/shard-statements.js";
import { movementMeasures, shouldBeSql } from "../../schemas/movements.js";
import type { AsOf } from "./as-of.js";
import { type Part, additiveTable, namesOf } from "./parts.js";
import { allOf, atSql, fromSql, knownAtSql, tenantSql } from "./query.js";

/**
 * The aggregate projection that has all columns the sum needs, the coarsest that has, or `none`:
 * single rows. They know no day; those by SKU no currency and no country either.
 */
type Wholes = MonthWholes | "by_vintage" | "none";

type MonthWholes = "by_month_and_sku" | "by_month";

interface SumOptions {
  /** On the rows summed. */
  readonly condition?: string;
  /** Each costs reading. */
  readonly measures?: readonly (typeof movementMeasures)[number][];
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
  { condition, measures = movementMeasures }: SumOptions = {},
): string {
  const stored: Part[] =
    wholes === "none"
      ? [{ source: `${movements.rows} AND ${upToAt}`, values: "sum" }]
      : movements.monthParts(wholes, asOf);
  const parts = [...stored, ...correctionParts(asOf)];
  return movements.partsSql(parts, () => columns, measures, condition);
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
  const firstMonth = `toStartOfMonth(${fromSql})`;
  const stored = isOfMonths
    ? movements.monthParts(months, asOf)
    : [movements.monthsBefore(months, firstMonth), ...movements.dayParts(firstMonth)];
  const { measures = movementMeasures, condition } = options;
  const parts = [...stored, ...correctionParts(asOf)];
  const sql = movements.partsSql(parts, columnsOf, measures, condition);
  return sumsSql(columnsOf(movements.dayOfRow), sql, options);
}

const movements = additiveTable("mrr_movements", "at");
const { upToAt } = movements;

function sumsSql(
  columns: readonly string[],
  parts: string,
  { measures = movementMeasures }: SumOptions,
): string {
  const names = namesOf(columns);
  const sums = measures.map((measure) => `sum(${measure}) AS ${measure}`).join(", ");
  return `SELECT ${names}, ${sums} FROM ${eachShard(parts)} GROUP BY ${names}`;
}

/**
 * The movements as of both moments, as sources that each hold whole accounts: what is summed for
 * each account by itself may be worked out source by source, and put together then. All end in a
 * condition.
 */
export function accountSources(asOf: AsOf): string[] {
  const rows = `${movements.rows} AND ${upToAt}`;
  return asOf.knownAt === null ? [rows] : [`${rows} AND account NOT IN (${touchedSql})`, knownThen];
}

/**
 * What makes of the recorded rows those as of `known_at`: the rows of touched accounts with the
 * sign turned, and what should have been recorded of them then.
 */
function correctionParts(asOf: AsOf): Part[] {
  if (asOf.knownAt === null) return [];
  const recorded = `${movements.rows} AND ${upToAt} AND account IN (${touchedSql})`;
  return [
    { source: recorded, values: "-" },
    { source: knownThen, values: "+" },
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

export const touchedSql = learnedAccountsSql({ countries: true });

/** What should have been recorded of those accounts, by the changes known at `known_at`. */
const knownThen = `(${shouldBeSql(
  allOf(tenantSql, `recorded_at <= ${knownAtSql}`, `account IN (${touchedSql})`),
)}) WHERE at <= ${atSql}`;
