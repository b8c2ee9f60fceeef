/**
 * Disputes: only Polar's API has them, no webhook. Polar moves the merchant's money when one is
 * lost; one that is won moves none, and one that was prevented is a refund.
 */
import { z } from "zod";
import { ignored } from "../outcomes.js";
import { isoMinor } from "../stripe/event.js";
import { field, reader } from "./event.js";

/** How a reading of the API calls one that it lists. */
export const disputeType = "dispute.updated";
export const lostStatus = "lost";

/** Dated by its last change: when it was lost is told by no other time. */
export const disputeShape = z
  .object({
    id: field.id,
    status: z.string(),
    /** Without the tax. */
    amount: field.amount,
    tax_amount: field.amount,
    currency: field.currency,
    order_id: field.id,
    created_at: field.time,
    modified_at: field.time.nullish(),
  })
  .transform(({ tax_amount: tax, amount, currency, ...dispute }) => ({
    ...dispute,
    currency,
    at: dispute.modified_at ?? dispute.created_at,
    total: isoMinor(amount + tax, currency),
    tax: isoMinor(tax, currency),
  }));

export const readDispute = reader(disputeShape, (dispute) => {
  const { id, order_id: payment, status, total, tax, currency, at } = dispute;
  if (status !== lostStatus || total === 0n) return ignored("a dispute that moves no money");
  return [
    {
      Dispute: {
        dispute: id,
        payment,
        amount: total,
        currency,
        withdrawn_at: at,
        returned_at: null,
        reported_by: "outcome",
        tax,
      },
    },
  ];
});
