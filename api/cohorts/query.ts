/** What each vintage began with, and how its MRR or its accounts changed in each month since. */
import { eachShard } from "../../stores/clickhouse/cluster/shard-statements.js";
import type { AsOf } from "../reading/as-of.js";
import type { Cell } from "../reading/metric-filters.js";
import { movementPartsSql, movementRows } from "../reading/movements.js";
import { type Query, asOfParams, sumSettingsSql } from "../reading/query.js";

export interface CohortRow {
  /** Both the first day of a month, `YYYY-MM-DD`. */
  readonly vintage: string;
  readonly month: string;
  /** Decimal text: the `new` movements alone, and all movements of the month. */
  readonly started: string;
  readonly change: string;
}

type Rows = Pick<Cell, "condition" | "params" | "isOfVintages">;
const allRows: Rows = { condition: "true", params: {}, isOfVintages: true };

/** @param measure MRR in base currency, or active accounts (of cells of whole accounts) */
export function cohortsQuery(
  asOf: AsOf,
  cell: Rows = allRows,
  measure: "mrr" | "accounts" = "mrr",
): Query {
  const columns = ["vintage", "toStartOfMonth(at) AS month", "kind"];
  // The projection by vintage knows no other cells.
  const wholes = cell.isOfVintages ? "by_vintage" : "none";
  const { condition } = cell;
  const parts = movementPartsSql(columns, wholes, asOf, { condition, measures: [measure] });
  return {
    sql: `SELECT vintage, month, sumIf(${measure}, kind = 'new') AS started,
  sum(${measure}) AS change FROM ${eachShard(parts)}
GROUP BY vintage, month ORDER BY vintage, month ${sumSettingsSql}`,
    params: { ...asOfParams(asOf), ...cell.params },
  };
}

/** The part of an account's `total` that counts, of `started` at its beginning. */
const keptSql = {
  gross: { started: "started", kept: "least(total, started)" },
  accounts: { started: "toDecimal128(started > 0, 6)", kept: "toDecimal128(total > 0, 6)" },
} as const;

/**
 * The same for what only single accounts show: their MRR as far as they began with it (`gross`), or
 * whether they have any in the cell (`accounts`). Reads every movement in the order of accounts,
 * which is the table's, one account at a time.
 */
export function accountCohortsQuery(asOf: AsOf, cell: Rows, measure: keyof typeof keptSql): Query {
  const { started, kept } = keptSql[measure];
  const steps = `
  SELECT vintage, arrayJoin(arrayMap(
    (month, now, before, row) -> (month, if(row = 1, ${started}, ${none}), now - before),
    moves.1, kept, arrayPushFront(arrayPopBack(kept), ${none}), arrayEnumerate(kept))) AS step
  FROM (
    SELECT vintage, started, moves,
           arrayMap(total -> ${kept}, arrayCumSum(moves.2)) AS kept
    FROM (
      SELECT vintage, sumIf(mrr, kind = 'new') AS started,
             arraySort(groupArray((toStartOfMonth(at), mrr))) AS moves
      FROM ${movementRows(asOf)} AND ${cell.condition}
      GROUP BY workspace, environment, account, vintage
    )
  )`;
  return {
    sql: `SELECT vintage, step.1 AS month, sum(step.2) AS started, sum(step.3) AS change
FROM ${eachShard(steps)} GROUP BY vintage, month ORDER BY vintage, month
${sumSettingsSql}, optimize_aggregation_in_order = 1, optimize_use_projections = 0`,
    params: { ...asOfParams(asOf), ...cell.params },
  };
}

const none = "toDecimal128(0, 6)";
