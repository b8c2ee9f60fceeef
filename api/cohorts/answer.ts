/** Turns rows into the answer, in any thread (`answers/answers.ts`). */
import type { DefinitionName } from "../../schemas/definitions/index.js";
import { parsedRows } from "../../stores/clickhouse/rows.js";
import type { Presented } from "../exports/send.js";
import {
  accountCohortsRows,
  accountCohortsTable,
  cohortsRows,
  cohortsTable,
  withCompared,
} from "../exports/tables.js";
import {
  type CohortsRead,
  presentAccountCohorts,
  presentAverage,
  presentCohorts,
} from "./presenter.js";
import type { CohortRow } from "./query.js";
import type { CohortInterval } from "./schema.js";
import type { Vintages } from "./vintages.js";

/** Rows of the queries, as text, and the wanted vintages. */
export interface CohortsTexts {
  readonly changes: string;
  readonly gross: string | null;
  readonly vintages: Vintages;
}

function read({ changes, gross, vintages }: CohortsTexts): CohortsRead {
  const rowsOf = (text: string) => parsedRows<CohortRow>(text);
  return { rows: rowsOf(changes), gross: gross === null ? null : rowsOf(gross), vintages };
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
  /** Null: ours. */
  readonly definition: DefinitionName | null;
}): Presented {
  const { asked, compared, basis } = given;
  const wanted = read(asked);
  const averageOf = (some: CohortsRead) => presentAverage(some, given, basis);
  const then = compared && read(compared);
  const isCompared = then !== undefined;
  const beside = {
    ...(given.hasAverage ? { average: averageOf(wanted) } : {}),
    ...(then === undefined ? {} : { compare: then && averageOf(then) }),
    ...(given.definition === null ? {} : { definition: given.definition }),
  };
  if (basis === "accounts") {
    const present = (some: CohortsRead) => presentAccountCohorts(some, given);
    const cohorts = present(wanted);
    return {
      data: { cohorts, ...beside },
      table: () => [
        accountCohortsTable(isCompared),
        withCompared(accountCohortsRows(cohorts), then && accountCohortsRows(present(then))),
      ],
    };
  }
  const present = (some: CohortsRead) => presentCohorts(some, given);
  const cohorts = present(wanted);
  const rowsOf = (some: typeof cohorts) => cohortsRows(some, given.currency);
  return {
    data: { cohorts, ...beside },
    table: () => [
      cohortsTable(wanted.gross !== null, isCompared),
      withCompared(rowsOf(cohorts), then && rowsOf(present(then))),
    ],
  };
}
