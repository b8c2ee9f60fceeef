/** Turns rows into the answer, in any thread (`answers/answers.ts`). */
import { parsedRows } from "../../stores/clickhouse/rows.js";
import { utcDay } from "../../schemas/money/rates.js";
import type { Presented } from "../exports/send.js";
import { comparedTable, summaryRows } from "../exports/tables.js";
import { beforeAll, type MovementSeriesRow } from "../movement-series/query.js";
import { balanceOf, plus, type Sums, sumsByStart, sumsOf } from "../reading/movement-sums.js";
import type { MovementKindRow } from "./movement-kinds.js";
import type { Period } from "./period.js";
import type { SummaryAnswer, SummaryFigures } from "./schema.js";
import { knownExponentOf, toJsonNumber } from "../../schemas/money/money.js";
import type { MovementKind } from "../../schemas/records/records.js";
import { mrrMinor, percent, ratio, showMrr } from "../reading/amounts.js";

export interface SummaryTexts {
  readonly period: Period;
  /** Rows of `movementSeriesQuery` where each interval is asked for, else of the two moments. */
  readonly sums: string;
}

export function summaryAnswer(given: {
  readonly asked: SummaryTexts;
  /** Null: it would be before 1970. Undefined: not asked for. */
  readonly compared: SummaryTexts | null | undefined;
  readonly isSeries: boolean;
  readonly of: SummaryOf;
}): Presented {
  const { asked, compared, isSeries, of } = given;
  const present = (texts: SummaryTexts) => presentTime(texts, isSeries, of);
  const data: SummaryAnswer["data"] = {
    currency: of.currency,
    ...present(asked),
    ...(compared === undefined ? {} : { compare: compared && present(compared) }),
  };
  return {
    data,
    table: () => [comparedTable("summary", compared !== undefined), summaryRows(data)],
  };
}

function presentTime(
  { period, sums: text }: SummaryTexts,
  isSeries: boolean,
  of: SummaryOf,
): SummaryFigures & { series?: SummaryFigures[] } {
  const { series } = period;
  if (series === null || !isSeries) {
    const rows = parsedRows<MovementKindRow>(text);
    const sumsAt = (wanted: MovementKindRow["moment"]) =>
      sumsOf(rows.filter(({ moment }) => moment === wanted));
    return presentSummary(sumsAt("now"), sumsAt("then"), period, of);
  }
  const sumsOfStart = sumsByStart(parsedRows<MovementSeriesRow>(text));
  const first = sumsOfStart(beforeAll);
  let sums: Sums = first;
  const figures = series.parts.map((part) => {
    const before = sums;
    sums = plus(before, sumsOfStart(utcDay(part.start)));
    const days = { since: part.from, until: Math.min(part.to, period.until) };
    return presentSummary(sums, before, days, of);
  });
  return { ...presentSummary(sums, first, period, of), series: figures };
}

interface SummaryOf {
  readonly currency: string;
  /** Whether the sums are of whole accounts. */
  readonly hasAccounts: boolean;
}

/**
 * @param now up to the end of the period
 * @param then up to its beginning
 */
function presentSummary(
  now: Sums,
  then: Sums,
  { since, until }: { readonly since: number; readonly until: number },
  { currency, hasAccounts }: SummaryOf,
): SummaryFigures {
  const [end, start] = [balanceOf(now), balanceOf(then)];
  const moved = (kind: MovementKind) => (now.get(kind)?.mrr ?? 0n) - (then.get(kind)?.mrr ?? 0n);
  const churned = (then.get("churn")?.accounts ?? 0) - (now.get("churn")?.accounts ?? 0);
  const lost = -(moved("contraction") + moved("churn"));
  const regained = moved("expansion") + moved("reactivation");
  const netMinor = mrrMinor(end.mrr, currency) - mrrMinor(start.mrr, currency);
  return {
    since: new Date(since).toISOString(),
    until: new Date(until).toISOString(),
    mrr: showMrr(end.mrr, currency),
    arr: showMrr(end.mrr * 12n, currency),
    start_mrr: showMrr(start.mrr, currency),
    // From shown balances, so that the three add up.
    net_new_mrr: toJsonNumber(netMinor, knownExponentOf(currency)),
    gross_revenue_churn_rate_pct: start.mrr === 0n ? null : percent(lost, start.mrr, 2),
    net_revenue_churn_rate_pct: start.mrr === 0n ? null : percent(lost - regained, start.mrr, 2),
    quick_ratio: lost === 0n ? null : ratio(moved("new") + regained, lost, 2),
    ...(hasAccounts
      ? ofAccounts(end, start.accounts, churned, currency)
      : { active_subscribers: null, arpa: null, customer_churn_rate_pct: null, ltv: null }),
  };
}

function ofAccounts(
  { mrr, accounts }: { readonly mrr: bigint; readonly accounts: number },
  accountsThen: number,
  churned: number,
  currency: string,
) {
  const nobodyLeft = accounts === 0 || accountsThen === 0 || churned === 0;
  const rate = accountsThen === 0 ? null : percent(BigInt(churned), BigInt(accountsThen), 2);
  return {
    active_subscribers: accounts,
    arpa: accounts === 0 ? null : showMrr(mrr, currency, BigInt(accounts)),
    customer_churn_rate_pct: rate,
    // ARPA ÷ churn rate, with nothing rounded in between.
    ltv: nobodyLeft
      ? null
      : showMrr(mrr * BigInt(accountsThen), currency, BigInt(accounts) * BigInt(churned)),
  };
}
