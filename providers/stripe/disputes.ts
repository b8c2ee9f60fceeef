/** Disputes: only when money is withdrawn or returned. */
import { z } from "zod";
import { ignored } from "../outcomes.js";
import { field, reader, type StripeEvent } from "./event.js";
import { isoMinor } from "./money.js";

const disputeShape = z.object({
  id: field.id,
  amount: field.amount,
  currency: field.currency,
  charge: field.reference,
  payment_intent: field.reference,
  status: z.string(),
  balance_transactions: z
    .array(z.object({ amount: field.amount, created: field.time }))
    .nullish()
    .transform((moves) => moves ?? []),
});
type Dispute = z.output<typeof disputeShape>;

interface Times {
  readonly withdrawnAt: number | null;
  readonly returnedAt: number | null;
}

/**
 * The balance transactions inside are the money itself and date it; where they are missing, the
 * notice dates it. An inquiry (`warning_…`) that withdraws nothing is no dispute.
 */
export const readDispute = reader(disputeShape, (dispute, event) => {
  const payment = dispute.payment_intent ?? dispute.charge;
  if (payment === null) return ignored("a dispute of no payment");
  const exact = dispute.balance_transactions.some((move) => move.amount !== 0n);
  const times = exact ? timesOfMoney(dispute) : timesOfNotice(dispute, event);
  if (times.withdrawnAt === null && times.returnedAt === null) {
    return ignored("no money was withdrawn or returned");
  }
  return [
    {
      Dispute: {
        dispute: dispute.id,
        payment,
        amount: isoMinor(dispute.amount, dispute.currency),
        currency: dispute.currency,
        withdrawn_at: times.withdrawnAt,
        returned_at: times.returnedAt,
        told_by: exact ? "money" : toldBy(event),
      },
    },
  ];
});

/** Returned only while nothing was withdrawn again after it. */
function timesOfMoney(dispute: Dispute): Times {
  const moves = dispute.balance_transactions;
  const out = moves.filter((move) => move.amount < 0n).map((move) => move.created);
  const back = moves.filter((move) => move.amount > 0n).map((move) => move.created);
  const returnedAt = back.length > 0 ? Math.max(...back) : null;
  return {
    withdrawnAt: out.length > 0 ? Math.min(...out) : null,
    returnedAt: returnedAt !== null && out.every((at) => at <= returnedAt) ? returnedAt : null,
  };
}

/** That a dispute was won or lost comes later than the notice of its money. */
function toldBy(event: StripeEvent): "notice" | "outcome" {
  return event.type === "charge.dispute.closed" ? "outcome" : "notice";
}

function timesOfNotice(dispute: Dispute, event: StripeEvent): Times {
  const withdrawn = { withdrawnAt: event.at, returnedAt: null };
  const returned = { withdrawnAt: null, returnedAt: event.at };
  const unknown = { withdrawnAt: null, returnedAt: null };
  switch (event.type) {
    case "charge.dispute.funds_withdrawn":
      return withdrawn;
    case "charge.dispute.funds_reinstated":
      return returned;
    case "charge.dispute.closed":
      if (dispute.status === "lost") return withdrawn;
      return dispute.status === "won" ? returned : unknown;
    default:
      return unknown;
  }
}
