/** What each vintage began with, and how its MRR changed in each month since. */
import type { AsOf } from "../as-of.js";
import { sumMovementsSql } from "./movements.js";
import { type Query, asOfParams, oneSnapshotSql } from "./query.js";

export interface CohortRow {
  /** Both the first day of a month, `YYYY-MM-DD`. */
  readonly vintage: string;
  readonly month: string;
  /** Decimal text, base currency: the `new` movements alone, and all movements of the month. */
  readonly started: string;
  readonly change: string;
}

export function cohortsQuery(asOf: AsOf): Query {
  const columns = ["vintage", "toStartOfMonth(at) AS month", "kind"];
  return {
    sql: `SELECT vintage, month, sumIf(mrr, kind = 'new') AS started, sum(mrr) AS change FROM (
${sumMovementsSql(columns, "by_vintage", asOf)}
) GROUP BY vintage, month ORDER BY vintage, month ${oneSnapshotSql}`,
    params: asOfParams(asOf),
  };
}
