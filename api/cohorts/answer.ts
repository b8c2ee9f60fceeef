/** From rows to the answer, in whichever thread (`answers/answers.ts`). */
import { parsedRows } from "../../clickhouse/rows.js";
import type { Presented } from "../exports/send.js";
import { accountCohortsRows, cohortsRows, cohortsTable, tables } from "../exports/tables.js";
import {
  presentAccountAverage,
  presentAccountCohorts,
  presentAverage,
  presentCohorts,
} from "./presenter.js";
import type { CohortRow } from "./query.js";
import type { CohortInterval } from "./schema.js";
import type { Vintages } from "./vintages.js";

/** Rows of the queries, as text, and which of their vintages are wanted. */
export interface CohortsTexts {
  readonly changes: string;
  /** Null: not asked for. */
  readonly gross: string | null;
  readonly vintages: Vintages;
}

export function cohortsAnswer(given: {
  readonly basis: "accounts" | "mrr";
  readonly asked: CohortsTexts;
  readonly hasAverage: boolean;
  /** Null: there are none. Undefined: not asked for. */
  readonly compared: CohortsTexts | null | undefined;
  /** ms since 1970 */
  readonly at: number;
  readonly interval: CohortInterval | undefined;
  readonly currency: string;
}): Presented {
  const { asked, compared, at, interval, currency } = given;
  const isOfAccounts = given.basis === "accounts";
  const rowsOf = (text: string) => parsedRows<CohortRow>(text);
  const averageOf = ({ changes, gross, vintages }: CohortsTexts) =>
    isOfAccounts
      ? presentAccountAverage(rowsOf(changes), at, interval, vintages)
      : presentAverage(
          rowsOf(changes),
          at,
          currency,
          interval,
          gross === null ? null : rowsOf(gross),
          vintages,
        );
  const averages = {
    ...(given.hasAverage ? { average: averageOf(asked) } : {}),
    ...(compared === undefined ? {} : { compare: compared && averageOf(compared) }),
  };
  const rows = rowsOf(asked.changes);
  if (isOfAccounts) {
    const cohorts = presentAccountCohorts(rows, at, interval, asked.vintages);
    return {
      data: { cohorts, ...averages },
      table: () => [tables.accountCohorts, accountCohortsRows(cohorts)],
    };
  }
  const gross = asked.gross === null ? null : rowsOf(asked.gross);
  const cohorts = presentCohorts(rows, at, currency, interval, gross, asked.vintages);
  const table = () => [cohortsTable(gross !== null), cohortsRows(cohorts, currency)] as const;
  return { data: { cohorts, ...averages }, table };
}
