/** MRR and active subscribers by provider. */
import type { AsOf } from "../as-of.js";
import { sumMovementsSql } from "./movements.js";
import { type Query, asOfParams, oneSnapshotSql } from "./query.js";

export interface MrrRow {
  readonly provider: string;
  /** decimal text, base currency */
  readonly mrr: string;
  /** active accounts */
  readonly accounts: string;
}

export function mrrQuery(asOf: AsOf): Query {
  return {
    sql: `SELECT provider, mrr, accounts FROM (
${sumMovementsSql(["provider"], "by_month", asOf)}
) ORDER BY provider ${oneSnapshotSql}`,
    params: asOfParams(asOf),
  };
}
