/** Payouts as Stripe's API has them, in euros. */
import type { JsonObject } from "../../ops/payloads/stripe.js";
import { textOf } from "../../providers/fields.js";
import type { StripeApi } from "../apis/stripe-api.js";

const day = 24 * 60 * 60 * 1000;

/** @param arrivesAt ms since 1970 */
export function payoutObject(
  id: string,
  amount: number,
  arrivesAt: number,
  more: JsonObject = {},
): JsonObject {
  return {
    id,
    object: "payout",
    amount,
    currency: "eur",
    status: "paid",
    created: arrivesAt / 1000 - (2 * day) / 1000,
    arrival_date: arrivesAt / 1000,
    automatic: true,
    reconciliation_status: "completed",
    ...more,
  };
}

export function balanceTransaction(
  id: string,
  category: string,
  amount: number,
  fee: number,
  source: JsonObject | string | null,
): JsonObject {
  return {
    id,
    object: "balance_transaction",
    amount,
    fee,
    net: amount - fee,
    currency: "eur",
    created: 1_768_000_000,
    reporting_category: category,
    source,
  };
}

/** From now on the API has it, and the balance transactions that are listed under it. */
export function putPayout(api: StripeApi, payout: JsonObject, lines: readonly JsonObject[]): void {
  const id = textOf(payout.id);
  const itself = balanceTransaction(`txn_of_${id}`, "payout", -Number(payout.amount), 0, {
    object: "payout",
    id,
  });
  api.objects.set(`/v1/payouts/${id}`, payout);
  api.lists.set("/v1/payouts", [...(api.lists.get("/v1/payouts") ?? []), payout]);
  const listed = [itself, ...lines].map((line) => ({ ...line, payout: id }));
  const known = api.lists.get("/v1/balance_transactions") ?? [];
  api.lists.set("/v1/balance_transactions", [...known, ...listed]);
}
