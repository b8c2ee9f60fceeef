/** All movements up to a moment, by kind. */
import type { AsOf } from "../as-of.js";
import type { Cell } from "../cells.js";
import { sumMovementsSql } from "./movements.js";
import { type Query, asOfParams, sumSettingsSql } from "./query.js";

export interface MovementKindRow {
  readonly kind: string;
  /** decimal text, base currency */
  readonly mrr: string;
  readonly accounts: string;
}

export function movementKindsQuery(
  asOf: AsOf,
  cell: Pick<Cell, "condition" | "params" | "isOfSkus">,
): Query {
  const wholes = cell.isOfSkus ? "by_month_and_sku" : "by_month";
  const sums = sumMovementsSql(["kind"], wholes, asOf, {
    condition: cell.condition,
    measures: ["mrr", "accounts"],
  });
  return { sql: `${sums} ${sumSettingsSql}`, params: { ...asOfParams(asOf), ...cell.params } };
}
