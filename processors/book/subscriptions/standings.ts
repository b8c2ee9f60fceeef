/**
 * What is said of the payments of subscriptions: rows of `subscription_changes` without one, so
 * that they move no MRR. Their only step begins with the period that was paid last, its only item
 * is the subscription, and what is said of it stands in the place of a price.
 */
import { clickhouseTime } from "../../../stores/clickhouse/rows.js";
import type { Fact } from "../../../schemas/records/records.js";
import type { Change } from "../../../schemas/subscriptions/change.js";
import { rowScope } from "./changes.js";

/** @returns null for a fact that says nothing of the payments of a subscription */
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
