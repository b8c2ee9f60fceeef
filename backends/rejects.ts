/** The list of raw events that could not be booked, kept in ClickHouse (`definitions.md`). */
import type { Environment } from "../schemas/records.js";
import { jsonRows } from "./clickhouse-text.js";
import type { ClickHouse, QueryParam } from "./clickhouse.js";

export interface RejectRecord {
  readonly workspace: string;
  readonly environment: Environment;
  readonly event_id: string;
  readonly provider: string;
  readonly native_type: string;
  /** `YYYY-MM-DD hh:mm:ss.SSS`, UTC */
  readonly received_at: string;
  readonly step: string;
  readonly reason: string;
  readonly detail: string;
  readonly partition: number;
  /** Decimal text. */
  readonly offset: string;
  readonly state: "open" | "replayed" | "resolved";
}

export interface RejectFilter {
  readonly workspace: string;
  readonly state: RejectRecord["state"];
  readonly reason?: string | undefined;
  readonly ids?: readonly string[] | undefined;
}

/** In the order of the list: newest first, then by id. */
export interface RejectPosition {
  readonly receivedAt: string;
  readonly id: string;
}

/** The newest revision of each is chosen first, then filtered. */
export function listRejects(
  clickhouse: Pick<ClickHouse, "rows">,
  filter: RejectFilter,
  after: RejectPosition | null,
  rowsMax: number,
): Promise<RejectRecord[]> {
  const { sql, params } = rejectsQuery(filter, after, rowsMax);
  return clickhouse.rows<RejectRecord>(sql, params);
}

export function rejectsQuery(
  filter: RejectFilter,
  after: RejectPosition | null,
  rowsMax: number,
): { readonly sql: string; readonly params: Readonly<Record<string, QueryParam>> } {
  const conditions = ["workspace = {workspace:String}", "state = {state:String}"];
  const params: Record<string, QueryParam> = {
    workspace: filter.workspace,
    state: filter.state,
    rows: rowsMax,
  };
  if (filter.reason !== undefined) {
    conditions.push("reason = {reason:String}");
    params.reason = filter.reason;
  }
  if (filter.ids !== undefined) {
    conditions.push("event_id IN {ids:Array(String)}");
    params.ids = filter.ids;
  }
  if (after !== null) {
    conditions.push("(received_at, event_id) < ({receivedAt:DateTime64(3, 'UTC')}, {id:String})");
    Object.assign(params, { receivedAt: after.receivedAt, id: after.id });
  }
  const sql = `SELECT workspace, environment, event_id, provider, native_type, received_at, step,
  reason, detail, partition, offset, state
FROM rejects FINAL
WHERE ${conditions.join(" AND ")}
ORDER BY received_at DESC, event_id DESC
LIMIT {rows:UInt32}`;
  return { sql, params };
}

/**
 * @param revision ms since 1970, the receipt time of the replay: should the event be rejected
 *   again, that row is newer and shows
 */
export async function markReplayed(
  clickhouse: Pick<ClickHouse, "write">,
  records: readonly RejectRecord[],
  revision: number,
): Promise<void> {
  const rows = records.map((record) => ({ ...record, state: "replayed", revision }));
  const names = columns.map(([name]) => name).join(", ");
  const structure = columns.map((column) => column.join(" ")).join(", ");
  await clickhouse.write(
    `INSERT INTO rejects (${names}) SELECT ${names} FROM ${jsonRows(structure, rows)}`,
    {},
    "bookkeeping",
  );
}

const columns = [
  ["workspace", "String"],
  ["environment", "String"],
  ["event_id", "String"],
  ["provider", "String"],
  ["native_type", "String"],
  ["received_at", "DateTime64(3, 'UTC')"],
  ["step", "String"],
  ["reason", "String"],
  ["detail", "String"],
  ["partition", "UInt16"],
  ["offset", "UInt64"],
  ["state", "String"],
  ["revision", "UInt64"],
] as const;
