/** From rows to the answer, in whichever thread (`answers/answers.ts`). */
import { parsedRows } from "../../stores/clickhouse/rows.js";
import { limits } from "../../config.js";
import type { Presented } from "../exports/send.js";
import { movementsRows, movementsTable, withCompared } from "../exports/tables.js";
import type { Groups } from "../reading/groups.js";
import { type Series, tooLong } from "../reading/series.js";
import { presentMovements } from "./presenter.js";
import type { MovementSeriesRow } from "./query.js";

export interface MovementsTexts {
  readonly series: Series;
  readonly groups: Groups | undefined;
  /** Of `movementSeriesQuery`, as text. */
  readonly sums: string;
}

export function movementsAnswer(given: {
  readonly asked: MovementsTexts;
  /** Null: it would be before 1970. Undefined: not asked for. */
  readonly compared: MovementsTexts | null | undefined;
  readonly hasWholeAccounts: boolean;
  readonly currency: string;
}): Presented {
  const { asked, compared, currency } = given;
  const { groups } = asked;
  const present = ({ sums, series, groups: some }: MovementsTexts) => {
    const rows = parsedRows<MovementSeriesRow>(sums);
    if (rows.length > limits.seriesRowsMax) throw tooLong(series.interval, "rows");
    return presentMovements(rows, series, given, some, currency);
  };
  const data = present(asked);
  const then = compared && present(compared);
  return {
    data: { ...data, ...(then === undefined ? {} : { compare: then && then.totals }) },
    table: () => [
      movementsTable(groups?.by, then !== undefined),
      withCompared(movementsRows(data), then && movementsRows(then)),
    ],
  };
}
