/** Subscription changes: absolute states, with each item's value at its own rate. */
import { clickhouseTime } from "../../../stores/clickhouse/rows.js";
import { partsOf } from "../../../stores/clickhouse/sql-text.js";
import type { ClickHouse } from "../../../stores/clickhouse/clickhouse.js";
import { grouped } from "../../../runtime/grouped.js";
import { bookedNow } from "../../../schemas/booked-at.js";
import { fraction, monthlyToMrr } from "../../../schemas/money/monthly.js";
import type { Fact } from "../../../schemas/records/records.js";
import { type Change, priceText, trialPrice } from "../../../schemas/subscriptions/change.js";
import { inAccounts } from "./change.js";

/** @returns null for a fact that is no subscription change */
export function subscriptionChange(fact: Fact): Change | null {
  if (!("Subscription" in fact.body)) return null;
  const { subscription, account, currency, phase, steps, trial = false } = fact.body.Subscription;
  const rate = fact.quote?.rate ?? "1";
  return {
    account,
    subscription,
    change_id: fact.fact_id,
    revision: 1,
    void: 0,
    at: clickhouseTime(steps[0]?.at ?? fact.happened_at),
    phase,
    currency,
    country: "",
    steps: steps.map((step, index) => ({
      at: clickhouseTime(step.at),
      items:
        trial && index === 0
          ? [onTrial]
          : step.items.map((item) => {
              const monthly = fraction(item.monthly_numerator, item.monthly_denominator);
              return {
                item: item.item,
                external_id: item.external_id,
                price: priceText(currency, monthly, item.plan_interval ?? "unknown"),
                mrr: monthlyToMrr(monthly, rate, currency),
              };
            }),
    })),
    ...rowScope(fact),
  };
}

const onTrial = { item: "trial", external_id: "", price: trialPrice, mrr: "0" };

export function rowScope(fact: Fact) {
  return {
    workspace: fact.workspace,
    environment: fact.environment,
    provider: fact.provider,
    event_id: fact.event_id,
    recorded_at: clickhouseTime(fact.received_at),
  };
}

export const changeColumns =
  "workspace String, environment String, account String, provider String, subscription String, " +
  "change_id String, revision UInt32, void UInt8, at DateTime64(3, 'UTC'), " +
  "phase Enum8('expired' = -1, 'started' = 0, 'changed' = 1, 'ended' = 2), event_id String, " +
  "recorded_at DateTime64(3, 'UTC'), currency String, country String, " +
  "steps Array(Tuple(at DateTime64(3, 'UTC'), items Array(Tuple(item String, external_id String, " +
  "price String, mrr Decimal(38, 6)))))";

/**
 * All that is stored, account by account.
 * @param accountsFilter SQL condition that keeps whole accounts together
 */
export async function changesOf(
  clickhouse: Pick<ClickHouse, "rows">,
  accountsFilter: string,
): Promise<Change[][]> {
  const names = "workspace, environment, account, provider, subscription, change_id, revision";
  const stored = await clickhouse.rows<Change>(
    `SELECT ${names}, void, at, phase, event_id, recorded_at, currency, country, steps
     FROM subscription_changes WHERE ${accountsFilter}`,
  );
  return [...grouped(stored, ({ account }) => account).values()];
}

export async function insertChanges(
  clickhouse: ClickHouse,
  changes: readonly Change[],
): Promise<void> {
  const identity = "workspace, environment, account, change_id, revision";
  for (const { rows, table } of partsOf(changeColumns, changes)) {
    await clickhouse.write(
      `INSERT INTO subscription_changes SELECT *, ${bookedNow} FROM ${table}
       WHERE (${identity}) NOT IN (
         SELECT ${identity} FROM subscription_changes WHERE ${inAccounts(rows)})`,
      {},
      "subscriptions",
    );
  }
}
