/** From rows to the answer, in whichever thread (`answers/answers.ts`). */
import { parsedRows } from "../../clickhouse/rows.js";
import { limits } from "../../config.js";
import type { Presented } from "../exports/send.js";
import { movementsRows, movementsTable } from "../exports/tables.js";
import type { Groups } from "../reading/groups.js";
import { type Series, tooLong } from "../reading/series.js";
import { presentMovements } from "./presenter.js";
import type { MovementSeriesRow } from "./query.js";

export function movementsAnswer(given: {
  /** Of `movementSeriesQuery`, as text. */
  readonly sums: string;
  readonly series: Series;
  readonly hasWholeAccounts: boolean;
  readonly groups: Groups | undefined;
  readonly currency: string;
}): Presented {
  const { series, groups, currency } = given;
  const rows = parsedRows<MovementSeriesRow>(given.sums);
  if (rows.length > limits.seriesRowsMax) throw tooLong(series.interval, "rows");
  const data = presentMovements(rows, series, given, groups, currency);
  return { data, table: () => [movementsTable(groups?.by), movementsRows(data)] };
}
