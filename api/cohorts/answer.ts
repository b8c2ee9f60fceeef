/** From rows to the answer, in whichever thread (`answers/answers.ts`). */
import { parsedRows } from "../../clickhouse/rows.js";
import type { Presented } from "../exports/send.js";
import { accountCohortsRows, cohortsRows, cohortsTable, tables } from "../exports/tables.js";
import { presentAccountCohorts, presentCohorts } from "./presenter.js";
import type { CohortRow } from "./query.js";
import type { CohortInterval } from "./schema.js";

export function cohortsAnswer(given: {
  readonly basis: "accounts" | "mrr";
  /** Rows of the queries, as text. */
  readonly changes: string;
  /** Null: not asked for. */
  readonly gross: string | null;
  /** ms since 1970 */
  readonly at: number;
  readonly interval: CohortInterval | undefined;
  readonly currency: string;
}): Presented {
  const { at, interval, currency } = given;
  const rows = parsedRows<CohortRow>(given.changes);
  if (given.basis === "accounts") {
    const cohorts = presentAccountCohorts(rows, at, interval);
    return { data: { cohorts }, table: () => [tables.accountCohorts, accountCohortsRows(cohorts)] };
  }
  const gross = given.gross === null ? null : parsedRows<CohortRow>(given.gross);
  const cohorts = presentCohorts(rows, at, currency, interval, gross);
  const table = () => [cohortsTable(gross !== null), cohortsRows(cohorts, currency)] as const;
  return { data: { cohorts }, table };
}
