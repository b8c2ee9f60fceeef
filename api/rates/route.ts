/** `GET /v1/metrics/rates`: monthly churn, LTV, ARPA and quick ratio. */
import { beforeAll, type MovementSeriesRow } from "../movement-series/query.js";
import { comparedTable, monthRows } from "../exports/tables.js";
import { cellOf } from "../reading/metric-filters.js";
import { firstRowOf, rowsOf } from "../reading/reading.js";
import { figuresRoute } from "../reading/routes.js";
import type { Series, SeriesPart } from "../reading/series.js";
import { checkComparison } from "../summary/period.js";
import { comparedMonths, isWhole, readMonths } from "./months.js";
import { churnedAccounts, ratesQuery } from "./query.js";
import {
  type MonthRates,
  type RatesAnswer,
  ratesAnswer,
  type RatesOfMonths,
  ratesQueryParameters,
} from "./schema.js";
import { percent, ratio, showMrr } from "../reading/amounts.js";
import {
  balanceAfter,
  balanceOf,
  plus,
  type Sums,
  sumsByStart,
  sumsOf,
} from "../reading/movement-sums.js";
import { monthNumber, monthText } from "../../schemas/months.js";
import { utcDay } from "../../schemas/money/rates.js";
import type { MovementKind } from "../../schemas/records/records.js";

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
    return { data, table: () => [comparedTable("rates", compare !== undefined), monthRows(data)] };
  },
);

interface RatesOf {
  readonly currency: string;
  /** Whether the sums are of whole accounts. */
  readonly hasAccounts: boolean;
}

/** @param rows of `ratesQuery` */
function presentRates(
  rows: readonly MovementSeriesRow[],
  months: Series,
  of: RatesOf,
): RatesOfMonths {
  const figures = figuresOf(rows, months);
  const whole = figures.filter((month) => month.isWhole);
  const meant = whole.length > 0 ? whole : figures;
  const end = figures.at(-1);
  const moved = figures.reduce((sum, month) => plus(sum, month.moved), sumsOf([]));
  const churn = meanOf(meant.map(customerChurn));
  return {
    since: new Date(months.from).toISOString(),
    until: untilText(months, months.to),
    whole_months: whole.length,
    ...shownRates(
      {
        churn,
        mrrChurn: meanOf(meant.map((month) => mrrChurn(month, "gross"))),
        netMrrChurn: meanOf(meant.map((month) => mrrChurn(month, "net"))),
        moved,
        end: end?.end ?? nothing,
      },
      of,
    ),
    series: figures.map((month) => presentMonth(month, months, of)),
  };
}

interface Month {
  readonly part: SeriesPart;
  readonly isWhole: boolean;
  readonly start: Balance;
  readonly moved: Sums;
  readonly end: Balance;
  /** Accounts, each once. */
  readonly churned: number;
}

type Balance = ReturnType<typeof balanceOf>;
const nothing: Balance = { mrr: 0n, accounts: 0 };

function figuresOf(rows: readonly MovementSeriesRow[], months: Series): Month[] {
  const sumsOfStart = sumsByStart(rows.filter(({ kind }) => kind !== churnedAccounts));
  const churned = new Map(
    rows.flatMap(({ start, kind, accounts }) =>
      kind === churnedAccounts ? [[start, Number(accounts)]] : [],
    ),
  );
  let balance = balanceOf(sumsOfStart(beforeAll));
  return months.parts.map((part) => {
    const start = balance;
    const moved = sumsOfStart(utcDay(part.start));
    balance = balanceAfter(start, moved);
    return {
      part,
      isWhole: isWhole(part, months),
      start,
      moved,
      end: balance,
      churned: churned.get(utcDay(part.start)) ?? 0,
    };
  });
}

/** Of a whole above 0. */
interface Share {
  readonly part: bigint;
  readonly whole: bigint;
}

function shareOf(part: bigint, whole: bigint): Share | null {
  return whole <= 0n ? null : { part, whole };
}

function customerChurn({ churned, start }: Month): Share | null {
  return shareOf(BigInt(churned), BigInt(start.accounts));
}

function mrrChurn({ moved, start }: Month, basis: "gross" | "net"): Share | null {
  const regained = basis === "net" ? sumIn(moved, "expansion", "reactivation") : 0n;
  return shareOf(lostIn(moved) - regained, start.mrr);
}

/** Of the months that have one. */
function meanOf(shares: readonly (Share | null)[]): Share | null {
  const known = shares.filter((share) => share !== null);
  if (known.length === 0) return null;
  const sum = known.reduce((one, other) => ({
    part: one.part * other.whole + other.part * one.whole,
    whole: one.whole * other.whole,
  }));
  return { part: sum.part, whole: sum.whole * BigInt(known.length) };
}

function sumIn(moved: Sums, ...kinds: readonly MovementKind[]): bigint {
  return kinds.reduce((sum, kind) => sum + (moved.get(kind)?.mrr ?? 0n), 0n);
}

function lostIn(moved: Sums): bigint {
  return -sumIn(moved, "contraction", "churn");
}

function presentMonth(month: Month, months: Series, of: RatesOf): MonthRates {
  const { part, start, moved, end, churned } = month;
  const counted = (count: number) => (of.hasAccounts ? count : null);
  return {
    month: monthText(monthNumber(part.start)),
    until: untilText(months, part.to),
    is_whole: month.isWhole,
    ...shownRates(
      {
        churn: customerChurn(month),
        mrrChurn: mrrChurn(month, "gross"),
        netMrrChurn: mrrChurn(month, "net"),
        moved,
        end,
      },
      of,
    ),
    start_mrr: showMrr(start.mrr, of.currency),
    mrr: showMrr(end.mrr, of.currency),
    start_subscribers: counted(start.accounts),
    active_subscribers: counted(end.accounts),
    churned_subscribers: counted(churned),
  };
}

function untilText({ asOf }: Series, to: number): string {
  return new Date(Math.min(to, asOf.at)).toISOString();
}

function shownRates(
  rates: {
    readonly churn: Share | null;
    readonly mrrChurn: Share | null;
    readonly netMrrChurn: Share | null;
    readonly moved: Sums;
    readonly end: Balance;
  },
  { currency, hasAccounts }: RatesOf,
) {
  const { churn, moved, end } = rates;
  const shown = (share: Share | null) => share && percent(share.part, share.whole, 2);
  const accounts = BigInt(end.accounts);
  const lost = lostIn(moved);
  const hasArpa = hasAccounts && accounts > 0n;
  return {
    customer_churn_rate_pct: hasAccounts ? shown(churn) : null,
    mrr_churn_rate_pct: shown(rates.mrrChurn),
    net_mrr_churn_rate_pct: shown(rates.netMrrChurn),
    quick_ratio:
      lost === 0n ? null : ratio(sumIn(moved, "new", "expansion", "reactivation"), lost, 2),
    arpa: hasArpa ? showMrr(end.mrr, currency, accounts) : null,
    ltv:
      hasArpa && churn !== null && churn.part > 0n
        ? showMrr(end.mrr * churn.whole, currency, accounts * churn.part)
        : null,
  };
}
