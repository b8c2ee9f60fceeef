/** The ratios of `docs/metrics.md`, from all movements up to two moments. */
import type { MovementKind } from "../movement-series/schema.js";
import type { SummaryAnswer } from "./schema.js";
import type { MovementKindRow } from "./movement-kinds.js";
import { mrrOf, percent, ratio, showMrr } from "../reading/amounts.js";

type Figures = Omit<SummaryAnswer["data"], "currency" | "since" | "until">;

/** @param now up to `at` @param then up to the beginning of the days looked back at */
export function presentSummary(
  now: readonly MovementKindRow[],
  then: readonly MovementKindRow[],
  currency: string,
): Figures {
  const mrr = totalMrr(now);
  const mrrThen = totalMrr(then);
  const accounts = totalAccounts(now);
  const accountsThen = totalAccounts(then);
  const moved = (kind: MovementKind) => totalMrr(only(now, kind)) - totalMrr(only(then, kind));
  const churned = totalAccounts(only(then, "churn")) - totalAccounts(only(now, "churn"));
  const lost = -(moved("contraction") + moved("churn"));
  const regained = moved("expansion") + moved("reactivation");
  const nobodyLeft = accounts === 0n || accountsThen === 0n || churned === 0n;
  return {
    mrr: showMrr(mrr, currency),
    arr: showMrr(mrr * 12n, currency),
    active_subscribers: Number(accounts),
    arpa: accounts === 0n ? null : showMrr(mrr, currency, accounts),
    customer_churn_rate_pct: accountsThen === 0n ? null : percent(churned, accountsThen, 2),
    gross_revenue_churn_rate_pct: mrrThen === 0n ? null : percent(lost, mrrThen, 2),
    net_revenue_churn_rate_pct: mrrThen === 0n ? null : percent(lost - regained, mrrThen, 2),
    quick_ratio: lost === 0n ? null : ratio(moved("new") + regained, lost, 2),
    // ARPA ÷ churn rate, with nothing rounded in between.
    ltv: nobodyLeft ? null : showMrr(mrr * accountsThen, currency, accounts * churned),
  };
}

function only(rows: readonly MovementKindRow[], kind: MovementKind): MovementKindRow[] {
  return rows.filter((row) => row.kind === kind);
}

function totalMrr(rows: readonly MovementKindRow[]): bigint {
  return rows.reduce((sum, row) => sum + mrrOf(row.mrr), 0n);
}

function totalAccounts(rows: readonly MovementKindRow[]): bigint {
  return rows.reduce((sum, row) => sum + BigInt(row.accounts), 0n);
}
