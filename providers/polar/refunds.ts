/** Refunds, each with an id of its own; an order counts them up. */
import { z } from "zod";
import type { FactBody } from "../../schemas/records/records.js";
import { ignored } from "../outcomes.js";
import { isoMinor } from "../stripe/money.js";
import { field, reader } from "./event.js";

const refundShape = z.object({
  id: field.id,
  status: z.enum(["pending", "succeeded", "failed", "canceled"]),
  /** Without the tax. */
  amount: field.amount,
  tax_amount: field.amount,
  currency: field.currency,
  order_id: field.id,
  customer_id: field.id.nullish(),
  created_at: field.time,
});

/** One that failed after it had succeeded gives the money back; else it moved nothing. */
export const readRefund = reader(refundShape, (refund, { at }) => {
  const { status, currency } = refund;
  if (status === "pending") return ignored("a refund is money once it succeeded");
  const amount = isoMinor(refund.amount + refund.tax_amount, currency);
  if (amount === 0n) return ignored("a refund of nothing");
  const failedAt = status === "succeeded" ? null : at;
  const fact: FactBody = {
    Refund: {
      refund: refund.id,
      payment: refund.order_id,
      at: failedAt ?? refund.created_at,
      amount,
      currency,
      failed_at: failedAt,
      account: refund.customer_id ?? null,
      country: null,
      lines: [],
      // In proportion, as it is counted where nobody reports it: then an order's total may join.
      tax: null,
    },
  };
  return [fact];
});
