/** What reading one raw record comes to. */
import type { LogRecord } from "../../stores/log/log.js";
import type { Known, Provider } from "../../providers/provider.js";
import type { ToldCustomer } from "../../workspaces/customers/customers.js";
import type { Fact, RawEventMeta } from "../../schemas/records/records.js";
import type { MissingRate } from "./facts.js";

interface Seen {
  readonly record: LogRecord;
  /** What the endpoint wrote; blank where the record cannot even be read. */
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
      /** Whom it names. */
      readonly customers: readonly ToldCustomer[];
    })
  | (Seen & {
      readonly kind: "ignored";
      readonly reason: string;
      readonly customers: readonly ToldCustomer[];
    })
  /** The provider's API must be asked first (see enrich-required.ts). */
  | (Seen & { readonly kind: "asking" })
  | Rejected;

/** An event whose seal holds, ready to be decoded. */
export interface Opened extends Seen {
  readonly kind: "opened";
  readonly baseCurrency: string;
  /** Null for events of the ingest endpoint, which ask nothing. */
  readonly provider: Provider | null;
  readonly body: unknown;
  /** Without answers. */
  readonly known: Known;
}
