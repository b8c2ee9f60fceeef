/** Disputes: only when money is withdrawn or returned. */
import { z } from "zod";
import { divideRounded } from "../../schemas/money/money.js";
import {
  addFractions,
  type Fraction,
  fraction,
  parseFraction,
} from "../../schemas/money/monthly.js";
import { contradictory, ignored } from "../outcomes.js";
import { field, isoMinor, reader, type StripeEvent } from "./event.js";

/** Of the currency the merchant is paid in, which may be another than the dispute's. */
const moveShape = z.object({
  amount: field.amount,
  created: field.time,
  /** Of that for one of the dispute's; null where they are the same. */
  exchange_rate: z.unknown().optional().transform(rateOf),
});

const disputeShape = z.object({
  id: field.id,
  amount: field.amount,
  currency: field.currency,
  charge: field.reference,
  payment_intent: field.reference,
  status: z.string(),
  balance_transactions: z
    .array(moveShape)
    .nullish()
    .transform((moves) => moves ?? []),
});
type Dispute = z.output<typeof disputeShape>;
type Move = z.output<typeof moveShape>;

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
  if (dispute.amount <= 0n) return contradictory("Money of a dispute moved, whose amount is none");
  const part = returnedPart(dispute);
  return [
    {
      Dispute: {
        dispute: dispute.id,
        payment,
        amount: isoMinor(dispute.amount, dispute.currency),
        currency: dispute.currency,
        withdrawn_at: times.withdrawnAt,
        returned_at: times.returnedAt,
        reported_by: exact ? "money" : reportedBy(event),
        ...(part === null ? {} : { returned_amount: part }),
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

/**
 * What came back of the amount, in minor units of ISO 4217; null: the whole, or nobody reports. A
 * dispute of all of a payment that had been refunded in part is `lost`, and that part comes back;
 * of one that is `won` all does, at whatever rate of its day. Source: support.stripe.com, "Dispute
 * for full charge amount after a partial refund was issued".
 */
function returnedPart(dispute: Dispute): bigint | null {
  const moves = dispute.balance_transactions;
  const lastOut = Math.max(...moves.filter(({ amount }) => amount < 0n).map((out) => out.created));
  const isBack = ({ amount, created }: Move) => amount > 0n && created >= lastOut;
  if (dispute.status === "won" || !moves.some(isBack)) return null;
  const back = inOneCurrency(moves.filter(isBack), moves);
  const out = inOneCurrency(
    moves.filter((move) => !isBack(move)),
    moves,
  );
  if (out.numerator >= 0n) return null;
  const whole = isoMinor(dispute.amount, dispute.currency);
  const above = whole * back.numerator * out.denominator;
  const part = divideRounded(above, back.denominator * -out.numerator);
  return part < whole ? part : null;
}

/** The sum of some of the moves: in the dispute's currency if all of them report their rate. */
function inOneCurrency(some: readonly Move[], all: readonly Move[]): Fraction {
  const isConverted = all.every((move) => move.exchange_rate !== null);
  const amounts = some.map(({ amount, exchange_rate: rate }) =>
    isConverted && rate !== null
      ? fraction(amount * rate.denominator, rate.numerator)
      : fraction(amount),
  );
  return amounts.reduce(addFractions, fraction(0n));
}

/** It refines the part that came back and must not cost the dispute: anything odd is no rate. */
function rateOf(given: unknown): Fraction | null {
  const rate =
    typeof given === "number" || typeof given === "string" ? parseFraction(`${given}`) : null;
  return rate !== null && rate.numerator > 0n ? rate : null;
}

/** That a dispute was won or lost comes later than the notice of its money. */
function reportedBy(event: StripeEvent): "notice" | "outcome" {
  return event.type === "charge.dispute.closed" ? "outcome" : "notice";
}

function timesOfNotice({ status }: Dispute, { type, at }: StripeEvent): Times {
  const isClosed = type === "charge.dispute.closed";
  const isOut = type === "charge.dispute.funds_withdrawn" || (isClosed && status === "lost");
  const isBack = type === "charge.dispute.funds_reinstated" || (isClosed && status === "won");
  return { withdrawnAt: isOut ? at : null, returnedAt: isBack ? at : null };
}
