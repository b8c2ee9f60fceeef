/** Adjustments as the list has them: their present status, of which the past follows. */
import { z } from "zod";
import { field } from "../event.js";
import type { Reported } from "../../history-events.js";
import type { HistoryObject } from "./object.js";

const adjustmentShape = z.object({
  action: z.string(),
  status: z.string(),
  created_at: field.time,
  updated_at: field.time.nullish(),
});

/**
 * A refund that waits for its approval moves no money yet. A chargeback that was given back is
 * marked `reversed`, but its money was taken all the same when it was made; the return is an
 * adjustment of its own.
 */
export function adjustmentHistory(adjustment: HistoryObject, asOf: number): Reported[] {
  const { data } = adjustmentShape.safeParse(adjustment);
  // Reported as it is: the adapter says what is wrong with it.
  if (data === undefined) return [{ type: "adjustment.updated", at: asOf, object: adjustment }];
  const { action, status, created_at: createdAt } = data;
  if (action === "chargeback" || action === "chargeback_reverse") {
    const isMoney = status === "approved" || status === "reversed";
    const object = isMoney ? { ...adjustment, status: "approved" } : adjustment;
    return [{ type: "adjustment.created", at: createdAt, object }];
  }
  if (action === "refund" && status === "pending_approval") return [];
  // Where it was never changed, that date is of the year 1.
  const changedAt = Math.max(createdAt, data.updated_at ?? createdAt);
  return [{ type: "adjustment.updated", at: changedAt, object: adjustment }];
}
