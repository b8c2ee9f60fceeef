/** What became of a raw event, and its row in the journal (table `raw_events`). */
import type { Customers, ReportedCustomer } from "../../workspaces/customers/customers.js";
import type { ProviderApis } from "../../providers/api/provider-api.js";
import type { Service } from "../../service.js";
import type { Watermark } from "../../stores/watermark/watermark.js";
import type { Provider, Known } from "../../providers/provider.js";
import type { HadIntegration } from "../../workspaces/integrations.js";
import type { HashAccount } from "../../stores/vault/account-hash.js";
import type { StoredObjects } from "../../providers/api/stored-objects.js";
import type { RecentlyPublished } from "../enrich/recently-published.js";
import type { LogRecord } from "../../stores/log/log.js";
import type { Fact, RawEventMeta } from "../../schemas/records/records.js";
import type { MissingRate } from "./facts.js";
import { clickhouseTime, appendsOf } from "../../stores/clickhouse/rows.js";
import { partsOf } from "../../stores/clickhouse/sql-text.js";
import type { ClickHouse } from "../../stores/clickhouse/clickhouse.js";

export type NormalizingService = Pick<
  Service,
  "clickhouse" | "integrations" | "log" | "logger" | "rates" | "vault"
> & {
  readonly watermark: Pick<Watermark, "callsInFlight" | "hurry">;
  readonly providers: ReadonlyMap<string, Provider>;
  readonly baseCurrencyOf: (workspace: string) => Promise<string | null>;
  /** Only its memory is used here; asking is left to other groups. */
  readonly apis: ProviderApis;
  /** Whether answers are kept for the workspace, whatever the credentials. */
  readonly answersKept: (workspace: string) => Promise<boolean>;
  /** Answers that need not be asked for again. */
  readonly reported: RecentlyPublished;
  readonly objects: StoredObjects;
  readonly hadIntegration: HadIntegration;
  /** For the journal, which follows behind. */
  readonly recent: RecentOutcomes;
  /** Something arrived that earlier events of the workspace may have lacked. */
  readonly keptNews: (workspace: string) => void;
  /** A rate is known for which an event was rejected. */
  readonly ratesKnown: () => void;
  readonly hashAccount: HashAccount;
  readonly customers: Customers;
  readonly stopping: AbortSignal;
};

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

const columns =
  "workspace String, environment String, event_id String, provider String, integration String, " +
  "form String, native_id String, native_type String, received_at DateTime64(3, 'UTC'), " +
  "verdict String, rates_edition UInt32, partition UInt16, offset UInt64, outcome String, " +
  "reason String, facts UInt16, normalized_at DateTime64(3, 'UTC')";

/** A repeat of the batch replaces its rows (ReplacingMergeTree). */
export async function insertRawEvents(
  clickhouse: ClickHouse,
  rows: readonly RawEventRow[],
): Promise<void> {
  for (const sql of clickhouse.isShared ? selected() : appendsOf("raw_events", columns, rows)) {
    await clickhouse.write(sql, {}, "bookkeeping");
  }

  function* selected(): Generator<string> {
    for (const { table } of partsOf(columns, rows)) {
      yield `INSERT INTO raw_events SELECT * FROM ${table}`;
    }
  }
}

export type RawEventRow = NonNullable<ReturnType<typeof rawEventRow>>;

/** Null while it waits for its provider's API. */
export function rawEventRow({ record, event, ...outcome }: Outcome) {
  if (outcome.kind === "asking") return null;
  // That of its facts, because only the provider's API may report it (Google's test purchases).
  const [fact] = outcome.kind === "facts" ? outcome.facts : [];
  return {
    workspace: event.workspace,
    environment: fact?.environment ?? event.environment,
    event_id: event.event_id,
    provider: event.provider,
    integration: event.integration ?? "",
    form: event.form,
    native_id: event.native_id,
    native_type: event.native_type,
    received_at: clickhouseTime(event.received_at),
    verdict: event.verdict,
    rates_edition: event.rates_edition,
    partition: record.partition,
    offset: record.offset.toString(),
    outcome: outcome.kind,
    reason: outcome.kind === "facts" ? "" : outcome.reason,
    facts: outcome.kind === "facts" ? outcome.facts.length : 0,
    normalized_at: clickhouseTime(Date.now()),
  };
}

/**
 * Outcomes that the journal has yet to write, so that it need not read the events again. Null: the
 * event waits for its provider's API.
 */
export class RecentOutcomes {
  readonly #rows = new Map<string, RawEventRow | null>();

  keep(outcomes: readonly Outcome[]): void {
    for (const outcome of outcomes) this.#rows.set(placeOf(outcome.record), rawEventRow(outcome));
    // After a long pause of the journal the oldest are read again instead.
    for (const place of this.#rows.keys()) {
      if (this.#rows.size <= rowsKeptMax) break;
      this.#rows.delete(place);
    }
  }

  /** @returns undefined when it is not known */
  get(record: LogRecord): RawEventRow | null | undefined {
    return this.#rows.get(placeOf(record));
  }

  forget(records: readonly LogRecord[]): void {
    for (const record of records) this.#rows.delete(placeOf(record));
  }
}

/** Half a kB each. The journal falls this far behind when a full topic is worked off. */
const rowsKeptMax = 50_000;

function placeOf({ partition, offset }: LogRecord): string {
  return `${partition}/${offset}`;
}
