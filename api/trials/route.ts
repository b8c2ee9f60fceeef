/** `GET /v1/metrics/trials`: free trials by month of their start, and how many came to be paid. */
import { monthNumber } from "../../schemas/months.js";
import { trialsRows, trialsTable } from "../exports/tables.js";
import { monthsBefore } from "../reading/calendar.js";
import { rowsOf } from "../reading/reading.js";
import { type ReadApi, figuresRoute } from "../reading/routes.js";
import type { Series } from "../reading/series.js";
import { comparedMonths, readMonths } from "../rates/months.js";
import { checkComparison } from "../summary/period.js";
import { presentTrials } from "./presenter.js";
import { type Started, type TrialsRow, trialsQuery } from "./query.js";
import { type TrialsAnswer, trialsQueryParameters } from "./schema.js";

export function trialsRoute(api: ReadApi): void {
  const { service } = api;
  figuresRoute(api, "/v1/metrics/trials", trialsQueryParameters, "all", async (asked) => {
    const { query, asOf, clocks } = asked;
    const { compare, compare_known_at: knownAt = null } = query;
    checkComparison(query, clocks);
    const months = readMonths(query, asOf);
    const other = compare === undefined ? null : comparedMonths(months, compare, knownAt);
    const read = async (started: Started) =>
      presentTrials(
        await rowsOf<TrialsRow>(service, trialsQuery(started, query.provider)),
        started,
      );
    const [trials, compared] = await Promise.all([
      read({ months, asOf }),
      other &&
        read({ months: other, asOf: { ...other.asOf, at: sameTime(other, months, asOf.at) } }),
    ]);
    const data: TrialsAnswer["data"] = {
      ...trials,
      ...(compare === undefined ? {} : { compare: compared }),
    };
    return { data, table: () => [trialsTable(compare !== undefined), trialsRows(data)] };
  });
}

/** As long after the months compared with as `at` is after those asked for. */
function sameTime(other: Series, months: Series, at: number): number {
  return monthsBefore(at, monthNumber(months.from) - monthNumber(other.from));
}
