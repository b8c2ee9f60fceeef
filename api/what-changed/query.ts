/** Movements between two moments, added up by what they are grouped by. */
import { eachShard } from "../../clickhouse/cluster/shard-statements.js";
import { movementKinds } from "../movement-series/schema.js";
import type { Cell } from "../reading/metric-filters.js";
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

export type WhatChangedSums = {
  readonly [Kind in (typeof movementKinds)[number] as `${Kind}_mrr`]: string;
};

/** Amounts are decimal text, base currency. */
export interface WhatChangedSum extends WhatChangedSums {
  readonly account?: string;
  readonly provider?: string;
  readonly external_id?: string;
  readonly country?: string;
  readonly movements: string;
  /** How many groups there are. */
  readonly groups: string;
}

/** A product is grouped by its SKUs, which people may regroup: all of them are read. */
const columns: Readonly<Record<WhatChangedGroup, readonly string[]>> = {
  account: ["account", "provider"],
  product: ["provider", "external_id"],
  country: ["country"],
  provider: ["provider"],
};

/** @param rowsMax the largest of so many groups; null: all */
export function whatChangedQuery(
  asOf: PinnedAsOf,
  { from, to }: { readonly from: number; readonly to: number },
  by: WhatChangedGroup,
  cell: Pick<Cell, "condition" | "params">,
  rowsMax: number | null,
): Query {
  const names = columns[by].join(", ");
  const kinds = movementKinds.map((kind) => `sumIf(mrr, kind = '${kind}') AS ${kind}_mrr`);
  const sums = movementKinds.map((kind) => `sum(${kind}_mrr) AS ${kind}_mrr`);
  const rows = `SELECT ${names}, ${kinds.join(", ")}, countIf(mrr != 0) AS moved, sum(mrr) AS net
FROM mrr_movements WHERE ${tenantSql} AND at >= ${fromSql} AND at < ${momentSql("to")}
  AND recorded_at <= ${knownAtSql} AND ${cell.condition}
GROUP BY ${names}`;
  return {
    sql: `SELECT ${names}, ${sums.join(", ")}, sum(moved) AS movements, count() OVER () AS groups
FROM ${eachShard(rows)}
GROUP BY ${names} HAVING movements > 0
ORDER BY abs(sum(net)) DESC, ${names} ${rowsMax === null ? "" : "LIMIT {rows_max:UInt32}"}`,
    params: {
      ...asOfParams(asOf),
      ...cell.params,
      from,
      to,
      ...(rowsMax === null ? {} : { rows_max: rowsMax }),
    },
  };
}
