/** Recorded MRR movements, row by row, in an order. */
import type { MovementKind } from "../../schemas/records/records.js";
import { recordedColumns } from "../../schemas/movements.js";
import type { Cell } from "../reading/metric-filters.js";
import type { KeyPosition, PinnedAsOf } from "../reading/pages.js";
import {
  type Query,
  allOf,
  asOfParams,
  atSql,
  fromSql,
  given,
  knownAtSql,
  momentSql,
  tenantSql,
} from "../reading/query.js";
import type { RecordedMovementSort } from "./schema.js";

/** All that are given must hold. */
export interface RecordedMovementsWanted {
  readonly cell: Pick<Cell, "condition" | "params">;
  readonly kind?: readonly MovementKind[] | undefined;
  readonly account?: string | undefined;
  /** ms since 1970; `at` from `from` on and before `to` */
  readonly from?: number | undefined;
  readonly to?: number | undefined;
}

/**
 * The table lies in the order of accounts. So the time or the amount of the last wanted row is
 * looked for first, in a few columns of all rows; the rest is read only for the rows up to it.
 * @param rowsMax fewer rows mean the end of the list
 */
export function recordedMovementsQuery(
  asOf: PinnedAsOf,
  wanted: RecordedMovementsWanted,
  sort: RecordedMovementSort,
  after: KeyPosition | null,
  rowsMax: number,
): Query {
  const column = sort.replace("-", "");
  const [beyond, last, direction] = sort.startsWith("-")
    ? ["<=", "min", "DESC"]
    : [">=", "max", ""];
  const afterSql = column === "at" ? momentSql("after") : "{after:Decimal(38, 6)}";
  const conditions = allOf(
    conditionsSql(wanted),
    after !== null && `${column} ${beyond} ${afterSql}`,
  );
  const place = ["account", "subscription", "external_id", "kind", "vintage"];
  const ties = [...place, "currency", "country", "plan_interval"];
  return {
    sql: `SELECT ${recordedColumns} FROM mrr_movements
WHERE ${conditions} AND ${column} ${beyond === "<=" ? ">=" : "<="} (
  SELECT ${last}(${column}) FROM (
    SELECT ${column} FROM mrr_movements WHERE ${conditions}
    ORDER BY ${column} ${direction} LIMIT {rows_max:UInt32} + {shown:UInt32}
  )
)
ORDER BY ${column} ${direction}, ${ties.join(", ")}, at, mrr, recorded_at, event_id
LIMIT {rows_max:UInt32} OFFSET {shown:UInt32}`,
    params: given({
      ...paramsOf(asOf, wanted),
      rows_max: rowsMax,
      shown: after?.rows ?? 0,
      after: after?.key,
    }),
  };
}

export interface RecordedMovementTotals {
  readonly movements: string;
  /** decimal text, base currency */
  readonly net: string;
}

export function recordedMovementTotalsQuery(
  asOf: PinnedAsOf,
  wanted: RecordedMovementsWanted,
): Query {
  return {
    sql: `SELECT count() AS movements, sum(mrr) AS net FROM mrr_movements
WHERE ${conditionsSql(wanted)}`,
    params: paramsOf(asOf, wanted),
  };
}

function conditionsSql({ cell, kind, account, from, to }: RecordedMovementsWanted): string {
  return allOf(
    tenantSql,
    `at <= ${atSql}`,
    `recorded_at <= ${knownAtSql}`,
    // Rows that cancel each other add nothing.
    "mrr != 0",
    cell.condition,
    kind !== undefined && "kind IN {kind:Array(String)}",
    account !== undefined && "account = {account:String}",
    from !== undefined && `at >= ${fromSql}`,
    to !== undefined && `at < ${momentSql("to")}`,
  );
}

function paramsOf(
  asOf: PinnedAsOf,
  { cell, kind, account, from, to }: RecordedMovementsWanted,
): Query["params"] {
  return given({ ...asOfParams(asOf), ...cell.params, kind, account, from, to });
}
