/** Raw events that could not be booked, as the management interface lists them. */
import { jsonRows } from "./clickhouse-text.js";
import type { ClickHouse } from "./clickhouse.js";

/** A row of `rejects`; times as ClickHouse writes them. */
export interface RejectRow {
  readonly workspace: string;
  readonly environment: string;
  readonly event_id: string;
  readonly provider: string;
  readonly native_type: string;
  readonly received_at: string;
  readonly step: string;
  /** A stable word. */
  readonly reason: string;
  /** A sentence for a person; no payload. */
  readonly detail: string;
  /** Where the raw event lies on its topic. */
  readonly partition: number;
  readonly offset: string;
  readonly state: "open" | "replayed" | "resolved";
  /** ms since 1970 of the change of state: the greatest counts. */
  readonly revision: number;
}

const columns =
  "workspace String, environment String, event_id String, provider String, native_type String, " +
  "received_at DateTime64(3, 'UTC'), step String, reason String, detail String, " +
  "partition UInt16, offset UInt64, state String, revision UInt64";

/** A reject of an event listed before takes its place. */
export async function insertRejects(
  clickhouse: ClickHouse,
  rows: readonly RejectRow[],
): Promise<void> {
  if (rows.length === 0) return;
  await clickhouse.write(
    `INSERT INTO rejects SELECT * FROM ${jsonRows(columns, rows)}`,
    {},
    "bookkeeping",
  );
}
