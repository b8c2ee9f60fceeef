/** A series in groups, and that of another time beside it. */
import { checkComparison, comparedPeriod, periodOf } from "../summary/period.js";
import type { SummaryQuery } from "../summary/schema.js";
import type { AsOf, Clocks } from "./as-of.js";
import { firstRowOf } from "./reading.js";
import type { Asked } from "./routes.js";
import { type Series, type SeriesQuery, readSeries } from "./series.js";

type BesideQuery = SeriesQuery & Pick<SummaryQuery, "compare" | "compare_known_at">;

/**
 * @param table what the series begins with, where it is not said
 * @param groupsOf undefined: it is not grouped
 * @returns `compared` null where it would be before 1970, undefined where it was not asked for
 */
export async function readBeside<Query extends BesideQuery, Groups, Texts>(
  asked: Pick<Asked<Query>, "service" | "query" | "format"> & {
    readonly asOf: AsOf;
    readonly clocks: Clocks;
  },
  table: "ledger" | "mrr_movements",
  groupsOf: (series: Series) => Promise<Groups | undefined>,
  read: (series: Series, groups: Groups | undefined) => Promise<Texts>,
): Promise<{ readonly asked: Texts; readonly compared: Texts | null | undefined }> {
  const { service, query, asOf, clocks, format } = asked;
  const first = query.from === undefined ? await firstRowOf(service, table, asOf) : null;
  const series = readSeries(query, asOf, first);
  checkComparison(query, clocks);
  const { compare, compare_known_at: knownAt = null } = query;
  const days = { ...query, interval: series.interval };
  const other =
    compare && comparedPeriod(periodOf(series, asOf.at), days, compare, knownAt)?.series;
  const grouped = async (of: Series) => read(of, await groupsOf(of));
  const [wanted, then] = await Promise.all([
    grouped(series),
    // Of the other time, JSON shows only the totals; a table shows all rows.
    other ? (format === null ? read(other, undefined) : grouped(other)) : null,
  ]);
  return { asked: wanted, compared: compare === undefined ? undefined : then };
}
