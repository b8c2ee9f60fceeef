/** Subscription changes: absolute states, with each item's value at its own rate. */
import { clickhouseTime, matching } from "../../../stores/clickhouse/rows.js";
import { partsOf } from "../../../stores/clickhouse/sql-text.js";
import type { ClickHouse } from "../../../stores/clickhouse/clickhouse.js";
import { grouped } from "../../../runtime/lists.js";
import { bookedNow } from "../../../schemas/booked-at.js";
import { fraction, monthlyToMrr } from "../../../schemas/money/monthly.js";
import type { Fact } from "../../../schemas/records/records.js";
import { type Change, priceText, trialPrice } from "../../../schemas/subscriptions/change.js";

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

export function inAccounts(
  rows: readonly Pick<Change, "workspace" | "environment" | "account">[],
): string {
  return matching(rows, "workspace", "environment", "account");
}

/** What decides between two rows of an account. Times as ClickHouse writes them. */
type Located = Pick<Change, "account" | "at" | "event_id" | "change_id" | "recorded_at">;

/**
 * Where customers are: rows of `subscription_changes` without a subscription. The earliest of an
 * account decides the country of all its MRR (`definitions.md`, MRR). Payments repeat it, so rows
 * that another row outweighs at any moment are left out.
 * @returns null for a fact that does not say where its customer is
 */
export function countryChange(fact: Fact): Change | null {
  if (!("Customer" in fact.body)) return null;
  const { account, country } = fact.body.Customer;
  return {
    account,
    subscription: "",
    change_id: fact.fact_id,
    revision: 1,
    void: 0,
    at: clickhouseTime(fact.happened_at),
    phase: "changed",
    currency: "",
    country,
    steps: [],
    ...rowScope(fact),
  };
}

/** Leaves out rows that happened later than one that was recorded no later. */
export function withoutOutweighed<Row extends Located>(
  located: readonly Row[],
  stored: readonly Located[],
): Row[] {
  const rows = new Map([...located, ...stored].map((row) => [nameOf(row), row]));
  const inTime = [...rows.values()].sort((one, other) => (timeOf(one) < timeOf(other) ? -1 : 1));
  const firstRecorded = new Map<string, string>();
  const counting = new Set<string>();
  for (const row of inTime) {
    const recorded = `${row.recorded_at} ${row.event_id}`;
    const first = firstRecorded.get(row.account);
    if (first !== undefined && first <= recorded) continue;
    firstRecorded.set(row.account, recorded);
    counting.add(nameOf(row));
  }
  return located.filter((row) => counting.has(nameOf(row)));
}

/** The order in which they count (`account/account-movements.ts`). */
function timeOf({ at, event_id: event, change_id: id }: Located): string {
  return [at, event, id].join(" ");
}

function nameOf({ account, change_id: id }: Located): string {
  return `${account} ${id}`;
}

/**
 * What is said of the payments of subscriptions: rows of `subscription_changes` without one, so
 * that they move no MRR. Their only step begins with the period that was paid last, its only item
 * is the subscription, and what is said of it stands in the place of a price.
 * @returns null for a fact that says nothing of the payments of a subscription
 */
export function standingChange(fact: Fact): Change | null {
  if (!("Standing" in fact.body)) return null;
  const { subscription: item, account, at, paid_from: from, standing } = fact.body.Standing;
  return {
    account,
    subscription: "",
    change_id: fact.fact_id,
    revision: 1,
    void: 0,
    at: clickhouseTime(at),
    phase: "changed",
    currency: "",
    country: "",
    steps: [
      { at: clickhouseTime(from), items: [{ item, external_id: "", price: standing, mrr: "0" }] },
    ],
    ...rowScope(fact),
  };
}
