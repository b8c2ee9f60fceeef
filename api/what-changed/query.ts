/** Sums of movements between two moments, by group. */
import { eachShard } from "../../stores/clickhouse/cluster/shard-statements.js";
import { movementKinds } from "../../schemas/records/records.js";
import { memberSql } from "../reading/groups.js";
import type { Cell } from "../reading/metric-filters.js";
import { movementTimeSql } from "../reading/movements.js";
import type { PinnedAsOf } from "../reading/pages.js";
import {
  type Query,
  asOfParams,
  fromSql,
  knownAtSql,
  momentSql,
  tenantSql,
} from "../reading/query.js";
import type { WhatChangedGroup } from "./schema.js";

type WhatChangedSums = {
  readonly [Kind in (typeof movementKinds)[number] as `${Kind}_mrr`]: string;
};

/** Amounts are decimal text, base currency. */
export interface WhatChangedSum extends WhatChangedSums {
  /** An account, or what its group consists of (`reading/groups.ts`). */
  readonly member: string;
  readonly provider: string;
  readonly movements: string;
  readonly groups: string;
}

/** @param rowsMax the largest of so many groups; null: all */
export function whatChangedQuery(
  asOf: PinnedAsOf,
  { from, to }: { readonly from: number; readonly to: number },
  by: WhatChangedGroup,
  cell: Pick<Cell, "condition" | "params">,
  rowsMax: number | null,
): Query {
  const member = by === "account" ? "account AS member" : memberSql(by);
  const kinds = movementKinds.map((kind) => `sumIf(mrr, kind = '${kind}') AS ${kind}_mrr`);
  const sums = movementKinds.map((kind) => `sum(${kind}_mrr) AS ${kind}_mrr`);
  const rows = `SELECT ${member}, any(provider) AS owner, ${kinds.join(", ")},
  countIf(mrr != 0) AS moved, sum(mrr) AS net
FROM mrr_movements WHERE ${tenantSql} AND ${movementTimeSql} >= ${fromSql}
  AND ${movementTimeSql} < ${momentSql("to")} AND recorded_at <= ${knownAtSql} AND ${cell.condition}
GROUP BY member`;
  return {
    sql: `SELECT member, any(owner) AS provider, ${sums.join(", ")}, sum(moved) AS movements,
  count() OVER () AS groups
FROM ${eachShard(rows)}
GROUP BY member HAVING movements > 0
ORDER BY abs(sum(net)) DESC, member ${rowsMax === null ? "" : "LIMIT {rows_max:UInt32}"}`,
    params: {
      ...asOfParams(asOf),
      ...cell.params,
      from,
      to,
      ...(rowsMax === null ? {} : { rows_max: rowsMax }),
    },
  };
}
