/** `GET /v1/metrics/rates`: monthly churn, LTV, ARPA and quick ratio. */
import type { MovementSeriesRow } from "../movement-series/query.js";
import { monthRows, ratesTable } from "../exports/tables.js";
import { cellOf } from "../reading/metric-filters.js";
import { firstRowOf, rowsOf } from "../reading/reading.js";
import { figuresRoute } from "../reading/routes.js";
import type { Series } from "../reading/series.js";
import { checkComparison } from "../summary/period.js";
import { comparedMonths, readMonths } from "./months.js";
import { presentRates } from "./presenter.js";
import { ratesQuery } from "./query.js";
import { type RatesAnswer, ratesQueryParameters, ratesAnswer } from "./schema.js";

export const ratesRoute = figuresRoute(
  {
    path: "/v1/metrics/rates",
    summary: "Churn of a month, LTV, ARPA and quick ratio",
    description:
      "Of several months the mean of the whole ones, so that no rate grows with the time asked " +
      "for.",
    query: ratesQueryParameters,
    answer: ratesAnswer,
  },
  async (asked) => {
    const { service, access, query, asOf, clocks } = asked;
    const { compare, compare_known_at: knownAt = null } = query;
    checkComparison(query, clocks);
    const first =
      query.from === undefined ? await firstRowOf(service, "mrr_movements", asOf) : null;
    const months = readMonths(query, asOf, first);
    const other = compare === undefined ? null : comparedMonths(months, compare, knownAt);
    const cell = cellOf(await asked.narrowed(query), await asked.catalogue());
    const of = { currency: access.baseCurrency, hasAccounts: cell.hasWholeAccounts };
    const read = async (some: Series) =>
      presentRates(await rowsOf<MovementSeriesRow>(service, ratesQuery(some, cell)), some, of);
    const [rates, compared] = await Promise.all([read(months), other && read(other)]);
    const data: RatesAnswer["data"] = {
      currency: access.baseCurrency,
      ...rates,
      ...(compare === undefined ? {} : { compare: compared }),
    };
    return { data, table: () => [ratesTable(compare !== undefined), monthRows(data)] };
  },
);
