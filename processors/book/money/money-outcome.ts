/** What a batch of money facts came to. */
import type { Fact } from "../../../schemas/records/records.js";
import type { paymentVersions, Version } from "../payment/payment-versions.js";
import type { KnownPayment } from "./known-payment.js";

/** What one payment needs: rows, messages, SKUs. */
export interface MoneyOutcome extends ReturnType<typeof paymentVersions> {
  readonly payment: KnownPayment;
  /** Facts of the batch that would be too many for it. */
  readonly refused: readonly Fact[];
  /** Versions that may be missing in the table. */
  readonly inserted: readonly Version[];
  readonly published: readonly Version[];
  readonly skus: readonly {
    workspace: string;
    environment: Fact["environment"];
    provider: string;
    externalId: string;
  }[];
}
