import { clickhouseTime } from "../../stores/clickhouse/rows.js";
import { partsOf } from "../../stores/clickhouse/sql-text.js";
import { appendsOf } from "../../stores/clickhouse/tab-separated.js";
import type { ClickHouse } from "../../stores/clickhouse/clickhouse.js";
import type { Outcome } from "./outcome.js";

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
