/** All movements up to a moment, by kind. */
import type { AsOf } from "../as-of.js";
import type { Cell } from "../cells.js";
import { sumMovementsSql } from "./movements.js";
import { type Query, asOfParams, oneSnapshotSql } from "./query.js";

export interface MovementKindRow {
  readonly kind: string;
  /** decimal text, base currency */
  readonly mrr: string;
  readonly accounts: string;
}

export function movementKindsQuery(asOf: AsOf, cell: Pick<Cell, "condition" | "params">): Query {
  return {
    sql: `${sumMovementsSql(["kind"], "by_month", asOf, cell.condition)} ${oneSnapshotSql}`,
    params: { ...asOfParams(asOf), ...cell.params },
  };
}
