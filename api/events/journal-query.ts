/** The journal's rows of raw events: one for each record of the raw topic. */
import type { AsOf } from "../reading/as-of.js";
import { type Query, tenantSql } from "../reading/query.js";

export interface JournalRow {
  readonly event_id: string;
  readonly provider: string;
  /** Empty for calls with an API key. */
  readonly integration: string;
  readonly form: string;
  readonly native_id: string;
  readonly native_type: string;
  /** ms since 1970, as text */
  readonly received_at_ms: string;
  readonly verdict: string;
  readonly rates_edition: number;
  readonly partition: number;
  readonly offset: string;
  readonly outcome: string;
  readonly reason: string;
  readonly facts: number;
  readonly normalized_at_ms: string;
}

/**
 * In order of receipt.
 * @param rowsMax of each event, the first ones
 */
export function journalQuery(
  tenant: Pick<AsOf, "workspace" | "environment">,
  eventIds: readonly string[],
  rowsMax: number,
): Query {
  return {
    sql: `SELECT event_id, provider, integration, form, native_id, native_type,
  toUnixTimestamp64Milli(received_at) AS received_at_ms, verdict, rates_edition, partition, offset,
  outcome, reason, facts, toUnixTimestamp64Milli(normalized_at) AS normalized_at_ms
FROM raw_events FINAL
WHERE ${tenantSql} AND event_id IN {event_ids:Array(String)}
ORDER BY event_id, received_at, partition, offset LIMIT {rows_max:UInt32} BY event_id`,
    params: {
      workspace: tenant.workspace,
      environment: tenant.environment,
      event_ids: eventIds,
      rows_max: rowsMax,
    },
  };
}
