/** Transactions: money that came in or went back, through a gateway or recorded by hand. */
import { z } from "zod";
import type { FactBody } from "../../schemas/records/records.js";
import { contradictory, ignored } from "../outcomes.js";
import { factsAt, field, isoFactor, reader, type Reported, unitUnclear } from "./event.js";

/** One to come is not taken for one that moves no money. */
const types = ["authorization", "payment", "refund", "payment_reversal"] as const;
const statuses = [
  "in_progress",
  "success",
  "voided",
  "failure",
  "timeout",
  "needs_attention",
  "late_failure",
] as const;
/** Money that went back did not, after all. */
const failed: ReadonlySet<string> = new Set(["voided", "failure", "late_failure"]);

export const transactionShape = z.object({
  id: field.id,
  type: z.enum(types),
  status: z.enum(statuses),
  amount: field.amount,
  currency_code: field.currency,
  date: field.time,
  customer_id: field.id.nullish(),
  payment_method: z.string().nullish(),
  refunded_txn_id: field.id.nullish(),
  reference_transaction_id: field.id.nullish(),
  reversal_transaction_id: field.id.nullish(),
  resource_version: field.version,
  linked_invoices: z
    .array(
      z.object({
        invoice_id: field.id,
        applied_amount: field.amount,
        applied_at: field.time,
      }),
    )
    .nullish(),
  linked_payments: z.array(z.object({ id: field.id })).nullish(),
  linked_refunds: z.array(z.object({ txn_status: z.string(), txn_amount: field.amount })).nullish(),
});
type Transaction = z.output<typeof transactionShape>;

export const readTransaction = reader(transactionShape, (transaction, event): Reported => {
  const { type, status, currency_code: currency, resource_version: version } = transaction;
  const factor = isoFactor(currency);
  if (factor === null) return unitUnclear(currency);
  if (type === "authorization") return ignored("an authorization moves no money");
  if (transaction.amount === 0n) {
    return status === "success" && isOfMoney(transaction)
      ? contradictory("A transaction of nothing paid for an invoice")
      : ignored("a transaction of nothing");
  }
  if (type === "payment") {
    if (!isPaid(transaction)) return ignored(`a payment is money once it succeeded, not ${status}`);
    return factsAt(version, event, paid(transaction, factor));
  }
  if (status !== "success" && !failed.has(status)) {
    return ignored(`a ${type} is money once it succeeded, not ${status}`);
  }
  return factsAt(version, event, [wentBack(transaction, factor, version ?? event.at)]);
});

/** One that fails late was a success before: what it takes back is a transaction of its own. */
export function isPaid({
  type,
  status,
  reversal_transaction_id: reversal,
}: Pick<Transaction, "type" | "status" | "reversal_transaction_id">): boolean {
  return type === "payment" && (status === "success" || (status === "late_failure" && !!reversal));
}

function isOfMoney({ linked_invoices: invoices }: Transaction): boolean {
  return (invoices ?? []).some(({ applied_amount: amount }) => amount > 0n);
}

/** What was bought stands in its invoices, and how much of each it paid in both. */
function paid(transaction: Transaction, factor: bigint): FactBody[] {
  const { id: payment, date: at, currency_code: currency } = transaction;
  const invoices = transaction.linked_invoices ?? [];
  return [
    {
      Payment: {
        payment,
        at,
        amount: transaction.amount * factor,
        currency,
        account: transaction.customer_id ?? null,
        country: null,
        type: null,
        tax: null,
        fee: null,
        lines: [],
        ...(invoices.length > 0 && { invoiced: true }),
      },
    },
    ...invoices.map((invoice): FactBody => ({
      Link: {
        payment,
        purchase: invoice.invoice_id,
        part: { amount: invoice.applied_amount * factor, at: invoice.applied_at },
      },
    })),
  ];
}

/** A reversal (of a direct debit that bounced) is a refund; a chargeback is a dispute. */
function wentBack(transaction: Transaction, factor: bigint, now: number): FactBody {
  const { id, date, status, currency_code: currency } = transaction;
  const amount = transaction.amount * factor;
  const payment =
    transaction.refunded_txn_id ??
    transaction.linked_payments?.[0]?.id ??
    transaction.reference_transaction_id ??
    null;
  const failedAt = status === "success" ? null : now;
  if (transaction.payment_method === "chargeback" && payment !== null) {
    return {
      Dispute: {
        dispute: id,
        payment,
        amount,
        currency,
        withdrawn_at: date,
        returned_at: failedAt,
        reported_by: "money",
      },
    };
  }
  return {
    Refund: {
      refund: id,
      payment,
      at: failedAt ?? date,
      amount,
      currency,
      failed_at: failedAt,
      account: transaction.customer_id ?? null,
      country: null,
      lines: [],
    },
  };
}
