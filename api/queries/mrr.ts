/** MRR and active subscribers by provider. */
import type { AsOf } from "../as-of.js";
import { sumMovementsSql } from "./movements.js";
import { type Query, asOfParams, sumSettingsSql } from "./query.js";

export interface MrrRow {
  readonly provider: string;
  /** decimal text, base currency */
  readonly mrr: string;
  /** active accounts */
  readonly accounts: string;
}

export function mrrQuery(asOf: AsOf): Query {
  const sums = sumMovementsSql(["provider"], "by_month_and_sku", asOf, {
    measures: ["mrr", "accounts"],
  });
  return { sql: `${sums} ORDER BY provider ${sumSettingsSql}`, params: asOfParams(asOf) };
}
