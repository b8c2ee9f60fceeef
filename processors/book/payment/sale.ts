/** The sale of a payment. */
import type { Line, Quote } from "../../../schemas/records/records.js";

/** What was paid and what for, as far as it is known. */
export interface Sale {
  readonly at: number;
  readonly amount: bigint;
  readonly normalized: bigint;
  readonly currency: string;
  readonly quote: Quote;
  readonly country: string;
  readonly account: string;
  readonly type: "subscription" | "one_time";
  readonly tax: bigint | null;
  readonly fee: bigint | null;
  /** One for each SKU. */
  readonly lines: readonly Line[];
}
