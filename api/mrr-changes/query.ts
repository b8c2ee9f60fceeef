/**
 * What single events changed of the MRR as of a moment: the movements recorded under them. Over all
 * events between two readings they add up to the difference of the two.
 */
import type { Cell } from "../reading/metric-filters.js";
import { sumMovementsSql } from "../reading/movements.js";
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
  sumSettingsSql,
  tenantSql,
} from "../reading/query.js";
import type { MrrChangeSort } from "./schema.js";

export interface MrrChangeRow {
  /** ms since 1970, as text: the receipt of the event. */
  readonly recorded_at_ms: string;
  readonly event_id: string;
  readonly account: string;
  readonly provider: string;
  readonly subscription: string;
  readonly external_id: string;
  readonly currency: string;
  readonly country: string;
  /** ms since 1970, as text */
  readonly at_ms: string;
  readonly kind: string;
  /** `YYYY-MM` */
  readonly vintage: string;
  /** decimal text, base currency */
  readonly mrr: string;
  readonly accounts: string;
}

export function changeKey(row: MrrChangeRow, sort: MrrChangeSort): string {
  return { at: row.at_ms, recorded_at: row.recorded_at_ms, m: row.mrr }[columnOf(sort)];
}

export interface MrrChangesWanted {
  /** ms since 1970: recorded later, up to `asOf.knownAt` */
  readonly from: number;
  /** Of whole accounts. */
  readonly cell: Pick<Cell, "condition" | "params">;
}

/**
 * Movements recorded after `from` and up to `knownAt` that happened up to `at`. Rows of one event
 * that correct each other are one.
 * @param rowsMax fewer rows mean the end of the list
 */
export function mrrChangesQuery(
  asOf: PinnedAsOf,
  wanted: MrrChangesWanted,
  sort: MrrChangeSort,
  after: KeyPosition | null,
  rowsMax: number,
): Query {
  const column = columnOf(sort);
  const isFalling = sort.startsWith("-");
  const afterSql = column === "m" ? "{after:Decimal(38, 6)}" : momentSql("after");
  const beyond = after !== null && `${column} ${isFalling ? "<=" : ">="} ${afterSql}`;
  const isSum = column === "m";
  const shown = place.replace(" at, kind, vintage", " toUnixTimestamp64Milli(at) AS at_ms, kind");
  return {
    sql: `SELECT toUnixTimestamp64Milli(recorded_at) AS recorded_at_ms, event_id, account,
  ${shown}, formatDateTime(vintage, '%Y-%m') AS vintage, m AS mrr, a AS accounts
FROM (${changesSql(wanted, isSum ? false : beyond, isSum ? beyond : false)})
ORDER BY ${column} ${isFalling ? "DESC" : "ASC"}, recorded_at DESC, event_id DESC, account DESC,
  ${place}
LIMIT {rows_max:UInt32} OFFSET {shown:UInt32}`,
    params: given({
      ...paramsOf(asOf, wanted),
      after: after?.key,
      rows_max: rowsMax,
      shown: after?.rows ?? 0,
    }),
  };
}

/** MRR and active accounts of some accounts, by provider: rows as `mrrPairQuery` makes them. */
export function mrrOfAccountsQuery(
  asOf: PinnedAsOf,
  { condition, params }: MrrChangesWanted["cell"],
): Query {
  const measures = ["mrr", "accounts"] as const;
  const sums = sumMovementsSql(["provider"], "none", asOf, { condition, measures });
  return { sql: `${sums} ${sumSettingsSql}`, params: { ...asOfParams(asOf), ...params } };
}

export function mrrChangesCountQuery(asOf: PinnedAsOf, wanted: MrrChangesWanted): Query {
  return {
    sql: `SELECT count() AS changes FROM (${changesSql(wanted, false, false)})`,
    params: paramsOf(asOf, wanted),
  };
}

const place = "provider, subscription, external_id, currency, country, at, kind, vintage";

function changesSql(
  { cell }: MrrChangesWanted,
  condition: string | false,
  having: string | false,
): string {
  const conditions = allOf(
    tenantSql,
    `recorded_at > ${fromSql}`,
    `recorded_at <= ${knownAtSql}`,
    `at <= ${atSql}`,
    cell.condition,
    condition,
  );
  return `SELECT recorded_at, event_id, account, ${place}, sum(mrr) AS m, sum(accounts) AS a
  FROM mrr_movements WHERE ${conditions}
  GROUP BY recorded_at, event_id, account, ${place} HAVING ${allOf("(m != 0 OR a != 0)", having)}`;
}

function paramsOf(asOf: PinnedAsOf, { from, cell }: MrrChangesWanted): Query["params"] {
  return given({ ...asOfParams(asOf), ...cell.params, from });
}

function columnOf(sort: MrrChangeSort): "at" | "recorded_at" | "m" {
  if (sort.endsWith("recorded_at")) return "recorded_at";
  return sort.endsWith("at") ? "at" : "m";
}
