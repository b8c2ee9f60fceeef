/** Turns rows into the answer, in any thread (`answers/answers.ts`). */
import { parsedRows } from "../../stores/clickhouse/rows.js";
import type { DefinitionName } from "../../schemas/definitions/index.js";
import { limits } from "../../config.js";
import type { Presented } from "../exports/send.js";
import { groupedTable, movementsRows, withCompared } from "../exports/tables.js";
import { utcDay } from "../../schemas/money/rates.js";
import { exactMrr, mrrOf } from "../../schemas/money/monthly.js";
import {
  type Groups,
  type UnrankedGroups,
  largestGroups,
  placeOfOthers,
} from "../reading/groups.js";
import { type Series, tooLong } from "../reading/series.js";
import { presentMovements } from "./presenter.js";
import { type MovementSeriesRow, beforeAll } from "./query.js";

export interface MovementsTexts {
  readonly series: Series;
  readonly groups: Groups | UnrankedGroups | undefined;
  /** Of `movementSeriesQuery`, as text. */
  readonly sums: string;
}

export function movementsAnswer(given: {
  readonly asked: MovementsTexts;
  /** Null: it would be before 1970. Undefined: not asked for. */
  readonly compared: MovementsTexts | null | undefined;
  readonly hasWholeAccounts: boolean;
  readonly currency: string;
  /** Null: ours. */
  readonly definition: DefinitionName | null;
}): Presented {
  const { asked, compared, currency } = given;
  const { groups } = asked;
  const present = ({ sums, series, groups: some }: MovementsTexts) => {
    const rows = parsedRows<MovementSeriesRow>(sums);
    if (rows.length > limits.seriesRowsMax) throw tooLong(series.interval, "rows");
    if (some === undefined || "shown" in some) {
      return presentMovements(rows, series, given, some, currency);
    }
    const ranked = rankedRows(rows, series, some);
    return presentMovements(ranked.rows, series, given, ranked.groups, currency);
  };
  const data = present(asked);
  const then = compared && present(compared);
  return {
    data: {
      ...(given.definition === null ? {} : { definition: given.definition }),
      ...data,
      ...(then === undefined ? {} : { compare: then && then.totals }),
    },
    table: () => [
      groupedTable("mrr-movements", groups?.by, then !== undefined),
      withCompared(movementsRows(data), then && movementsRows(then)),
    ],
  };
}

/** Ranks groups as `movementSizesQuery` and `placeSql` do in the engine. */
function rankedRows(
  rows: readonly MovementSeriesRow[],
  { parts }: Series,
  { by, groupsMax }: UnrankedGroups,
): { readonly rows: MovementSeriesRow[]; readonly groups: Groups } {
  // A movement counts in the interval in which it happened, and in all after it.
  const endsAfter = new Map(
    parts.map(({ start }, index) => [utcDay(start), BigInt(parts.length - index)]),
  ).set(beforeAll, BigInt(parts.length));
  const sizes = new Map<string, bigint>();
  for (const { place: member = "", start, mrr, accounts } of rows) {
    const moved = mrrOf(mrr);
    if (moved === 0n && accounts === "0") continue;
    sizes.set(member, (sizes.get(member) ?? 0n) + moved * (endsAfter.get(start) ?? 0n));
  }
  const sized = [...sizes].map(([member, size]) => ({ member, size: exactMrr(size) }));
  const groups = largestGroups(by, sized, groupsMax, null);
  return {
    rows: rows.map((row) => ({
      ...row,
      place: groups.placeOf.get(row.place ?? "") ?? placeOfOthers,
    })),
    groups,
  };
}
