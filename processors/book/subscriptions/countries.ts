/**
 * Where customers are: rows of `subscription_changes` without a subscription. The earliest of an
 * account decides the country of all its MRR (`definitions.md`, MRR). Payments repeat it, so rows
 * that another row outweighs at any moment are left out.
 */
import { clickhouseTime } from "../../../stores/clickhouse/rows.js";
import type { Fact } from "../../../schemas/records/records.js";
import { rowScope } from "./changes.js";
import type { Change } from "../../../schemas/subscriptions/change.js";

/** What decides between two rows of an account. Times as ClickHouse writes them. */
type Located = Pick<Change, "account" | "at" | "event_id" | "change_id" | "recorded_at">;

/** @returns null for a fact that does not say where its customer is */
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

/** The order in which they count (`account/account.ts`). */
function timeOf({ at, event_id: event, change_id: id }: Located): string {
  return [at, event, id].join(" ");
}

function nameOf({ account, change_id: id }: Located): string {
  return `${account} ${id}`;
}
