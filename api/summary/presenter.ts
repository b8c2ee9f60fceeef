/** The ratios of `docs/metrics.md`, from all movements up to two moments. */
import { knownExponentOf } from "../../schemas/money/currencies.js";
import type { MovementKind } from "../../schemas/records/records.js";
import type { SummaryFigures } from "./schema.js";
import { toJsonNumber } from "../../schemas/money/money.js";
import { type Sums, balanceOf } from "../reading/movement-sums.js";
import { mrrMinor, percent, ratio, showMrr } from "../reading/amounts.js";

export interface SummaryOf {
  readonly currency: string;
  /** Whether the sums are of whole accounts. */
  readonly hasAccounts: boolean;
}

/**
 * @param now up to the end of the period
 * @param then up to its beginning
 */
export function presentSummary(
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
