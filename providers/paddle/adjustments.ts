/** Adjustments: refunds that were approved, chargebacks and their return. Credits are no money. */
import { z } from "zod";
import type { FactBody, Line } from "../../schemas/records/records.js";
import { contradictory, ignored } from "../outcomes.js";
import { field, type PaddleEvent, reader, type Reported } from "./event.js";

/** One to come is not taken for one that moves no money. */
const actions = [
  "refund",
  "chargeback",
  "chargeback_reverse",
  "chargeback_warning",
  "chargeback_warning_reverse",
  "credit",
  "credit_reverse",
] as const;

const adjustmentShape = z.object({
  id: field.id,
  action: z.enum(actions),
  status: z.enum(["pending_approval", "approved", "rejected", "reversed"]),
  type: z.string().nullish(),
  transaction_id: field.id,
  customer_id: field.id.nullish(),
  currency_code: field.currency,
  totals: z.object({ total: field.amount, tax: field.amount.nullish() }),
  items: z
    .array(
      z.object({
        item_id: field.id.nullish(),
        amount: field.amount.nullish(),
        totals: z.object({ total: field.amount }).nullish(),
      }),
    )
    .nullish(),
});
type Adjustment = z.output<typeof adjustmentShape>;

export const readAdjustment = reader(adjustmentShape, (adjustment, event) => {
  const { total } = adjustment.totals;
  const isOfItems = adjustment.items?.some(({ amount }) => (amount ?? 0n) > 0n) === true;
  if (total < 0n || (total === 0n && isOfItems)) {
    return contradictory("The total of an adjustment is not that of its items");
  }
  if (total === 0n) return ignored("an adjustment of nothing");
  const { action } = adjustment;
  if (action === "refund") return refund(adjustment, event);
  if (action === "chargeback" || action === "chargeback_reverse") {
    return chargeback(adjustment, event);
  }
  return ignored(`an adjustment ${action} moves no money`);
});

/**
 * Dated by the first event that shows it approved (`definitions.md`, Providers); booking takes the
 * earliest. One turned down after that gives the money back, one never approved moved nothing.
 */
function refund(adjustment: Adjustment, { at }: PaddleEvent): Reported {
  const { id, status, currency_code: currency } = adjustment;
  const undone = status === "rejected" || status === "reversed";
  if (status !== "approved" && !undone) return ignored(`a refund is money once approved`);
  const fact: FactBody = {
    Refund: {
      refund: id,
      payment: adjustment.transaction_id,
      at,
      amount: adjustment.totals.total,
      currency,
      failed_at: undone ? at : null,
      account: adjustment.customer_id ?? null,
      country: null,
      lines: linesOf(adjustment),
      tax: adjustment.totals.tax ?? null,
    },
  };
  return [fact];
}

/** What is full is spread like its sale; else it takes the lines it names by their ids. */
function linesOf({ type, items }: Adjustment): Line[] {
  if (type === "full") return [];
  return (items ?? []).flatMap(({ item_id: item, amount, totals }) =>
    item ? [{ external_id: "", item, weight: totals?.total ?? amount ?? 0n }] : [],
  );
}

/**
 * Money out and money back are adjustments of their own: booking finds which return belongs to
 * which chargeback. A chargeback marked `reversed` says nothing new: its `chargeback_reverse` does.
 */
function chargeback(adjustment: Adjustment, { at }: PaddleEvent): Reported {
  const { id, action, status, transaction_id: payment, currency_code: currency } = adjustment;
  if (status !== "approved") return ignored(`a ${action} marked ${status} moves no money`);
  const withdrawn = action === "chargeback";
  const fact: FactBody = {
    Dispute: {
      dispute: id,
      payment,
      amount: adjustment.totals.total,
      currency,
      withdrawn_at: withdrawn ? at : null,
      returned_at: withdrawn ? null : at,
      reported_by: "notice",
      lines: linesOf(adjustment),
      tax: adjustment.totals.tax ?? null,
    },
  };
  return [fact];
}
