import type { LogRecord } from "../../stores/log/log.js";
import type { Known, Provider } from "../../providers/provider.js";
import type { ReportedCustomer } from "../../workspaces/customers/customers.js";
import type { Fact, RawEventMeta } from "../../schemas/records/records.js";
import type { MissingRate } from "./facts.js";

interface Seen {
  readonly record: LogRecord;
  /** As the endpoint wrote it; blank where the record cannot be read. */
  readonly event: RawEventMeta;
}

export interface Rejected extends Seen {
  readonly kind: "rejected";
  readonly step: string;
  readonly reason: string;
  readonly detail: string;
  readonly missingRate?: MissingRate;
}

export type Outcome =
  /** `asksOptional`: the provider's API may add to it; it is booked without waiting. */
  | (Seen & {
      readonly kind: "facts";
      readonly facts: readonly Fact[];
      readonly asksOptional: boolean;
      readonly customers: readonly ReportedCustomer[];
    })
  | (Seen & {
      readonly kind: "ignored";
      readonly reason: string;
      readonly customers: readonly ReportedCustomer[];
    })
  /** The provider's API must be asked first (enrich-required.ts). */
  | (Seen & { readonly kind: "asking" })
  | Rejected;

/** An event with an intact seal, ready to be decoded. */
export interface Opened extends Seen {
  readonly kind: "opened";
  readonly baseCurrency: string;
  /** Null for events of the ingest endpoint, which ask nothing. */
  readonly provider: Provider | null;
  readonly body: unknown;
  readonly known: Known;
}
