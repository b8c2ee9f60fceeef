/** All that is known of one payment. */
import type { Environment, Fact } from "../../../schemas/records/records.js";

export interface KnownPayment {
  readonly workspace: string;
  readonly environment: Environment;
  readonly provider: string;
  readonly payment: string;
  /** Of the payment and of the purchases linked to it, in order of receipt, each once. */
  readonly facts: readonly Fact[];
  /** How many facts were seen under each key; with more of them by now, this view is old. */
  readonly keys: ReadonlyMap<string, number>;
}
