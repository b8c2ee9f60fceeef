/** Charges: the one place where Stripe's money is read from. */
import { z } from "zod";
import { compiled } from "../fields.js";
import { divideRounded } from "../../schemas/money/money.js";
import type { FactBody } from "../../schemas/records/records.js";
import { contradictory, ignored } from "../outcomes.js";
import { type Answers, paths } from "./answers.js";
import { accountKey, field, isoMinor, reader, type StripeEvent } from "./event.js";
import { hasFailed, isRelease, refundFact, refundShape } from "./refunds.js";

const chargeShape = z.object({
  id: field.id,
  amount: field.amount,
  // Absent before 2020-08.
  amount_captured: field.amount.nullish(),
  amount_refunded: field.amount.nullish(),
  captured: z.boolean().nullish(),
  refunded: z.boolean().nullish(),
  paid: z.boolean(),
  status: z.string().nullish(),
  created: field.time,
  currency: field.currency,
  customer: field.reference,
  payment_intent: field.reference,
  billing_details: z.object({ address: field.address }).nullish(),
  invoice: field.reference,
  receipt_url: z.string().nullish(),
  balance_transaction: z.union([z.string(), z.object({ id: z.string() }).loose()]).nullish(),
  refunds: z.object({ data: z.array(refundShape) }).nullish(),
});
type Charge = z.output<typeof chargeShape>;

/**
 * Partial captures and cancellations make no refund any more. Source: docs.stripe.com/changelog,
 * 2025-03-31.basil, "Partially capturing or canceling payments no longer creates a Refund".
 */
const releasesLeftOutSince = "2025-03-31";

/** Banks turn refunds down after days. */
const refundFailsAfterMs = 60 * 60 * 1000;

/**
 * A paid charge is a payment of what was captured, dated when the charge was made: the same in in
 * every event, and whether it was captured at once, later or little by little.
 */
export const readCharge = reader(chargeShape, (charge, event) => {
  const amount = capturedOf(charge);
  const succeeded = charge.paid && (charge.status ?? "succeeded") === "succeeded";
  const odd = contradictionIn(charge, amount, succeeded);
  if (odd !== null) return contradictory(`A charge ${odd}`);
  if (!succeeded || amount <= 0n) {
    return ignored("no money was collected");
  }
  const payment = charge.payment_intent ?? charge.id;
  const { currency } = charge;
  const facts: FactBody[] = [
    {
      Payment: {
        payment,
        at: charge.created,
        amount: isoMinor(amount, currency),
        currency,
        account: accountKey(event, charge.customer),
        country: charge.billing_details?.address ?? null,
        type: null, // what was bought says so; nothing said is one_time
        tax: null,
        fee: feeOf(charge, amount, event.answers),
        lines: [],
        ...(isOfInvoice(charge) && { invoiced: true }),
      },
    },
  ];
  if (charge.invoice !== null) {
    const part = { amount: isoMinor(amount, currency), at: charge.created };
    facts.push({ Link: { payment, purchase: charge.invoice, part } });
  }
  return [...facts, ...refundsOf(charge, payment, amount, event)];
});

/** Since 2025-03-31 a charge names no invoice; its receipt is one for an invoice all the same. */
function isOfInvoice({ invoice, receipt_url: receipt }: Charge): boolean {
  return (
    invoice !== null || (receipt ?? "").startsWith("https://pay.stripe.com/receipts/invoices/")
  );
}

/** @param captured of it @returns what cannot be true together; null: nothing */
function contradictionIn(charge: Charge, captured: bigint, succeeded: boolean): string | null {
  const { amount, amount_captured: reported, amount_refunded: total, paid, status } = charge;
  if (paid && status === "failed") return "is paid and has failed";
  if (!paid && status === "succeeded") return "has succeeded and is not paid";
  if (!succeeded) return null;
  if (captured < 0n) return "is paid and less than nothing";
  if (charge.captured === true && reported === 0n && amount !== 0n) {
    return "is captured, but nothing of its amount";
  }
  if (total === undefined || total === null) return null;
  const most = captured > amount ? captured : amount;
  if (total < 0n || total > most) return "is refunded by another amount than it can be";
  const isNothingBack = charge.refunded === true && total === 0n && captured > 0n;
  return isNothingBack ? "is refunded, but nothing of it" : null;
}

/** `captured` is false until the last of several captures. */
function capturedOf(charge: Charge): bigint {
  if (charge.amount_captured !== undefined && charge.amount_captured !== null) {
    return charge.amount_captured;
  }
  if (charge.captured === false) return 0n;
  const released = charge.refunds?.data.filter(isRelease) ?? [];
  return released.reduce((left, { amount }) => left - amount, charge.amount);
}

const balanceShape = compiled(
  z.object({ amount: field.amount, fee: field.amount, currency: field.currency }),
);

/**
 * The fee stands on the balance transaction, which events only name, in the currency of the payout.
 * In another currency than the payment's it is the same part of the payment.
 * @returns ISO minor units of the charge's currency; null while unknown
 */
function feeOf(charge: Charge, amount: bigint, answers: Answers): bigint | null {
  const named = charge.balance_transaction;
  const reported = typeof named === "string" ? answers.get(paths.balanceTransaction(named)) : named;
  if (typeof reported !== "object") return null;
  const balance = balanceShape.safeParse(reported);
  if (!balance.success) return null;
  const { fee, currency } = balance.data;
  if (currency === charge.currency) return isoMinor(fee, currency);
  if (balance.data.amount <= 0n) return null;
  return divideRounded(isoMinor(amount, charge.currency) * fee, balance.data.amount);
}

/**
 * What a partial capture released was never collected, but Stripe may add it to `amount_refunded`
 * and list it as a refund. It is no part of the total, and the list, where nothing marks it, is
 * left.
 */
function refundsOf(
  charge: Charge,
  payment: string,
  captured: bigint,
  { at, apiVersion }: StripeEvent,
): FactBody[] {
  const released = releasedOf(charge, captured);
  const refunded = refundedOf(charge, captured, apiVersion);
  const { currency } = charge;
  const listed = released > 0n ? [] : (charge.refunds?.data ?? []);
  const single = listed
    // When a refund failed is known from its own event, not from a later look at the charge.
    .filter((refund) => !hasFailed(refund) && !isRelease(refund) && refund.amount > 0n)
    .map((refund) => refundFact({ ...refund, payment_intent: payment }, null));
  if (refunded < 0n || (refunded === 0n && !mayHaveFailed(charge, at))) return single;
  const amount = isoMinor(refunded, currency);
  return [...single, { RefundTotal: { payment, at, amount, currency } }];
}

/**
 * Whether a total of nothing says that what was refunded has come back. Nearly every charge is
 * updated once within seconds, when its fee is known: telling that much of each is for nothing.
 */
function mayHaveFailed({ amount_refunded: total, created }: Charge, at: number): boolean {
  return total === 0n && at - created >= refundFailsAfterMs;
}

/** More than was authorized may be captured, and until the last capture nothing is released. */
function releasedOf(charge: Charge, captured: bigint): bigint {
  return charge.captured === false || captured > charge.amount ? 0n : charge.amount - captured;
}

/**
 * Since 2025-03-31 no total has a release in it, but the version of the capture decides, which may
 * be older than the event's: a total of just the release, or of more than there was to refund, has
 * it. Before, it is in every total that is not less: single refunds, which are distinguished, make
 * up for what that leaves out (docs/decisions/payments.md).
 */
function refundedOf(charge: Charge, captured: bigint, apiVersion: string | null): bigint {
  const total = charge.amount_refunded ?? 0n;
  const released = releasedOf(charge, captured);
  if (released === 0n || total < released) return total;
  if (charge.refunded === true) return captured;
  const isLeftOut = apiVersion !== null && apiVersion >= releasesLeftOutSince;
  return isLeftOut && total !== released && total <= captured ? total : total - released;
}

/**
 * Of a charge as a list of the API shows it, its refunds beside it: what was released is among
 * them, or it is not in the total.
 * @returns ISO minor units; null: no charge
 */
export function refundedAsListed(listed: unknown): bigint | null {
  const charge = chargeShape.safeParse(listed);
  if (!charge.success) return null;
  const { amount_refunded: total, refunds, currency } = charge.data;
  const releases = (refunds?.data ?? []).filter(isRelease);
  const refunded = releases.reduce((left, { amount }) => left - amount, total ?? 0n);
  return isoMinor(refunded, currency);
}
