/** Sales, refunds and disputes: the pings that carry a whole sale. */
import type { FactBody } from "../../schemas/records/records.js";
import { contradictory, ignored, rejected } from "../outcomes.js";
import type { Known } from "../provider.js";
import { firstPeriod, isPart } from "./memberships.js";
import { noticedAt } from "./notices.js";
import { accountOf, type Sale, type Reported } from "./ping.js";
import { buyersCountry, disputedCents, isGift, refundedCents, type SaleRecord } from "./record.js";

/** @param record null when the API was not asked */
export type SaleReader = (sale: Sale, record: SaleRecord | null, known: Known) => Reported;

/** Everything Gumroad charges is reported in US cents. */
const currency = "USD";

/** A sale whose trial has just begun shows the full price and charges nothing. */
export function readSale(sale: Sale, record: SaleRecord | null, { kept }: Known): Reported {
  if (isGift(sale, record)) return readGift(sale, record);
  if (sale.is_preorder_authorization || record?.is_preorder_authorization === true) {
    return ignored("a preorder: nothing is charged yet");
  }
  const recurring = record?.recurring_charge ?? sale.is_recurring_charge;
  if (record?.free_trial_ends_on && !recurring) return ignored("a free trial began");
  const amount = record?.price ?? sale.price;
  if (amount === 0n && (record?.gumroad_fee ?? sale.gumroad_fee ?? 0n) > 0n) {
    return contradictory("A sale of nothing, of which Gumroad takes a fee");
  }
  const isOfMembership = sale.subscription_id !== undefined && !isPart(sale, record, kept);
  const type = isOfMembership ? "subscription" : "one_time";
  // What depends on kept objects comes last: a fact is known by its place, however often reported.
  return [
    ...paymentOf(sale, record, { amount, type }),
    ...nameOf(sale),
    ...(isOfMembership ? firstPeriod({ sale, record, recurring, amount }, kept) : []),
  ];
}

/**
 * A gift is reported by the copy of its receiver only, whose price is 0, and which says what the
 * giver paid. No membership begins with it: nobody is charged again.
 */
function readGift(sale: Sale, record: SaleRecord | null): Reported {
  const { gift_price: amount, gifter_email: giver } = sale;
  if (amount === undefined) return rejected("malformed", "gift_price: missing");
  // The fee is that of the giver's own sale, which no ping is about.
  const paid = { ...sale, purchaser_id: undefined, email: giver, gumroad_fee: undefined };
  const withoutFee = record && { ...record, gumroad_fee: null };
  return [...paymentOf(paid, withoutFee, { amount, type: "one_time" }), ...nameOf(sale)];
}

export function readRefund(sale: Sale, record: SaleRecord | null, known: Known): Reported {
  const amount = refundedCents(sale, record);
  if (typeof amount === "object") return amount;
  const at = noticedAt("refund", sale, known);
  if (at === undefined) return undated;
  return amount === 0n
    ? ignored("a refund of nothing")
    : [{ RefundTotal: { payment: sale.sale_id, at, amount, currency } }];
}

/** @param isWon the money comes back */
export function readDispute(isWon: boolean): SaleReader {
  return (sale, record, known) => {
    const at = noticedAt(isWon ? "dispute_won" : "dispute", sale, known);
    if (at === undefined) return undated;
    const amount = disputedCents(sale, record);
    if (amount === 0n) return ignored("a dispute of nothing");
    const { sale_id: payment } = sale;
    const [withdrawn_at, returned_at] = isWon ? [null, at] : [at, null];
    const times = { withdrawn_at, returned_at, reported_by: "notice" as const };
    return [{ Dispute: { dispute: payment, payment, amount, currency, ...times } }];
  };
}

const undated = rejected("malformed", "A ping without a time of receipt");

function paymentOf(
  sale: Sale,
  record: SaleRecord | null,
  { amount, type }: { readonly amount: bigint; readonly type: "subscription" | "one_time" },
): FactBody[] {
  if (amount === 0n) return [];
  return [
    {
      Payment: {
        payment: sale.sale_id,
        at: sale.sale_timestamp,
        amount,
        currency,
        account: accountOf(sale.purchaser_id, sale.email),
        country: buyersCountry(sale, record),
        type,
        tax: null, // Gumroad collects it beside the price
        fee: record?.gumroad_fee ?? sale.gumroad_fee ?? null,
        lines: [{ external_id: sale.product_id, weight: amount }],
      },
    },
  ];
}

function nameOf({ product_id: external_id, product_name: name }: Sale): FactBody[] {
  return name === undefined || name.trim() === "" ? [] : [{ Sku: { external_id, name } }];
}
