/** Answers to what is counted by the month in which it began. */
import { monthNumber, monthText } from "../../schemas/months.js";
import { comparedTable, monthRows, type Months } from "../exports/tables.js";
import { monthsBefore } from "../reading/calendar.js";
import { rowsOf } from "../reading/reading.js";
import { figuresRoute, type ReadApi } from "../reading/routes.js";
import type { Operation, Route } from "../route.js";
import type { Query } from "../reading/query.js";
import type { Series } from "../reading/series.js";
import { comparedMonths, isWhole, readMonths } from "../rates/months.js";
import { checkComparison } from "../summary/period.js";
import type { Started, StartedPart } from "./query.js";
import { startedQueryParameters } from "./schema.js";
import { utcDay } from "../../schemas/money/rates.js";

interface Report<Row, OfMonths> {
  readonly query: (started: Started, part: StartedPart) => Query;
  readonly present: (rows: readonly Row[], started: Started, currency: string) => OfMonths;
  /** Whether any of it is money. */
  readonly hasMoney: boolean;
  readonly table: "trials" | "failed-payments";
}

export function startedRoute<Row, OfMonths extends Months>(
  declared: Pick<Operation, "path" | "summary" | "description" | "answer">,
  { query: queryOf, present, hasMoney, table }: Report<Row, OfMonths>,
): Route<ReadApi> {
  return figuresRoute({ ...declared, query: startedQueryParameters }, async (asked) => {
    const { service, access, query, asOf, clocks } = asked;
    const { compare, compare_known_at: knownAt = null } = query;
    const currency = access.baseCurrency;
    checkComparison(query, clocks);
    const months = readMonths(query, asOf);
    const part = await asked.narrowed(query);
    const other = compare === undefined ? null : comparedMonths(months, compare, knownAt);
    const read = async (started: Started) =>
      present(await rowsOf<Row>(service, queryOf(started, part)), started, currency);
    const [figures, compared] = await Promise.all([
      read({ months, asOf }),
      other &&
        read({ months: other, asOf: { ...other.asOf, at: sameTime(other, months, asOf.at) } }),
    ]);
    const data = {
      ...(hasMoney ? { currency } : {}),
      ...figures,
      ...(compare === undefined ? {} : { compare: compared }),
    };
    return { data, table: () => [comparedTable(table, compare !== undefined), monthRows(data)] };
  });
}

/** As long after the months compared with as `at` is after those asked for. */
function sameTime(other: Series, months: Series, at: number): number {
  return monthsBefore(at, monthNumber(months.from) - monthNumber(other.from));
}

/** @param rows of each month, by its first day */
export function presentStarted<Row extends { readonly start: string }, Figures extends object>(
  rows: readonly Row[],
  { months }: Pick<Started, "months">,
  counted: (rows: readonly Row[]) => Figures,
) {
  const untilText = (to: number) => new Date(Math.min(to, months.asOf.at)).toISOString();
  return {
    since: new Date(months.from).toISOString(),
    until: untilText(months.to),
    ...counted(rows),
    series: months.parts.map((part) => ({
      month: monthText(monthNumber(part.start)),
      until: untilText(part.to),
      is_whole: isWhole(part, months),
      ...counted(rows.filter(({ start }) => start === utcDay(part.start))),
    })),
  };
}
