/** Turns rows into the answer, in any thread (`answers/answers.ts`). */
import { parsedRows } from "../../stores/clickhouse/rows.js";
import { limits } from "../../config.js";
import type { CellGroup } from "../../schemas/http/series.js";
import type { Presented } from "../exports/send.js";
import { revenueRows, revenueTable, withCompared } from "../exports/tables.js";
import type { Groups } from "../reading/groups.js";
import { type Series, tooLong } from "../reading/series.js";
import { presentRevenue } from "./presenter.js";
import type { ReportedRow, RevenueSumsRow } from "./query.js";

export interface RevenueTexts {
  readonly series: Series;
  readonly groups: Groups | undefined;
  readonly sums: string;
  readonly reported: string;
}

export function revenueAnswer(given: {
  readonly asked: RevenueTexts;
  /** Null: it would be before 1970. Undefined: not asked for. */
  readonly compared: RevenueTexts | null | undefined;
  readonly group: CellGroup | undefined;
  readonly currency: string;
}): Presented {
  const { asked, compared, group, currency } = given;
  const present = ({ series, groups, ...texts }: RevenueTexts) => {
    const sums = parsedRows<RevenueSumsRow>(texts.sums);
    if (sums.length > limits.seriesRowsMax) throw tooLong(series.interval, "rows");
    const reported = parsedRows<ReportedRow>(texts.reported);
    return presentRevenue(sums, reported, series, groups, currency);
  };
  const data = present(asked);
  const then = compared && present(compared);
  return {
    data: { ...data, ...(then === undefined ? {} : { compare: then && then.totals }) },
    table: () => [
      revenueTable(group, then !== undefined),
      withCompared(revenueRows(data), then && revenueRows(then)),
    ],
  };
}
