/** A one-time purchase as `purchases.productsv2` answers it. */
import { z } from "zod";
import { compiled } from "../compiled.js";
import { apiName } from "./notification.js";
import { country } from "./reading.js";

export const productPurchaseShape = compiled(
  z.object({
    /** Absent where nothing was paid: a promotion code, a reward. */
    orderId: apiName.nullish(),
    regionCode: country,
    /** There for a test purchase only. */
    testPurchaseContext: z.unknown().optional(),
  }),
);

/** @param voided the order a notification names; the API no longer answers for some purchases */
export function productOrderIds(
  purchase: z.output<typeof productPurchaseShape> | undefined,
  voided: string | null,
): string[] {
  return [...new Set([voided ?? [], purchase?.orderId ?? []].flat())];
}
