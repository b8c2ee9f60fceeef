/** Raw events that could not be booked, as the management interface lists them. */
import type { Environment } from "../../schemas/records/records.js";
import { eachShard } from "../../stores/clickhouse/cluster/shard-statements.js";
import { partsOf, type QueryParam } from "../../stores/clickhouse/sql-text.js";
import type { ClickHouse } from "../../stores/clickhouse/clickhouse.js";
import { News } from "../../runtime/lookout.js";

/** Times as ClickHouse writes them. */
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

export const rejectColumns =
  "workspace String, environment String, event_id String, provider String, native_type String, " +
  "received_at DateTime64(3, 'UTC'), step String, reason String, detail String, " +
  "partition UInt16, offset UInt64, state String, revision UInt64";

/** News of rows, or of credentials that they wait for. */
export const rejectNews = new News();

/** A reject of an event listed before replaces that one. */
export async function insertRejects(
  clickhouse: Pick<ClickHouse, "write">,
  rows: readonly RejectRow[],
): Promise<void> {
  for (const { table } of partsOf(rejectColumns, rows)) {
    await clickhouse.write(`INSERT INTO rejects SELECT * FROM ${table}`, {}, "bookkeeping");
    rejectNews.announce();
  }
}

export interface RejectListRow extends Omit<RejectRow, "environment" | "revision"> {
  readonly environment: Environment;
}

export interface RejectFilter {
  readonly workspace: string;
  readonly state: RejectRow["state"];
  readonly reason?: string | undefined;
  readonly provider?: string | undefined;
  readonly step?: string | undefined;
  readonly ids?: readonly string[] | undefined;
  /** Received at this moment or later, as ClickHouse writes it. */
  readonly since?: string | undefined;
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
): Promise<RejectListRow[]> {
  const { sql, params } = rejectsQuery(filter, after, rowsMax);
  return clickhouse.rows<RejectListRow>(sql, params);
}

/** Those of these ids that name no reject of the workspace, open or not; in order. */
export async function unknownRejects(
  clickhouse: Pick<ClickHouse, "rows">,
  workspace: string,
  ids: readonly string[],
): Promise<string[]> {
  const rows = await clickhouse.rows<{ event_id: string }>(
    `SELECT DISTINCT event_id FROM rejects
     WHERE workspace = {workspace:String} AND event_id IN {ids:Array(String)}`,
    { workspace, ids },
  );
  const known = new Set(rows.map(({ event_id: id }) => id));
  return ids.filter((id) => !known.has(id));
}

/** The open rejects of an integration; one without any is left out. */
export interface IntegrationRejects {
  readonly integration: string;
  /** As ClickHouse writes it. */
  readonly open: string;
  /** The newest of them by receipt, as ClickHouse writes it. */
  readonly last_at: string;
  readonly last_reason: string;
}

/** Raw events know their integration, rejects do not: they are joined by the event. */
export function openRejectsOf(
  clickhouse: Pick<ClickHouse, "rows">,
  workspace: string,
  integrations: readonly string[],
): Promise<IntegrationRejects[]> {
  const reported = `
    SELECT integration, received_at, reason
    FROM (SELECT environment, event_id, received_at, reason FROM rejects FINAL
          WHERE workspace = {workspace:String} AND state = 'open') AS open_rejects
    INNER JOIN (SELECT DISTINCT environment, event_id, integration FROM raw_events
                WHERE workspace = {workspace:String}
                  AND integration IN {integrations:Array(String)}
                  AND (environment, event_id) IN (
                    SELECT environment, event_id FROM rejects FINAL
                    WHERE workspace = {workspace:String} AND state = 'open')) AS reported
      USING (environment, event_id)`;
  return clickhouse.rows<IntegrationRejects>(
    `SELECT integration, count() AS open, max(received_at) AS last_at,
       argMax(reason, received_at) AS last_reason
     FROM ${eachShard(reported)} GROUP BY integration`,
    { workspace, integrations },
  );
}

export interface OpenRejects extends Pick<RejectRow, "provider" | "reason" | "step"> {
  readonly events: string;
  /** The newest of them by receipt, as ClickHouse writes it. */
  readonly last_at: string;
}

/** Most events first. Reads only keys and four short columns. */
export function countOpenRejects(
  clickhouse: Pick<ClickHouse, "rows">,
  { workspace, environment }: Pick<RejectListRow, "workspace" | "environment">,
  rowsMax: number,
): Promise<OpenRejects[]> {
  return clickhouse.rows<OpenRejects>(
    `SELECT provider, reason, step, count() AS events, max(received_at) AS last_at
     FROM rejects FINAL
     WHERE workspace = {workspace:String} AND environment = {environment:String}
       AND state = 'open'
     GROUP BY provider, reason, step
     ORDER BY count() DESC, provider, reason, step LIMIT {rows:UInt32}`,
    { workspace, environment, rows: rowsMax },
  );
}

type RejectState = Pick<RejectListRow, "step" | "reason" | "detail" | "state">;

/** The newest revision of an event's reject; null when it never was one. */
export async function findReject(
  clickhouse: Pick<ClickHouse, "rows">,
  { workspace, environment }: Pick<RejectListRow, "workspace" | "environment">,
  eventId: string,
): Promise<RejectState | null> {
  const [row] = await clickhouse.rows<RejectState>(
    `SELECT step, reason, detail, state FROM rejects FINAL
     WHERE workspace = {workspace:String} AND environment = {environment:String}
       AND event_id = {event_id:String}`,
    { workspace, environment, event_id: eventId },
  );
  return row ?? null;
}

const filters: readonly (readonly [keyof RejectFilter, condition: string])[] = [
  ["workspace", "workspace = {workspace:String}"],
  ["state", "state = {state:String}"],
  ["reason", "reason = {reason:String}"],
  ["provider", "provider = {provider:String}"],
  ["step", "step = {step:String}"],
  ["ids", "event_id IN {ids:Array(String)}"],
  ["since", "received_at >= {since:DateTime64(3, 'UTC')}"],
];

function rejectsQuery(
  filter: RejectFilter,
  after: RejectPosition | null,
  rowsMax: number,
): { readonly sql: string; readonly params: Readonly<Record<string, QueryParam>> } {
  const params: Record<string, QueryParam> = { rows: rowsMax, ...after };
  const conditions = filters.flatMap(([name, condition]) => {
    const value = filter[name];
    if (value === undefined) return [];
    params[name] = value;
    return [condition];
  });
  if (after !== null) {
    conditions.push("(received_at, event_id) < ({receivedAt:DateTime64(3, 'UTC')}, {id:String})");
  }
  const sql = `SELECT workspace, environment, event_id, provider, native_type, received_at, step,
  reason, detail, partition, offset, state
FROM rejects FINAL
WHERE ${conditions.join(" AND ")}
ORDER BY received_at DESC, event_id DESC
LIMIT {rows:UInt32}`;
  return { sql, params };
}
