/** Revenue and sales of a period by SKU: a sum over the ledger. */
import type { AsOf } from "../reading/as-of.js";
import { ledgerPartsSinceSql, ledgerPartsSql } from "../reading/ledger.js";
import { type Query, asOfParams, sumSettingsSql } from "../reading/query.js";

export interface SkuRevenueRow {
  readonly provider: string;
  readonly external_id: string;
  /** minor units of base currency */
  readonly amount: string;
  readonly sales: string;
}

/** @param from 00:00 of the period's first day, ms since 1970; null: from the beginning */
export function skuRevenueQuery(asOf: AsOf, from: number | null): Query {
  const columns = ["provider", "external_id"];
  const measures = ["amount", "sales"] as const;
  const parts =
    from === null
      ? ledgerPartsSql(columns, measures, asOf)
      : ledgerPartsSinceSql(() => columns, measures, asOf);
  return {
    sql: `SELECT provider, external_id, sum(amount) AS amount, sum(sales) AS sales FROM ${parts}
GROUP BY provider, external_id ORDER BY provider, external_id ${sumSettingsSql}`,
    params: { ...asOfParams(asOf), ...(from === null ? {} : { from }) },
  };
}
