/** The envelope around every Paddle entity, and how an entity's reader is made from its shape. */
import { z } from "zod";
import { limits } from "../../config.js";
import type { FactBody } from "../../schemas/records/records.js";
import { isoCurrency, isoTime } from "../fields.js";
import { readerOf, type Unreported } from "../outcomes.js";
import type { Known } from "../provider.js";

export interface PaddleEvent {
  readonly type: string;
  /** `occurred_at`, ms since 1970 */
  readonly at: number;
  readonly data: unknown;
  readonly known: Known;
}

export type Reported = readonly FactBody[] | Unreported;
export type Reader = (event: PaddleEvent) => Reported;

export const reader = readerOf<PaddleEvent, readonly FactBody[]>(({ data }) => data);

const amountLengthMax = limits.amountMinorMax.toString().length;

/** Fields as Paddle writes them, turned into ours. */
export const field = {
  id: z.string().min(1).max(255),
  /** RFC 3339 → ms since 1970 */
  time: isoTime,
  /**
   * A string of the currency's lowest denomination. Of all currencies Paddle takes, those are the
   * minor units of ISO 4217: "1000" JPY is ¥1000.
   */
  amount: z
    .string()
    .regex(/^-?\d+$/)
    .max(amountLengthMax + 1)
    .transform((text) => BigInt(text)),
  /** ISO 4217, upper case */
  currency: isoCurrency,
};
