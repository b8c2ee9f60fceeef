/** All movements up to two moments, by kind. */
import { eachShard } from "../../stores/clickhouse/cluster/shard-statements.js";
import type { AsOf } from "../reading/as-of.js";
import type { Cell } from "../reading/metric-filters.js";
import { movementPartsSql, wholesOf } from "../reading/movements.js";
import { type Query, asOfParams, sumSettingsSql } from "../reading/query.js";

export interface MovementKindRow {
  /** Up to `asOf.at`, or up to the moment before. */
  readonly moment: "now" | "then";
  readonly kind: string;
  /** decimal text, base currency */
  readonly mrr: string;
  readonly accounts: string;
}

/**
 * In one statement: if something were booked between two, only one would have it, and the days
 * between the moments would lose what happened before.
 * @param since ms since 1970, the moment before
 */
export function movementKindsQuery(
  asOf: AsOf,
  since: number,
  cell: Omit<Cell, "hasWholeAccounts">,
): Query {
  const { condition } = cell;
  const wholes = wholesOf(cell);
  const partsOf = (moment: MovementKindRow["moment"], at: number) =>
    movementPartsSql(
      [`'${moment}' AS moment`, "kind"],
      wholes,
      { ...asOf, at },
      { condition, measures: ["mrr", "accounts"] },
    );
  const then = partsOf("then", since).replaceAll("{at:Int64}", "{since:Int64}");
  return {
    sql: `SELECT moment, kind, sum(mrr) AS mrr, sum(accounts) AS accounts
FROM ${eachShard(`${partsOf("now", asOf.at)}\nUNION ALL\n${then}`)}
GROUP BY moment, kind ${sumSettingsSql}`,
    params: { ...asOfParams(asOf), since, ...cell.params },
  };
}
