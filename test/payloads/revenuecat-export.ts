/**
 * Lines of RevenueCat's Scheduled Data Export of transactions (version 7), as they stand at a
 * moment: for tests. Times are ms since 1970 and whole seconds; amounts are minor units.
 */
import { exponentOf, minorToMajor } from "../../schemas/money/money.js";

export interface ExportedPurchase {
  readonly transaction: string;
  readonly original?: string;
  readonly user: string;
  readonly product: string;
  readonly start: number;
  /** Null: it is no subscription. */
  readonly end: number | null;
  /** Where it ended before its period did. */
  readonly effectiveEnd?: number;
  readonly amount: bigint | null;
  readonly currency: string;
  /** From 1. */
  readonly renewal?: number;
  readonly isTrial?: boolean;
  readonly isSandbox?: boolean;
  readonly isFamilyShared?: boolean;
  readonly store?: string;
  readonly country?: string;
  readonly refundedAt?: number;
  /** Of `amount`; all of it when left out. */
  readonly refunded?: bigint;
}

const columns = (
  "rc_original_app_user_id,rc_last_seen_app_user_id_alias,country,product_identifier," +
  "product_duration,start_time,end_time,grace_period_end_time,effective_end_time,store," +
  "is_auto_renewable,is_trial_period,is_in_intro_offer_period,is_sandbox,price_in_usd," +
  "purchase_price_in_usd,tax_percentage,commission_percentage,store_transaction_id," +
  "original_store_transaction_id,refunded_at,purchased_currency," +
  "price_in_purchased_currency,purchase_price_in_purchased_currency,renewal_number," +
  "ownership_type,reserved_subscriber_attributes,updated_at"
).split(",");

/** @param asOf what has not begun by then is not in it, nor what was refunded later */
export function exportFile(purchases: readonly ExportedPurchase[], asOf: number): Buffer {
  const begun = purchases.filter(({ start }) => start <= asOf);
  const lines = begun.map((purchase) => lineOf(purchase, asOf));
  return Buffer.from([columns.join(","), ...lines].map((line) => `${line}\n`).join(""));
}

function lineOf(purchase: ExportedPurchase, asOf: number): string {
  const { transaction, user, start, end, amount, currency, effectiveEnd = end } = purchase;
  const refundedAt = (purchase.refundedAt ?? Infinity) <= asOf ? purchase.refundedAt : undefined;
  const left =
    refundedAt === undefined ? amount : (amount ?? 0n) - (purchase.refunded ?? amount ?? 0n);
  const knownEnd = (effectiveEnd ?? Infinity) <= asOf ? effectiveEnd : end;
  const cells: Readonly<Record<string, string>> = {
    rc_original_app_user_id: user,
    rc_last_seen_app_user_id_alias: user,
    country: purchase.country ?? "US",
    product_identifier: purchase.product,
    start_time: timeText(start),
    end_time: timeText(end),
    effective_end_time: timeText(knownEnd),
    store: purchase.store ?? "app_store",
    is_auto_renewable: String(end !== null),
    is_trial_period: String(purchase.isTrial ?? false),
    is_in_intro_offer_period: "false",
    is_sandbox: String(purchase.isSandbox ?? false),
    tax_percentage: "0.1109",
    commission_percentage: "0.15",
    store_transaction_id: transaction,
    original_store_transaction_id: purchase.original ?? transaction,
    refunded_at: timeText(refundedAt ?? null),
    purchased_currency: currency,
    price_in_purchased_currency: majorText(left, currency),
    purchase_price_in_purchased_currency: majorText(amount, currency),
    renewal_number: String(purchase.renewal ?? 1),
    ownership_type: purchase.isFamilyShared === true ? "FAMILY_SHARED" : "PURCHASED",
    reserved_subscriber_attributes: '"{""$email"": {""value"": ""a@example.com, b""}}"',
    updated_at: timeText(asOf),
  };
  return columns.map((name) => cells[name] ?? "").join(",");
}

function timeText(at: number | null | undefined): string {
  return at === null || at === undefined
    ? ""
    : new Date(at).toISOString().slice(0, 19).replace("T", " ");
}

function majorText(amountMinor: bigint | null, currency: string): string {
  return amountMinor === null ? "" : minorToMajor(amountMinor, exponentOf(currency) ?? 2);
}
